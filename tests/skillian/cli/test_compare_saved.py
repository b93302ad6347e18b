"""Saved comparisons, as CI runs them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

CLOSE = """
sources: {sources}
compare:
  - name: equal company
    a: fi_reporting
    b: bpc_reporting
    measures: [amount]
    filters: {{company: 1002}}
  - name: small differences
    a: fi_reporting
    b: bpc_reporting
    measures: [amount, documents]
    align_on: [company, period]
    filters: {{company: 1001, period: 2024006}}
    fail_on: major
"""
FINDINGS = """
  - name: everything
    a: fi_reporting
    b: bpc_reporting
    measures: [amount]
"""
FAILED = """
  - name: nothing
    a: fi_reporting
    b: bpc_reporting
    measures: [amount]
    filters: {{company: typo}}
"""


@pytest.fixture
def write(tmp_path: Path, demo: Path) -> Callable[..., None]:
    def write(*parts: str) -> None:
        text = "".join(parts).format(sources=demo)
        (tmp_path / "close.yaml").write_text(text, encoding="utf-8")

    return write


@pytest.mark.parametrize(
    ("parts", "code"),
    [((CLOSE,), 0), ((CLOSE, FINDINGS), 1), ((CLOSE, FAILED), 2), ((CLOSE, FAILED, FINDINGS), 2)],
)
def test_the_exit_code_shows_the_worst_verdict(
    parts: tuple[str, ...], code: int, skillian: Run, write: Callable[..., None]
) -> None:
    write(*parts)
    done = skillian("compare", "close.yaml")
    assert done.returncode == code, done.stdout + done.stderr
    assert "equal company" in done.stdout


def test_fail_on_overrides_the_file(skillian: Run, write: Callable[..., None]) -> None:
    write(CLOSE)
    assert skillian("compare", "close.yaml", "--fail-on", "minor").returncode == 1


def test_one_report_has_all_comparisons_in_order(
    skillian: Run, write: Callable[..., None], tmp_path: Path
) -> None:
    write(CLOSE, FINDINGS)
    names = ["equal company", "small differences", "everything"]
    report = json.loads(skillian("compare", "close.yaml", "--format", "json").stdout)
    assert [comparison["name"] for comparison in report["comparisons"]] == names
    assert [each["verdict"] for each in report["comparisons"]] == ["equal", "equal", "findings"]
    skillian("compare", "close.yaml", "--output", "close.xml")
    suites = ET.parse(tmp_path / "close.xml").getroot()  # noqa: S314 - our own
    assert [suite.attrib["name"] for suite in suites] == names
    assert [suite.attrib["failures"] for suite in suites] == ["0", "0", "2"]


def test_options_that_the_file_sets_are_refused(skillian: Run, write: Callable[..., None]) -> None:
    write(CLOSE)
    for option in (("--measure", "amount"), ("--limit", "match:0"), ("--where", "a=b")):
        done = skillian("compare", "close.yaml", *option)
        assert done.returncode == 2
        assert "close.yaml says what to compare" in " ".join(done.stderr.split())


def test_faults_of_the_file_are_shown_with_their_lines(
    skillian: Run, write: Callable[..., None]
) -> None:
    write(CLOSE.replace("documents", "docs"))
    done = skillian("compare", "close.yaml")
    assert done.returncode == 2
    assert "close.yaml:12: there is no measure 'docs' in fi_reporting" in done.stderr
    assert "close.yaml:12: there is no measure 'docs' in bpc_reporting" in done.stderr
