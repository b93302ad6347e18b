"""The JSON report has the form that docs/skillian.md describes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from skillian.reports.as_json import write_json
from skillian.reports.outcome import Outcome

PAGE = Path(__file__).parents[3] / "docs" / "skillian.md"


def read(*outcomes: Outcome) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(write_json(outcomes), parse_float=str)
    return report


def test_the_report_has_the_explanation_and_the_rows(close: Outcome) -> None:
    [comparison] = read(close)["comparisons"]
    assert comparison["explanation"]["interpretation"][0].startswith("98.3 %")
    assert comparison["rows"]["total"] == len(comparison["rows"]["rows"]) == 6


def test_a_failure_has_its_reason(failed: Outcome, nothing: Outcome, equal: Outcome) -> None:
    report = read(failed, nothing, equal)
    assert report["verdict"] == "failed"
    one, other, last = report["comparisons"]
    assert "has no order" in one["reason"]
    assert "nothing to compare" in other["reason"]
    assert (last["verdict"], last["reason"], last["findings"]) == ("equal", None, 0)


def test_the_keys_are_those_in_the_documentation(close: Outcome, failed: Outcome) -> None:
    section = PAGE.read_text(encoding="utf-8").split("### The JSON report")[1].split("\n#")[0]
    listed = set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE))
    report = read(close, failed)
    keys = {*report, *(key for comparison in report["comparisons"] for key in comparison)}
    assert listed == keys
