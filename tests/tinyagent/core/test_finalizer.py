from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tinyagent.core import Finalizer, MultipleFinalAnswers


def test_it_starts_without_an_answer() -> None:
    finalizer = Finalizer()
    assert not finalizer.is_set
    assert finalizer.answer is None


def test_an_answer_says_where_and_when_it_was_given() -> None:
    finalizer = Finalizer()
    before = datetime.now(UTC)
    answer = finalizer.set_answer(42, "text", {"finish_reason": "stop"})
    assert finalizer.is_set
    assert finalizer.answer is answer
    assert (answer.value, answer.source) == (42, "text")
    assert answer.metadata == {"finish_reason": "stop"}
    assert before <= answer.timestamp <= datetime.now(UTC)


def test_a_second_answer_is_refused_and_the_first_kept() -> None:
    finalizer = Finalizer()
    finalizer.set_answer(None)
    with pytest.raises(MultipleFinalAnswers, match="already has its final answer"):
        finalizer.set_answer(2)
    assert finalizer.answer is not None
    assert finalizer.answer.value is None
