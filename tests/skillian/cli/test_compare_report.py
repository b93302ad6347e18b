from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from tests.skillian.reports.comparisons import comparison_of, outcomes_of

from skillian.cli.compare_report import show_table, showing_progress
from skillian.reports.outcome import Outcome


@pytest.fixture(scope="module")
def close(demo: Path) -> Outcome:
    return outcomes_of(demo, comparison_of())[0]


@pytest.fixture(scope="module")
def failed(demo: Path) -> Outcome:
    return outcomes_of(demo, comparison_of(name="failed", filters={"company": {"gt": None}}))[0]


def table_of(*outcomes: Outcome) -> tuple[str, str]:
    out, errors = StringIO(), StringIO()
    show_table(Console(file=out, width=100), outcomes, Console(file=errors, width=100))
    return out.getvalue(), errors.getvalue()


def test_one_comparison_has_no_heading(close: Outcome) -> None:
    out, errors = table_of(close)
    assert out.startswith("\nLargest differences (a: fi_reporting, b: bpc_reporting)")
    assert " ".join(out.split()).endswith(
        "98.3 % of the gross gap in amount: company 1001, with 33.1 % of the rows."
    )
    assert errors == ""


def test_several_comparisons_have_headings_and_failures_go_to_the_error_console(
    demo: Path, close: Outcome, failed: Outcome
) -> None:
    [equal] = outcomes_of(demo, comparison_of(name="equal", filters={"company": "1002"}))
    out, errors = table_of(equal, failed, close)
    assert out.index("equal ─") < out.index("failed ─") < out.index("close ─")
    assert "No differences beyond the limits." in out
    assert "has no order" in errors
    assert "has no order" not in out


def test_without_an_error_console_everything_is_in_one(failed: Outcome) -> None:
    out = StringIO()
    show_table(Console(file=out, width=100), [failed])
    assert "has no order" in out.getvalue()


def progress_on(*, terminal: bool) -> str:
    written = StringIO()
    console = Console(file=written, force_terminal=terminal, width=100)
    with showing_progress(console) as report:
        report("close", "comparing")
        report("other", "ledger: 1,200 groups\x1b[31m")
        report("close", "")
        report("other", "")
    return written.getvalue()


def test_a_terminal_shows_the_progress_of_each_comparison() -> None:
    written = progress_on(terminal=True)
    assert "close" in written
    assert "ledger: 1,200 groups" in written
    assert "groups\x1b[31m" not in written


def test_no_progress_without_a_terminal() -> None:
    assert progress_on(terminal=False) == ""
