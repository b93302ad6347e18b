from __future__ import annotations

from dataclasses import replace

from skillian.reports.outcome import Compared, Outcome, worst


def test_findings_are_the_groups_of_the_classes_in_fail_on(close: Outcome) -> None:
    assert isinstance(close, Compared)
    major_only = replace(close, comparison=close.comparison.model_copy(update={"fail_on": "major"}))
    assert (close.findings, major_only.findings) == (6, 5)
    assert close.verdict == "findings"


def test_the_worst_verdict_wins(
    equal: Outcome, close: Outcome, failed: Outcome, nothing: Outcome
) -> None:
    assert worst([]) == "equal"
    assert worst([equal]) == "equal"
    assert worst([equal, close, equal]) == "findings"
    assert worst([close, nothing]) == "failed"
    assert worst([failed, close]) == "failed"
