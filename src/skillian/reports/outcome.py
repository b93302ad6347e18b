"""What came of a comparison that was asked for: all that its report shows."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from skillian.data.comparison.explain.explanation import Explanation
from skillian.data.comparison.results import ComparisonResult
from skillian.data.comparison.rows import ComparisonRows, DrillDown
from skillian.data.declare.saved import SavedComparison

Verdict = Literal["equal", "findings", "failed"]

VERDICTS: tuple[Verdict, ...] = ("equal", "findings", "failed")
"""From the best to the worst; their places are the exit codes of a comparison."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison that was made, in so many seconds.

    Where the sources differ there is an explanation, and as far as they were wanted `rows` are the
    groups that differ and `drilled` the rows behind the largest of them.
    """

    asked: SavedComparison
    seconds: float
    result: ComparisonResult
    explanation: Explanation | None = None
    rows: ComparisonRows | None = None
    drilled: tuple[DrillDown, ...] = ()

    @property
    def findings(self) -> int:
        """How many groups are in a class that counts as a finding, or differ in their rows."""
        classes = self.result.summary.classes
        minor = classes.minor_diff if self.asked.fail_on == "minor" else 0
        missing = classes.missing_in_a + classes.missing_in_b
        return classes.major_diff + missing + minor + self.result.summary.row_findings

    @property
    def verdict(self) -> Verdict:
        """Whether there are findings; where filters leave no row nothing was compared."""
        if self.asked.filters and not self.result.summary.classes.groups:
            return "failed"
        return "findings" if self.findings else "equal"

    @property
    def reason(self) -> str | None:
        """Why it could not be compared."""
        return self.result.interpretation[0] if self.verdict == "failed" else None


@dataclass(frozen=True, slots=True)
class Failed:
    """A comparison that could not be made, and why."""

    asked: SavedComparison
    seconds: float
    reason: str

    @property
    def verdict(self) -> Verdict:
        """Always `failed`."""
        return "failed"


Outcome = Compared | Failed


def worst(outcomes: Iterable[Outcome]) -> Verdict:
    """Return the worst verdict of all."""
    return VERDICTS[max((VERDICTS.index(outcome.verdict) for outcome in outcomes), default=0)]
