from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skillian.chat.resumed import ResumedRecord
from skillian.chat.turn_events import AgentEvent, TurnRecord
from skillian.storage import Draft, TurnEvent
from tinyagent import (
    CodeStarted,
    OutputDelta,
    StepFinished,
    TextDelta,
    ToolCall,
    ToolFinished,
    ToolResult,
    ToolStarted,
)
from tinyagent.core import ModelResponded, ModelResponse


def call(call_id: str, tool: str = "look") -> ToolCall:
    return ToolCall(call_id, tool, {"at": 1})


def step_one(call_id: str = "a", *, remark: bool = False) -> list[AgentEvent]:
    """A remark, and a call with its result; from a journal the remark comes in no pieces."""
    remarks: list[AgentEvent] = [TextDelta(1, "I "), TextDelta(1, "look.")] if remark else []
    return [
        *remarks,
        ModelResponded(1, ModelResponse("I look.")),
        ToolStarted(1, call(call_id)),
        ToolFinished(1, ToolResult(call(call_id), '{"found":2}')),
        StepFinished(1),
    ]


def stored(events: Sequence[AgentEvent], drafts: int) -> tuple[list[TurnEvent], int]:
    """The first events of a turn, as the store has them, and its messages."""
    record = TurnRecord("Why?")
    record.read(events)
    messages, recorded = record.taken()
    opened = TurnEvent(1, 1, "turn_started", {"message": "Why?"})
    kept = [TurnEvent(n, 1, one.type, dict(one.data)) for n, one in enumerate(recorded[:drafts], 2)]
    return [opened, *kept], len(messages) if drafts == len(recorded) else 0


def again(
    known: tuple[list[TurnEvent], int], events: Sequence[AgentEvent]
) -> tuple[list[Draft], Sequence[dict[str, Any]], list[Draft]]:
    """The first event, and the messages and events that are new."""
    record = ResumedRecord("Why?", stored=known[0], messages_stored=known[1])
    first = record.restarts()
    record.read(events)
    messages, drafts = record.taken()
    return first, messages, list(drafts)


def test_stored_events_are_not_repeated() -> None:
    everything = step_one(remark=True)
    first, messages, drafts = again(stored(everything, 4), step_one())
    assert (first, messages, drafts) == ([], [], [])


def test_new_events_are_stored() -> None:
    for drafts in range(1, 5):
        first, messages, new = again(stored(step_one(remark=True), drafts), step_one())
        kinds = [one.type for one in new]
        expected = ["delta", "model_finished", "tool_started", "tool_finished"]
        # A text whose end was not stored is void, and is sent again as a whole.
        assert kinds == (expected if drafts == 1 else expected[drafts:])
        assert [one.data["kind"] for one in first] == (["restart"] if drafts == 1 else [])
        assert len(messages) == (0 if drafts == 4 else 2)
    text = again(stored(step_one(remark=True), 1), step_one())[2][0]
    assert text.data == {"step": 1, "kind": "text", "text": "I look."}


def test_a_model_that_is_asked_again_is_streamed() -> None:
    known = stored([TextDelta(1, "I thi")], 1)
    record = ResumedRecord("Why?", stored=known[0], messages_stored=known[1])
    assert [one.data["kind"] for one in record.restarts()] == ["restart"]
    record.read([TextDelta(1, "You "), TextDelta(1, "see.")])
    record.read([ModelResponded(1, ModelResponse("You see."))])
    pairs = [(one.type, one.data.get("text")) for one in record.taken()[1]]
    assert pairs == [("delta", "You see."), ("model_finished", None)]


def test_a_void_text_is_made_void_once() -> None:
    restart = TurnEvent(3, 1, "delta", {"step": 1, "kind": "restart", "text": ""})
    known = [*stored([TextDelta(1, "I thi")], 1)[0], restart]
    assert again((known, 0), [])[0] == []


def test_a_call_keeps_its_stored_id() -> None:
    known = stored(step_one("first"), 2)
    _, messages, drafts = again(known, step_one("second"))
    assert [(one.type, one.data["id"]) for one in drafts] == [("tool_finished", "first")]
    assert messages[0]["tool_calls"][0]["id"] == messages[1]["tool_call_id"] == "first"


def test_printed_text_continues() -> None:
    block: list[AgentEvent] = [CodeStarted(1, "print(1)"), OutputDelta(1, "ab")]
    known = stored(block, 2)
    longer: list[AgentEvent] = [
        CodeStarted(1, "print(1)"),
        OutputDelta(1, "a"),
        OutputDelta(1, "bcd"),
    ]
    drafts = again(known, longer)[2]
    assert [(one.type, one.data["text"]) for one in drafts] == [("code_output", "cd")]
