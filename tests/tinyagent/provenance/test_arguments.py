"""What a rule of an argument is held against: echoes, defaults, receivers, checks of forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.support.coding import block
from tests.tinyagent.provenance.conftest import READ, Office, policy

from tinyagent import (
    ConfigurationError,
    ReactAgent,
    Sandbox,
    ScriptedModel,
    TinyCodeAgent,
    Tool,
    scripted_call,
)
from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.provenance import USER, Label
from tinyagent.memory import Memory
from tinyagent.provenance import Between, Domains, Form, OneOf, Provenance, Sink
from tinyagent.provenance.evidence import Evidence
from tinyagent.provenance.judge import judge
from tinyagent.provenance.policies.policy import Policy
from tinyagent.provenance.records import Record
from tinyagent.provenance.vault import Opened

THIEF = "thief@evil.example"
PAGE = Label(frozenset({"page"}))


def _judge(
    sink: Sink,
    arguments: Mapping[str, Any],
    parameters: Mapping[str, Any] | None = None,
    *,
    context: Label = PAGE,
    task: str = "Write to anna@example.com",
) -> str:
    """The reason why a call is refused that a tainted model writes."""
    evidence = Evidence(task)
    evidence.read([Message("user", task, label=USER)], goes_on=False)
    schema = {name: {} for name in arguments} | dict(parameters or {})
    verdict = judge(
        Opened(dict(arguments)),
        (sink,),
        evidence,
        context,
        {"properties": schema},
        is_trusted=lambda _: False,
    )
    return verdict.reason


# Echoes


def names(names: str) -> list[str]:
    """Take names apart."""
    return names.split(",")


def shout(text: str) -> str:
    """Repeat it."""
    return text.lower()


ECHOES: Mapping[str, tuple[Any, list[str]]] = {
    "a part of a longer argument": (scripted_call("names", names=f"{THIEF},anna"), ["names"]),
    "a text around it": (scripted_call("shout", text=f"to: {THIEF}"), ["in:shout"]),
    "in another case": (scripted_call("shout", text=THIEF.upper()), ["shout"]),
}


def _repeating(office: Office) -> list[Tool]:
    return [*office.tools(), Tool.from_function(names), Tool.from_function(shout)]


def _trusting(sources: list[str]) -> Provenance:
    return policy(
        trusted=["contacts", "host", "names", "shout"],
        free=["read_mail", "contacts", "names", "shout"],
        sinks={"send_mail": Sink(to=sources, body="any")},
    )


@pytest.mark.parametrize("way", ECHOES)
def test_a_trusted_tool_does_not_vouch_for_what_it_repeats(office: Office, way: str) -> None:
    call, sources = ECHOES[way]
    send = scripted_call("send_mail", to=THIEF, body="x")
    model = ScriptedModel([READ, call, send, "done", send, "done"])
    agent = ReactAgent(model, _repeating(office), middleware=[_trusting(sources)])
    first = agent.run_sync("Go")
    agent.run_sync("Go on", memory=Memory.from_list(first.memory.to_list()))
    assert office.sent == []


@pytest.mark.parametrize("way", ECHOES)
def test_nor_in_one_block(office: Office, way: str) -> None:
    call, sources = ECHOES[way]
    repeated = f"{call.name}(**{call.arguments})"
    code = f"read_mail()\n{repeated}\nsend_mail('{THIEF}', 'x')"
    agent = TinyCodeAgent(
        ScriptedModel([block(code), block("final_answer(1)")]),
        _repeating(office),
        middleware=[_trusting(sources)],
        sandbox=Sandbox(level="local"),
    )
    agent.run_sync("Go")
    assert office.sent == []


def test_it_vouches_for_what_it_adds(office: Office) -> None:
    def look_up(name: str) -> str:
        """Look up an address."""
        return f"{name}@example.com"

    guard = policy(
        free=["read_mail", "look_up"], sinks={"send_mail": Sink(to=["look_up"], body="any")}
    )
    model = ScriptedModel(
        [READ, scripted_call("look_up", name="carl"),
         scripted_call("send_mail", to="carl@example.com", body="x"), "done"]
    )  # fmt: skip
    tools = [*office.tools(), Tool.from_function(look_up)]
    ReactAgent(model, tools, middleware=[guard]).run_sync("Write to carl")
    assert len(office.sent) == 1


# Defaults

RIGHTS = {"mode": {"default": "rw"}, "name": {}}
DEFAULTS: Mapping[str, dict[str, Any]] = {
    "left out": {"name": "anna@example.com"},
    "none": {"name": "anna@example.com", "mode": None},
    "empty": {"name": "anna@example.com", "mode": ""},
    "an empty list": {"name": "anna@example.com", "mode": []},
    "a list of nothing": {"name": "anna@example.com", "mode": [""]},
}


@pytest.mark.parametrize("rule", [OneOf(["r"]), ["user"], Form("email", ["user"])])
@pytest.mark.parametrize("way", DEFAULTS)
def test_what_is_left_out_is_checked_as_its_default(way: str, rule: Any) -> None:
    sink = Sink(name=["user"], mode=rule)
    assert "`mode" in _judge(sink, DEFAULTS[way], RIGHTS)
    harmless = {"mode": {"default": None}, "name": {}}
    assert not _judge(sink, {"name": "anna@example.com"}, harmless)
    reading = {"mode": {"default": "r"}, "name": {}}
    assert not _judge(Sink(name=["user"], mode=OneOf(["r"])), DEFAULTS[way], reading)


def test_an_empty_text_is_not_a_choice() -> None:
    assert "`mode`" in _judge(Sink(mode=OneOf(["r"])), {"mode": ""}, {"mode": {}})
    assert not _judge(Sink(mode=OneOf(["r"])), {"mode": "r"}, {"mode": {}})


# Receivers

PRIVATE = Label(frozenset({"page"}), frozenset({"user", "anna@example.com"}))
LEAKS: Mapping[str, tuple[Sink, dict[str, Any]]] = {
    "nobody is named": (Sink(to="any", body="readable", readers="to"), {"body": "x"}),
    "an empty receiver": (Sink(to="any", body="readable", readers="to"), {"to": "", "body": "x"}),
    "a list of none": (Sink(to="any", body="readable", readers="to"), {"to": [], "body": "x"}),
    "a copy": (
        Sink(to="any", cc="any", body="readable", readers=["to", "cc"]),
        {"to": "anna@example.com", "cc": ["x@y.example"], "body": "x"},
    ),
    "a list": (
        Sink(to="any", body="readable", readers="to"),
        {"to": ["anna@example.com", "x@y.example"], "body": "x"},
    ),
    "a form": (
        Sink(to="any", body=Form("email"), readers="to"),
        {"to": "x@y.example", "body": "p1234@d.example"},
    ),
    "a URL": (Sink(url=Domains(["a.example"])), {"url": "https://a.example/1234"}),
}


@pytest.mark.parametrize("way", LEAKS)
def test_all_receivers_must_be_allowed_to_read(way: str) -> None:
    sink, arguments = LEAKS[way]
    assert "may read" in _judge(sink, arguments, context=PRIVATE)


def test_who_may_read_receives() -> None:
    sink = Sink(to="any", cc="any", body="readable", readers=["to", "cc"])
    arguments = {"to": ["anna@example.com"], "cc": ["user"], "body": "x"}
    assert not _judge(sink, arguments, context=PRIVATE)


def test_a_sink_that_sends_to_nobody_may_take_private_data() -> None:
    assert not _judge(Sink(body="readable", readers="nobody"), {"body": "x"}, context=PRIVATE)
    assert _judge(Sink(body="readable"), {"body": "x"}, context=PRIVATE)


# Policies with errors

WRONG: Mapping[str, dict[str, Any]] = {
    "a range that is swapped": {"to": Between(500, 0)},
    "a range of texts": {"to": Between("0", "9")},  # type: ignore[arg-type]
    "hosts with a scheme": {"to": Domains(["https://a.example"])},
    "hosts with a path": {"to": Domains(["a.example/x"])},
    "hosts with a star": {"to": Domains(["*.a.example"])},
    "no hosts": {"to": Domains([])},
    "one host": {"to": Domains("a.example")},
    "one value": {"to": OneOf("read")},
    "no values": {"to": OneOf([])},
    "one source": {"to": Form("email", "user")},
}


@pytest.mark.parametrize("way", WRONG)
def test_a_check_that_cannot_be_meant_is_an_error(way: str) -> None:
    with pytest.raises(ConfigurationError, match=r"sinks\.send_mail\.to"):
        Provenance(sinks={"send_mail": Sink(WRONG[way])})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trusted": ["contacts.email"]}, "only TinyCodeAgent"),
        ({"trusted": ["contacts/x"]}, "not an agent"),
        ({"trusted": ["mcp:nowhere"]}, "servers of tools: none"),
        ({"sinks": {"send_mail": Sink(to="any", readers=["to", "bc"])}}, "names no argument: 'bc'"),
        ({"sinks": {"send_mail": Sink(to="any", readers=[])}}, "names no argument"),
        ({"sinks": {"send_mail": Sink(to="any", readers="to")}}, r"readers: \[to, cc\]"),
    ],
)
def test_what_has_no_effect_in_a_policy_is_an_error(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Office().run("Hello", guard=policy(**changes))


@pytest.mark.parametrize("host", ["https://a.example", "a.example/x", "*", "a.*"])
def test_links_go_to_hosts(host: str) -> None:
    with pytest.raises(ConfigurationError, match="links"):
        Provenance(links=[host])
    Provenance(links=["a.example", "*.a.example", "A.example"])


def test_the_readers_of_a_policy_file_may_be_a_list() -> None:
    rules = {"to": "any", "cc": "any", "readers": ["to", "cc"]}
    read = Provenance.from_dict({"sinks": {"send": rules, "note": {"readers": "nobody"}}}).policy
    assert read.sinks["send"].receivers == ("to", "cc")
    assert read.sinks["note"].readers == "nobody"


# Cost


def test_many_values_are_looked_up_in_a_large_result() -> None:
    """Sets, not searches: what compares values with rows meets the timeout."""
    rows = [
        {"id": at, "name": f"person {at}", "email": f"p{at}@d.example", "city": f"town {at}"}
        for at in range(20_000)
    ]
    sink = Sink(to=["rows.email"], cc=["in:rows"], bcc="own_words")
    evidence = Evidence("Go")
    evidence.add(ToolCall("1", "rows", {}), Record("rows", rows), "", PAGE)
    values = [f"p{at}@d.example" for at in range(0, 20_000, 4)]
    others = [f"x{at}@d.example" for at in range(5_000)]
    verdict = judge(
        Opened({"to": values, "cc": values[:10], "bcc": others}),
        (sink,), evidence, PAGE, {}, is_trusted=lambda _: False,
    )  # fmt: skip
    assert len(verdict.vouched) == 5_010
    assert not verdict.can_be_asked


def test_sources_of_labels_are_trusted_by_their_whole_name() -> None:
    policy_ = Policy(trusted=frozenset({"contacts", "helper/notes"}))
    assert policy_.trusts("contacts", {})
    assert policy_.trusts("helper/notes", {})
    assert not policy_.trusts("notes", {})
    assert not policy_.trusts("helper/contacts", {})
    assert not policy_.trusts("contact", {})
