"""What a turn computed, in the planner's words, and why it has no answer of its model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from skillian.offline.calls import PlannedCall, sentence_of
from skillian.offline.earlier import COMPARE, QUERY, as_object
from skillian.offline.wording import word_result
from tinyagent import (
    AnswerCutOff,
    AnswerRefused,
    NoProgress,
    RunResult,
    StepLimitReached,
    UsageLimitReached,
)

_MOST_TOTALS = 2
_REASONS: Mapping[type[Exception], str] = {
    NoProgress: "the model repeated the same call",
    StepLimitReached: "the model made too many calls",
    UsageLimitReached: "the question took too many requests, or too long",
    AnswerCutOff: "the replies of the model were too long",
    AnswerRefused: "the model, or a filter of its provider, declined to answer",
}


@dataclass(frozen=True, slots=True)
class Computed:
    """A query or comparison that succeeded.

    Attributes:
        tool: The tool.
        arguments: What it was called with.
        result: Its result.
        raw: The text of the result.
    """

    tool: str
    arguments: Mapping[str, Any]
    result: Mapping[str, Any]
    raw: str

    @property
    def words(self) -> str:
        """The result in the planner's words."""
        return word_result(self.tool, self.result, self.raw)

    @property
    def verdict(self) -> str:
        """The verdict of a comparison and the totals of its measures; empty for a query."""
        if self.tool != COMPARE:
            return ""
        measures = self.result.get("summary", {}).get("measures", {})
        return "\n".join(self.words.split("\n")[: 1 + min(len(measures), _MOST_TOTALS)])

    @property
    def rest(self) -> str:
        """The words below the verdict."""
        return self.words.removeprefix(self.verdict).strip()


def computed_by(tool: str, arguments: Mapping[str, Any], raw: str) -> Computed | None:
    """What a call computed; None for another tool, an error, or a result that was cut."""
    result = as_object(raw)
    is_result = tool in {COMPARE, QUERY} and result and not result.get("error")
    return Computed(tool, arguments, result, raw) if is_result else None


def verdicts_of(results: Iterable[Computed]) -> str:
    """The verdict of each comparison, the question before it if there are several, or nothing."""
    found = {verdict: each for each in results if (verdict := each.verdict)}
    heads = [sentence_of(PlannedCall(COMPARE, each.arguments)) for each in found.values()]
    heads = [f"{head}: " if len(found) > 1 else "" for head in heads]
    return "\n\n".join(f"Computed: {h}{v}" for h, v in zip(heads, found, strict=True))


def reason_of_end(result: RunResult[Any], *, in_short: bool) -> str:
    """Why a run has no answer, without its last point; `in_short` leaves a server's words out."""
    error = result.error
    known = (words for kind, words in _REASONS.items() if isinstance(error, kind))
    words = next(known, str(error))
    return (words.partition(": ")[0] if in_short else words).rstrip(".?! ")
