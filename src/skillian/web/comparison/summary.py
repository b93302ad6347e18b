"""What a comparison found, at a glance: its title and scope, downloads, totals, and sentences."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Literal

from nicegui import ui

from skillian.data.comparison.results import ComparisonResult, MeasureSummary
from skillian.data.query.filters import Operator
from skillian.display import printable
from skillian.reports.words import text
from skillian.web.shell.elements import Amount, Heading

_OPERATORS: dict[Operator, str] = {
    "in": "is",
    "not_in": "is not",
    "gte": "≥",
    "gt": ">",
    "lte": "≤",
    "lt": "<",
}
REPORTS = (("HTML report", "report.html", "html"), ("JSON", "report.json", "json"))
"""The name, the path and the suffix of each report on a comparison."""
FILES = (("CSV", "rows.csv", "csv"), ("XLSX", "rows.xlsx", "xlsx"), *REPORTS)
"""The same for a comparison of measures, whose groups can be downloaded too."""


def header(result: ComparisonResult, level: Literal[1, 2]) -> ui.button:
    """Show the sources, the scope of the comparison and its downloads.

    Returns:
        The button that asks why the sources differ.
    """
    with ui.element("div").classes("line"):
        Heading(f"{result.source_a} and {result.source_b}", level).classes("grow")
        why = ui.button("Why?", icon="account_tree").props("unelevated")
        why.set_enabled(bool(result.top_differences))
    ui.label(_scope(result)).classes("soft")
    ui.label(f"A is {result.source_a}, B is {result.source_b}").classes("soft small")
    downloads(result.cache_key, FILES)
    return why


def _scope(result: ComparisonResult) -> str:
    measures = ", ".join(measure.name for measure in result.summary.measures)
    parts = [f"{measures} by {', '.join(result.proof.align_on)}"]
    for each in result.proof.filters:
        values = ", ".join(text(value) for value in each.values)
        parts.append(f"{each.dimension} {_OPERATORS[each.operator]} {values}")
    return " · ".join(parts)


def downloads(cache_key: str, files: Sequence[tuple[str, str, str]]) -> None:
    """Link to the service's own routes; tables hold the groups that differ."""
    with ui.element("div").classes("downloads line") as group:
        group.props["role"] = "group"
        group.props["aria-label"] = "Downloads"
        for name, path, suffix in files:
            with ui.element("a").classes("download") as link:
                link.props["href"] = f"/comparisons/{cache_key}/{path}"
                link.props["download"] = f"comparison-{cache_key[:12]}.{suffix}"
                ui.icon("download").props("aria-hidden=true")
                ui.label(name)


def tiles(result: ComparisonResult) -> None:
    """Show how many groups match, and the totals and the gap of each measure."""
    classes = result.summary.classes
    with ui.element("div").classes("tiles") as row:
        row.props["data-testid"] = "tiles"
        with tile("Groups"):
            Amount(classes.groups)
        with tile("Match rate"):
            ui.label(classes.match_rate or "-")
        with tile("Groups that differ"):
            Amount(classes.groups - classes.match)
        for measure in result.summary.measures:
            _measure(measure)


def _measure(measure: MeasureSummary) -> None:
    if measure.total_a is not None or measure.total_b is not None:
        with tile(f"{measure.name} in A"):
            Amount(measure.total_a, measure.unit)
        with tile(f"{measure.name} in B"):
            Amount(measure.total_b, measure.unit)
    with tile(f"{measure.name}: B − A"):  # noqa: RUF001 - a minus
        Amount(measure.net_difference, measure.unit, signed=True)
    with tile(f"{measure.name}: gross gap"):
        Amount(measure.gross_difference, measure.unit)


@contextmanager
def tile(name: str) -> Generator[None]:
    """A tile, whose value is built in the block."""
    with ui.element("div").classes("tile status-tile"):
        ui.label(name).classes("soft small")
        with ui.element("div").classes("tile-value"):
            yield


def sentences(result: ComparisonResult) -> None:
    """Show what the numbers point to, in sentences."""
    with ui.element("ul").classes("sentences"):
        for sentence in result.interpretation:
            with ui.element("li"):
                ui.label(printable(sentence))
