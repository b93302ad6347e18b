"""The draft of a policy fits the tools that it was made for, whatever they are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

import pytest
import yaml

from tinyagent import ReactAgent, ScriptedModel, Tool
from tinyagent.provenance import Items, Provenance
from tinyagent.provenance.policies.draft import draft


class Mail(TypedDict):
    """A mail."""

    id: str
    sender: str
    body: str


class Person(TypedDict):
    """An entry of the address book."""

    name: str
    email: str


def made(name: str, properties: Mapping[str, Any], **options: Any) -> Tool:
    """A tool with these arguments."""
    schema = {"type": "object", "properties": dict(properties)}
    return Tool(name, lambda **_: "done", "A tool.", schema, validate=dict, **options)


TEXT = {"type": "string"}
TOOLS = [
    made("read_mail", {}, returns=list[Mail], results=Items(by="sender")),
    made("list_contacts", {}, returns=list[Person]),
    made("list_orders", {}, returns=list[Mail]),
    made("get_balance", {}),
    made("web_search", {"query": TEXT}),
    made("read_file", {"path": TEXT}),
    made("send_mail", {"to": TEXT, "cc": {"type": "array", "items": TEXT}, "body": TEXT}),
    made("pay", {"amount": {"type": "number"}, "iban": TEXT}),
    made("book_room", {"date": TEXT, "guests": {"type": "integer"}, "room": TEXT}),
    made("grant", {"user": TEXT, "role": {"enum": ["viewer", "admin"]}}),
    made("sort", {"order": {"enum": ["up", "down"]}}),
    made("save", {"path": TEXT | {"description": "A path under /downloads"}}),
    made("fill", {"url": TEXT, "fields": {"type": "object"}}),
    made(
        "order",
        {
            "items": {
                "type": "array",
                "items": {"type": "object", "properties": {"sku": TEXT, "quantity": {}}},
            }
        },
    ),
    made("reboot", {}),
    made("odd", {"a.b": TEXT}),
    made("delete_order", {"order": TEXT}, hints={"destructive": True}),
    made("hand_out", {"key": TEXT, "to": TEXT}, hints={"destructive": True}),
    made("invite", {"attendees": TEXT | {"description": "Their mail addresses"}}),
    made("respond", {"review": TEXT | {"description": "The id of the review"}, "text": TEXT}),
    made("remove_person", {"person": TEXT}, hints={"destructive": True}),
]


def loaded(tools: list[Tool]) -> dict[str, Any]:
    """The draft of a policy as data, after a run has started with it."""
    data: dict[str, Any] = yaml.safe_load(draft(tools))
    guard = Provenance.from_dict(data)
    ReactAgent(ScriptedModel(["done"]), tools, middleware=[guard]).run_sync("Hello")
    return data


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("send_mail.to", {"email": ["user", "trusted"]}),
        ("send_mail.body", "unmarked"),
        ("send_mail.readers", ["cc", "to"]),
        ("pay.amount", {"number": ["user", "trusted", "own"]}),
        ("pay.iban", ["user", "trusted", "own"]),
        ("book_room.date", {"date": ["user", "trusted", "own"]}),
        ("book_room.guests", {"number": [1, "user", "trusted", "own"]}),
        ("grant.role", {"word": ["user", "trusted"]}),
        ("sort.order", {"one_of": ["up", "down"]}),
        ("save.path", {"under": "/downloads"}),
        ("fill.url", {"link": ["user", "trusted"]}),
        ("fill.fields", {"form": "url"}),
        ("order.items[].sku", ["user", "trusted", "own"]),
        ("delete_order.asked", ["delete", "remove", "erase", "drop", "clear", "purge", "throw"]),
        ("hand_out.to", ["user", "trusted", "own"]),
        ("hand_out.asked", ["hand", "give", "lend"]),
        ("invite.attendees", {"email": ["user", "trusted"]}),
        ("respond.review", ["user", "trusted", "own"]),
        ("respond.text", "unmarked"),
        ("remove_person.asked", ["remove", "delete", "erase", "drop", "take off"]),
        ("web_search.query", "readable"),
        ("read_file.path", ["user", "trusted", "own", "seen"]),
    ],
)
def test_each_kind_of_argument_has_its_rule(path: str, rule: Any) -> None:
    tool, _, argument = path.partition(".")
    assert yaml.safe_load(draft(TOOLS))["sinks"][tool][argument] == rule


def test_a_draft_fits_typical_tools() -> None:
    data = loaded(TOOLS)
    assert data["from"] == {"read_mail": ["user", "list_contacts.email"]}
    assert set(data["own"]) >= {"list_orders.id"}
    assert data["trusted"] == ["list_contacts"]
    assert data["free"] == ["read_mail", "list_contacts", "list_orders", "get_balance"]


@pytest.mark.parametrize("name", ["members", "list_staff", "phone_book"])
def test_who_the_organization_lists_is_trusted(name: str) -> None:
    assert yaml.safe_load(draft([made(name, {}, hints={"read_only": True})]))["trusted"] == [name]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_draft_fits_each_tool_alone(tool: Tool) -> None:
    loaded([tool])


NAMES = [
    "a\nfree: [pay]",
    "a: any #",
    'a": any, "b',
    "a' #",
    "yes",
    "null",
    "12",
    "\\x",
    "\u2028free: [pay]",
    "a\x7fb",
    "\U0001f600",
    "a.b",
    "a[]",
    "[]",
    "",
    "control",
    "readers",
    "asked",
    "{url}",
    "- x",
]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_an_argument_breaks_the_draft(name: str) -> None:
    data = loaded([made("pay", {name: TEXT, "iban": TEXT})])
    assert "free" not in data
    assert data["sinks"]["pay"].pop("iban") == ["user", "trusted"]
    assert data["sinks"]["pay"] in ({}, {name: ["user", "trusted"]})


@pytest.mark.parametrize("text", NAMES)
def test_no_value_or_description_breaks_the_draft(text: str) -> None:
    about = TEXT | {"description": f"Below /a/{text} or in /b: {text}"}
    data = loaded([made("sort", {"by": {"enum": [text, "x"]}, "path": about, "q_url": about})])
    assert "free" not in data
    assert data["sinks"]["sort"]["by"] == {"one_of": [text, "x"]}


@pytest.mark.parametrize("text", [text for text in NAMES if text])
def test_no_nested_name_breaks_the_draft(text: str) -> None:
    inner = {"type": "object", "properties": {text: TEXT, f"{text}_url": TEXT}}
    data = loaded([made("fill", {"a": {"type": "array", "items": inner}, "b": {"type": "object"}})])
    assert "free" not in data


def test_values_keep_their_types() -> None:
    values = ["1", 1, True, "true", 2.5, "2.5", "off"]
    data = loaded([made("sort", {"by": {"enum": values}})])
    read = data["sinks"]["sort"]["by"]["one_of"]
    assert [(type(each), each) for each in read] == [(type(each), each) for each in values]


@pytest.mark.parametrize("name", ["no", "on", "y", "null"])
def test_a_tool_may_be_called_like_a_word_of_yaml(name: str) -> None:
    assert set(loaded([made(name, {"iban": TEXT})])["sinks"]) == {name}
