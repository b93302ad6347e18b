from __future__ import annotations

from typing import Any, get_args

import pytest

from tinyagent import Memory, RunResult, Text, ToolCall, Usage
from tinyagent.agents.code_reply import spoken_parts
from tinyagent.core import FinalAnswer, Finalizer, ModelResponse, Opaque, RawToolCall, Reasoning
from tinyagent.core.types import remembered


def _result(answer: FinalAnswer | None) -> RunResult[object]:
    return RunResult(
        output=None if answer is None else answer.value,
        state="error" if answer is None else "completed",
        steps_taken=1,
        duration_seconds=0.0,
        usage=Usage(),
        memory=Memory(),
        final_answer=answer,
    )


def test_usages_add_up_part_by_part() -> None:
    assert Usage(1, 20, 300, 4) + Usage(1, 2, 3, 4) == Usage(2, 22, 303, 8)


def test_total_tokens_are_input_and_output() -> None:
    assert Usage(1, 20, 300, 4).total_tokens == 320


def test_usage_has_a_json_form() -> None:
    assert Usage(**Usage(1, 2, 3, 4).to_dict()) == Usage(1, 2, 3, 4)


@pytest.mark.parametrize(("value", "text"), [("blue", "blue"), (42, "42"), (None, "None")])
def test_a_result_reads_as_its_answer(value: object, text: str) -> None:
    assert str(_result(Finalizer().set_answer(value))) == text


def test_a_result_without_an_answer_reads_as_nothing() -> None:
    assert str(_result(None)) == ""


@pytest.mark.parametrize(
    ("hint", "arguments"),
    [
        (RunResult[int], (int, Any, Any)),
        (RunResult[int, str], (int, str, Any)),
        (RunResult[int, str, bool], (int, str, bool)),
    ],
)
def test_types_that_a_result_leaves_out_are_any(hint: object, arguments: tuple[Any, ...]) -> None:
    assert get_args(hint) == arguments


MARK = Opaque("openai-responses", "gpt-5.5", {"item": {"id": "msg_1"}})
ONE, TWO = Reasoning("One.", MARK), Reasoning("Two.", MARK)
SAID = Text("Here:\n\ncode\n", MARK)


def _reply(*parts: Reasoning | Text | RawToolCall) -> ModelResponse:
    texts = [part.text for part in parts if isinstance(part, Text)]
    calls = tuple(part for part in parts if isinstance(part, RawToolCall))
    return ModelResponse("".join(texts) if texts else None, calls, parts=parts)


@pytest.mark.parametrize(
    ("parts", "text", "kept"),
    [
        ((Text("plain"),), "plain", ()),
        ((ONE, SAID), "Here:\n\ncode", (ONE, SAID)),
        ((ONE, SAID), "Here.", (ONE, Text("Here.", MARK))),
        ((ONE, Text("a", MARK), Text("b", MARK)), "c", (ONE, Text("c"))),
        ((ONE, Text("a"), TWO, Text("b")), "c", (ONE, Text("a"), TWO, Text("b"))),
        ((ONE, SAID, RawToolCall("1", "add", "{}")), "Here.", (ONE, Text("Here.", MARK))),
    ],
)
def test_reasoning_and_text_are_kept_as_they_came(
    parts: tuple[Reasoning | Text, ...], text: str, kept: tuple[Reasoning | Text, ...]
) -> None:
    assert spoken_parts(_reply(*parts), text) == kept


def test_calls_that_were_read_from_a_text_stand_behind_it() -> None:
    call = ToolCall("1", "add", {"a": 1})
    assert remembered(_reply(ONE, SAID), SAID.text, [call]) == (ONE, SAID, call)
