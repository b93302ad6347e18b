"""Finalizer: one answer, once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tinyagent.core.errors import MultipleFinalAnswers
from tinyagent.core.types import FinalAnswer


class Finalizer:
    """Takes the answer of a run; a second one is an error, not an overwrite."""

    __slots__ = ("_answer",)

    def __init__(self) -> None:
        self._answer: FinalAnswer | None = None

    @property
    def is_set(self) -> bool:
        """Whether the run has its answer."""
        return self._answer is not None

    @property
    def answer(self) -> FinalAnswer | None:
        """The answer, or None while there is none."""
        return self._answer

    def set_answer(
        self, value: Any, source: str = "text", metadata: Mapping[str, Any] | None = None
    ) -> FinalAnswer:
        """Record the answer.

        Raises:
            MultipleFinalAnswers: there is one already; it is kept.
        """
        if self._answer is not None:
            raise MultipleFinalAnswers(
                "the run has its final answer already; the second one was not taken"
            )
        self._answer = FinalAnswer(value, source, datetime.now(UTC), dict(metadata or {}))
        return self._answer
