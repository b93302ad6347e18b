from __future__ import annotations

import json
from datetime import UTC, datetime

from skillian.chat.turn_events import MAX_RESULT_CHARACTERS, MAX_RESULTS_BYTES, TurnRecord
from skillian.storage import Draft
from tinyagent import (
    CodeFinished,
    CodeStarted,
    OutputDelta,
    StepFinished,
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
