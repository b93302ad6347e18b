from __future__ import annotations

from typing import Any, get_args

import pytest

from tinyagent import FinalAnswer, Finalizer, Memory, RunResult, Usage


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
