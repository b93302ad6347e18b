from __future__ import annotations

from io import StringIO

from rich.console import Console

from skillian.reports.as_table import show_table
from skillian.reports.outcome import Outcome


def shown(*outcomes: Outcome) -> tuple[str, str]:
    out, errors = StringIO(), StringIO()
    show_table(Console(file=out, width=100), outcomes, Console(file=errors, width=100))
    return out.getvalue(), errors.getvalue()


def test_one_comparison_has_no_heading(close: Outcome) -> None:
    out, errors = shown(close)
    assert out.startswith("\nLargest differences (a: fi_reporting, b: bpc_reporting)")
    assert out.endswith("98.3 % of the gross gap in amount: company 1001.\n")
    assert errors == ""


def test_of_several_each_has_its_name_and_failures_go_where_errors_do(
    close: Outcome, equal: Outcome, failed: Outcome
) -> None:
    out, errors = shown(equal, failed, close)
    assert out.index("equal ─") < out.index("failed ─") < out.index("close ─")
    assert "No differences beyond the limits." in out
    assert "has no order" in errors
    assert "has no order" not in out


def test_without_a_console_for_errors_all_is_in_one(failed: Outcome) -> None:
    out = StringIO()
    show_table(Console(file=out, width=100), [failed])
    assert "has no order" in out.getvalue()
