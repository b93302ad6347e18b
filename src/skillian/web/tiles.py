"""The numbers of a comparison at a glance."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from nicegui import ui

from skillian.data.comparison.results import ComparisonResult, MeasureSummary
from skillian.web.amount import Amount


def tiles(result: ComparisonResult) -> None:
    """Show how many groups agree, and each measure's totals and gap."""
    classes = result.summary.classes
    with ui.element("div").classes("tiles") as row:
        row.props["data-testid"] = "tiles"
        with _tile("Groups"):
            Amount(classes.groups)
        with _tile("Match rate"):
            ui.label(classes.match_rate or "-")
        with _tile("Groups that differ"):
            Amount(classes.groups - classes.match)
        for measure in result.summary.measures:
            _measure(measure)


def _measure(measure: MeasureSummary) -> None:
    if measure.total_a is not None or measure.total_b is not None:
        with _tile(f"{measure.name} in A"):
            Amount(measure.total_a, measure.unit)
        with _tile(f"{measure.name} in B"):
            Amount(measure.total_b, measure.unit)
    with _tile(f"{measure.name}: B − A"):  # noqa: RUF001 - a minus
        Amount(measure.net_difference, measure.unit, signed=True)
    with _tile(f"{measure.name}: all gaps"):
        Amount(measure.gross_difference, measure.unit)


@contextmanager
def _tile(name: str) -> Generator[None]:
    with ui.element("div").classes("tile status-tile"):
        ui.label(name).classes("soft small")
        with ui.element("div").classes("tile-value"):
            yield
