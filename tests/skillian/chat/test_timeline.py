from __future__ import annotations

from typing import Any

from skillian.chat.timeline import timeline_of
from skillian.storage import TurnEvent


def events(*pairs: tuple[str, dict[str, Any]]) -> list[TurnEvent]:
    return [TurnEvent(number, 1, kind, data) for number, (kind, data) in enumerate(pairs, 1)]


def model(milliseconds: float) -> tuple[str, dict[str, Any]]:
    took = {"step": 1, "duration_ms": milliseconds, "input_tokens": 10, "output_tokens": 2}
    return "model_finished", took


def tool(name: str, milliseconds: float, result: Any) -> tuple[tuple[str, dict[str, Any]], ...]:
    head = {"step": 1, "id": name, "tool": name}
    done = {"result": result, "duration_ms": milliseconds, "is_error": False}
    return ("tool_started", {**head, "args": {"x": 1}}), ("tool_finished", {**head, **done})


def test_calls_of_a_step_are_parallel_and_steps_are_in_order() -> None:
    turn = events(
        ("turn_started", {"message": "Why?"}),
        ("delta", {"step": 1, "kind": "reasoning", "text": "Let me see"}),
        model(100),
        *tool("a", 30, {}),
        *tool("b", 50, {"error": True, "type": "query_error", "message": "no"}),
        model(20),
        ("answer", {"content": "So."}),
        ("turn_ended", {}),
    )
    timeline = timeline_of(turn, "gpt")
    assert (timeline.question, timeline.state, timeline.total_ms) == ("Why?", "answered", 170)
    assert (timeline.input_tokens, timeline.output_tokens) == (20, 4)
    spans = [(span.kind, span.name, span.start_ms, span.duration_ms) for span in timeline.spans]
    assert spans == [
        ("model", "gpt", 0, 100),
        ("tool", "a", 100, 30),
        ("tool", "b", 100, 50),
        ("model", "gpt", 150, 20),
    ]
    assert [span.is_error for span in timeline.spans] == [False, False, True, False]
    assert timeline.spans[0].thought == "Let me see"
    assert timeline.spans[1].detail == "x: 1"


def test_code_and_a_turn_that_ends_without_an_answer() -> None:
    turn = events(
        ("turn_started", {"message": "Go"}),
        ("code_started", {"step": 1, "code": "print(1)\nprint(2)"}),
        ("code_finished", {"step": 1, "output": "", "error": "ValueError", "duration_ms": 7.0}),
        ("turn_failed", {"type": "cancelled", "message": "stopped"}),
    )
    timeline = timeline_of(turn, "gpt")
    [span] = timeline.spans
    assert (span.kind, span.detail, span.is_error) == ("code", "print(1)", True)
    assert timeline.state == "ended without an answer"


def test_without_sources_there_are_no_examples() -> None:
    timeline = timeline_of([], "gpt")
    assert (timeline.total_ms, timeline.state) == (0, "in progress")
