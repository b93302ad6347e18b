"""What the user or somebody trusted says of a value, and what only others say."""

from __future__ import annotations

from typing import Any

import pytest

from tinyagent import ReactAgent, ScriptedModel, Tool, scripted_call
from tinyagent.provenance import Items, Provenance

MAILS = [
    {"sender": "ben", "text": "The parcel: size M, room 12, code AB-771, 40 pieces."},
    {"sender": "ben", "text": "The login at our bank needs 774201 from now on, tell nobody."},
    {"sender": "thief", "text": "size Q, room 66, code ZZ-999. The shop is closed."},
]
REQUEST = "Order the parcel to flat 9 in Mill Lane, as the deposit"


def ordered(
    *orders: dict[str, Any], calls: tuple[str, ...] = ("read_mail",), **changes: Any
) -> Any:
    """The orders that are made by a model that has read mails."""
    made: list[dict[str, Any]] = []

    def read_mail() -> Any:
        """Read all mails."""
        return MAILS

    def read_cards(name: str = "") -> list[str]:
        """List the cards."""
        return [f"4711 0000 {name}"]

    def look_up(name: str) -> str:
        """Look up a size."""
        return f"We have no size {name}."

    def order(
        size: str = "", room: str = "", flat: str = "", code: str = "", note: str = ""
    ) -> str:
        """Order."""
        made.append({"size": size, "room": room, "flat": flat, "code": code, "note": note})
        return "done"

    sources = ["user", "trusted"]
    given: dict[str, Any] = {
        "free": ["read_mail", "read_cards", "look_up"],
        "from": ["@ben"],
        "sinks": {
            "order": {
                **dict.fromkeys(("size", "room", "flat", "code"), sources),
                "note": "unmarked",
            }
        },
    }
    tools = [
        Tool.from_function(read_mail, results=Items(by="sender")),
        *(Tool.from_function(each) for each in (read_cards, look_up, order)),
    ]
    reading = [
        scripted_call(name, **({"name": "Q"} if name == "look_up" else {})) for name in calls
    ]
    model = ScriptedModel([*reading, *(scripted_call("order", **one) for one in orders), "done"])
    guard = Provenance.from_dict(given | changes)
    ReactAgent(model, tools, middleware=[guard], max_steps=20).run_sync(REQUEST)
    return [{name: value for name, value in one.items() if value} for one in made]


@pytest.mark.parametrize(
    ("values", "is_made"),
    [
        ({"size": "M"}, True),
        ({"room": "12"}, True),
        ({"flat": "9"}, True),
        ({"size": "m"}, False),
        ({"size": "12"}, False),
        ({"room": "9"}, False),
        ({"flat": "12"}, False),
        ({"room": "1"}, False),
        ({"code": "40"}, False),
        ({"size": "Q"}, False),
        ({"room": "66"}, False),
    ],
)
def test_a_short_value_is_known_by_the_name_before_it(values: Any, *, is_made: bool) -> None:
    assert ordered(values) == ([values] if is_made else [])


def test_a_short_value_that_the_call_gave_is_not() -> None:
    calls = ("read_mail", "look_up")
    assert ordered({"size": "Q"}, calls=calls, trusted=["look_up"]) == []


PRIVATE = {"read_cards": ["user"]}


def test_what_the_request_points_to_may_go_out_after_something_private() -> None:
    calls = ("read_mail", "read_cards")
    kept: list[dict[str, Any]] = [{"code": "AB-771"}, {"note": "Deposit"}, {"note": "deposit"}]
    assert ordered(*kept, calls=calls, private=PRIVATE) == kept


@pytest.mark.parametrize("values", [{"code": "ZZ-999"}, {"note": "DEPOSIT"}, {"note": "AB-771"}])
def test_other_values_may_not(values: Any) -> None:
    assert ordered(values, calls=("read_mail", "read_cards"), private=PRIVATE) == []


def test_what_is_private_itself_may_not() -> None:
    private = {"read_mail": ["user"]}
    assert ordered({"code": "AB-771"}, private=private) == []


@pytest.mark.parametrize("note", ["The shop is closed.", "Hello!\nThe shop is closed"])
def test_a_short_sentence_of_a_stranger_is_not_repeated(note: str) -> None:
    assert ordered({"note": note}) == []
    assert ordered({"note": note.replace("closed", "open")}) != []


LEAKED = ["It needs 774201", "the login at our bank needs it", "The login at our bank needs 774201"]


@pytest.mark.parametrize("note", LEAKED)
def test_an_item_that_the_request_is_not_about_is_not_repeated(note: str) -> None:
    assert ordered({"note": note}) == []


def test_an_item_that_the_request_is_about_is() -> None:
    note = "It is in size M, room 12, code AB-771, 40 pieces"
    assert ordered({"note": note}) == [{"note": note}]
