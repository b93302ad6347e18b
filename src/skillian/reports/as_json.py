"""A report for programs: JSON, version 1, described in docs/skillian.md."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from skillian.reports.outcome import Failed, Outcome, worst

VERSION = 1


def write_json(outcomes: Sequence[Outcome]) -> str:
    """The report as JSON; amounts are strings with all of their digits."""
    report = {
        "version": VERSION,
        "verdict": worst(outcomes),
        "comparisons": [_comparison(outcome) for outcome in outcomes],
    }
    return json.dumps(report, ensure_ascii=False, indent=2) + "\n"


def _comparison(outcome: Outcome) -> dict[str, object]:
    comparison = outcome.comparison
    common: dict[str, object] = {
        "name": comparison.name,
        "verdict": outcome.verdict,
        "reason": outcome.reason,
        "fail_on": comparison.fail_on,
        "seconds": round(outcome.seconds, 3),
    }
    if isinstance(outcome, Failed):
        return {**common, "source_a": comparison.a, "source_b": comparison.b}
    today = datetime.now(UTC).date()
    history = outcome.standing.to_dict(today) if outcome.standing else None
    parts = {name: getattr(outcome, name) for name in outcome.result.subject.details}
    return {
        **common,
        "findings": outcome.findings,
        "history": history,
        **outcome.result.to_dict(),
        **{name: part and part.to_dict() for name, part in parts.items()},
        **({} if outcome.why is None else {"why": outcome.why.to_dict()}),
    }
