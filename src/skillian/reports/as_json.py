"""A report for programs: JSON, version 1. docs/skillian.md describes it."""

import json
from collections.abc import Sequence

from skillian.reports.outcome import Compared, Outcome, worst

VERSION = 1


def write_json(outcomes: Sequence[Outcome]) -> str:
    """Return the report; amounts are strings with all of their digits."""
    report = {
        "version": VERSION,
        "verdict": worst(outcomes),
        "comparisons": [_comparison(outcome) for outcome in outcomes],
    }
    return json.dumps(report, ensure_ascii=False, indent=2) + "\n"


def _comparison(outcome: Outcome) -> dict[str, object]:
    asked = outcome.asked
    known: dict[str, object] = {
        "name": asked.name,
        "verdict": outcome.verdict,
        "reason": outcome.reason,
        "fail_on": asked.fail_on,
        "seconds": round(outcome.seconds, 3),
    }
    if not isinstance(outcome, Compared):
        return {**known, "source_a": asked.a, "source_b": asked.b}
    return {
        **known,
        "findings": outcome.findings,
        **outcome.result.to_dict(),
        "explanation": outcome.explanation.to_dict() if outcome.explanation else None,
        "rows": outcome.rows.to_dict() if outcome.rows else None,
    }
