from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from skillian.chat.agent import ApprovalWanted
from skillian.chat.turn_events import (
    DELTA_CHARACTERS,
    MAX_RESULT_CHARACTERS,
    MAX_RESULTS_BYTES,
    Batches,
    TurnRecord,
    joined,
)
from skillian.storage import Draft
from tinyagent import (
    CodeFinished,
    CodeStarted,
    Event,
    OutputDelta,
    StepFinished,
    StepStarted,
    TextDelta,
    ToolCall,
    ToolFinished,
    ToolResult,
    ToolStarted,
)
from tinyagent.core import (
    ExecutionResult,
    ModelResponded,
    ModelResponse,
    RawToolCall,
    Signal,
    SignalGiven,
    SignalType,
)

CALL = ToolCall("1", "look", {"a": 1})


def result(content: str) -> ToolFinished:
    return ToolFinished(1, ToolResult(CALL, content, duration_seconds=0.5))


def test_text_is_joined_within_a_step_and_a_kind() -> None:
    record = TurnRecord()
    record.read([TextDelta(1, "a"), TextDelta(1, "b"), TextDelta(1, "c", "reasoning")])
    record.read([TextDelta(1, "", "restart"), TextDelta(1, "", "restart"), TextDelta(2, "d")])
    _, drafts = record.taken()
    assert [(draft.data["kind"], draft.data["text"]) for draft in drafts] == [
        ("text", "ab"),
        ("reasoning", "c"),
        ("restart", ""),
        ("restart", ""),
        ("text", "d"),
    ]
    assert record.taken() == ([], [])


def test_a_step_is_stored_with_a_result_for_each_call() -> None:
    other = ToolCall("2", "look", {})
    record = TurnRecord()
    response = ModelResponse("Let me see.", (RawToolCall("1", "look", "{}"),))
    record.read([ModelResponded(1, response), ToolStarted(1, CALL), ToolStarted(1, other)])
    record.read([result("{}"), StepFinished(1)])
    messages, _ = record.taken()
    assert messages == [
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [CALL.to_dict(), other.to_dict()],
        },
        {"role": "tool", "content": "{}", "tool_call_id": "1"},
        {
            "role": "tool",
            "content": "Error: not finished: the turn ended",
            "tool_call_id": "2",
        },
    ]


def test_calls_that_were_written_as_text_are_not_kept_twice() -> None:
    record = TurnRecord()
    response = ModelResponse('{"tool": "look"}')
    record.read([ModelResponded(1, response), ToolStarted(1, CALL), result("x"), StepFinished(1)])
    messages, drafts = record.taken()
    assert messages[0]["content"] == ""
    assert drafts[-1].data == {
        "step": 1,
        "id": "1",
        "tool": "look",
        "result": "x",
        "duration_ms": 500.0,
        "is_error": False,
    }


def test_a_long_result_is_cut_for_later_turns_and_whole_in_the_events() -> None:
    text = "x" * MAX_RESULT_CHARACTERS
    record = TurnRecord()
    record.read([ToolStarted(1, CALL), result(f"a{text}b"), StepFinished(1)])
    messages, drafts = record.taken()
    assert "[2 characters left out]" in messages[1]["content"]
    assert drafts[-1].data["result"] == f"a{text}b"


def test_results_that_are_too_large_together_are_left_out() -> None:
    record = TurnRecord()
    large = json.dumps({"rows": "x" * (MAX_RESULTS_BYTES - 100)})
    record.read([result(large), result(large), result('{"n": NaN}')])
    _, drafts = record.taken()
    shown = [draft.data["result"] for draft in drafts]
    assert shown[0] == json.loads(large)
    assert shown[1]["error"]
    assert str(MAX_RESULTS_BYTES) in shown[1]["message"]
    assert shown[2] == {"n": "NaN"}
    assert [call["result"] for call in record.calls] == shown
    assert record.results[1] == json.loads(large)


def test_code_and_signals_have_events() -> None:
    signal = Signal(SignalType.UNCERTAIN, "hm", datetime.now(UTC), 1)
    record = TurnRecord()
    record.read([CodeStarted(1, "print(1)"), OutputDelta(1, "1\n")])
    record.read([CodeFinished(1, ExecutionResult("1\n")), SignalGiven(1, signal)])
    assert record.taken()[1] == [
        Draft("code_started", {"step": 1, "code": "print(1)"}),
        Draft("code_output", {"step": 1, "text": "1\n"}),
        Draft("code_finished", {"step": 1, "output": "1\n", "error": None, "duration_ms": 0.0}),
        Draft("signal", {"step": 1, "type": "uncertain", "message": "hm"}),
    ]


def test_lone_surrogates_are_replaced_everywhere() -> None:
    half = "half \ud83d"
    call = ToolCall("1", "look", {"a": half})
    finished = ToolResult(call, json.dumps({"found": half}))
    record = TurnRecord()
    record.read([ToolStarted(1, call), ToolFinished(1, finished), StepFinished(1)])
    record.read([TextDelta(2, half)])
    messages, drafts = record.taken()
    text = json.dumps([messages, [draft.data for draft in drafts]], ensure_ascii=False)
    text.encode()
    assert drafts[0].data["args"] == {"a": "half ?"}
    assert drafts[1].data["result"] == {"found": "half ?"}
    assert drafts[2].data["text"] == "half ?"


async def stream_of(events: Sequence[Event]) -> AsyncGenerator[Event, None]:
    for event in events:
        yield event
        await asyncio.sleep(0)


async def batches_of(events: Sequence[Event]) -> list[Sequence[Event]]:
    found: list[Sequence[Event]] = []
    async with Batches(stream_of(events)) as batches:
        while batch := await batches.next():
            found.append(batch)
        assert await batches.next() == []
    return found


async def test_nothing_is_lost_or_moved() -> None:
    events: list[Event] = [StepStarted(1)]
    events += [TextDelta(1, f"{number} ") for number in range(100)]
    events.append(StepFinished(1))
    batches = await batches_of(events)
    found = [event for batch in batches for event in batch]
    words = "".join(event.text for event in found if isinstance(event, TextDelta))
    assert words == "".join(f"{number} " for number in range(100))
    assert found[0] == StepStarted(1)
    assert found[-1] == StepFinished(1)
    assert len(batches) < 10


async def test_long_text_does_not_wait_for_its_time() -> None:
    half = TextDelta(1, "x" * (DELTA_CHARACTERS // 2))
    batches = await batches_of([half] * 8)
    lengths = [len(event.text) for [event] in batches if isinstance(event, TextDelta)]
    assert sum(lengths) == 4 * DELTA_CHARACTERS
    assert len(lengths) >= 3


def test_only_pieces_of_one_text_are_joined() -> None:
    pieces: list[Event] = [
        TextDelta(1, "a"),
        TextDelta(1, "b"),
        TextDelta(1, "r", "reasoning"),
        TextDelta(1, "", "restart"),
        TextDelta(1, "", "restart"),
        TextDelta(1, "c"),
        StepFinished(1),
        TextDelta(1, "d"),
        TextDelta(2, "e"),
    ]
    assert joined(pieces) == [TextDelta(1, "ab"), *pieces[2:]]


async def test_an_event_other_than_text_comes_at_once_with_the_text_before_it() -> None:
    released = asyncio.Event()

    async def stream() -> AsyncGenerator[Event, None]:
        yield TextDelta(1, "a")
        yield StepFinished(1)
        await released.wait()

    async with Batches(stream()) as batches:
        first = list(await batches.next())
        if len(first) == 1:
            first += await batches.next()
        assert first == [TextDelta(1, "a"), StepFinished(1)]
        released.set()
        assert await batches.next() == []


async def test_an_error_comes_after_the_events_before_it() -> None:
    async def stream() -> AsyncGenerator[Event, None]:
        yield StepStarted(1)
        raise KeyError("x")

    async with Batches(stream()) as batches:
        assert await batches.next() == [StepStarted(1)]
        with pytest.raises(KeyError):
            await batches.next()


async def test_the_events_of_a_quick_step_come_together_and_a_question_to_a_person_at_once() -> (
    None
):
    call, released = ToolCall("1", "post", {}), asyncio.Event()

    async def stream() -> AsyncGenerator[Any, None]:
        yield StepStarted(1)
        await asyncio.sleep(0)
        yield ToolStarted(1, call)
        yield ApprovalWanted(call)
        await released.wait()  # a durable run would be suspended here
        yield StepFinished(1)

    async with Batches(stream()) as batches:
        assert await batches.next() == [StepStarted(1), ToolStarted(1, call), ApprovalWanted(call)]
        released.set()
        assert await batches.next() == [StepFinished(1)]


@pytest.mark.parametrize("how", ["leave", "stop"])
async def test_leaving_ends_the_stream(how: str) -> None:
    ended = asyncio.Event()

    async def stream() -> AsyncGenerator[Event, None]:
        try:
            yield StepStarted(1)
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with Batches(stream()) as batches:
        assert await batches.next()
        if how == "stop":
            batches.stop()
            assert await batches.next() == []
    assert ended.is_set()
