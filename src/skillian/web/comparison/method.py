"""How a comparison was computed: its snapshot, its limits and its SQL."""

from __future__ import annotations

from nicegui import ui

from skillian.web.comparison.context import ComparisonContext
from skillian.web.shell.text import code


def method_panel(comparison: ComparisonContext) -> None:
    """Show the details in a section that is closed at first."""
    result = comparison.result
    proof = result.proof
    with ui.expansion("How this was computed").classes("full"):
        ui.label(f"Snapshot: {proof.snapshot}; key: {result.cache_key}").classes("small")
        for name, limits in proof.thresholds.items():
            match, minor = limits.match, limits.minor_diff
            ui.label(f"{name}: a match up to {match.words()}, minor up to {minor.words()}").classes(
                "small"
            )
        for name, query in proof.queries.items():
            ui.label(f"SQL in {name}").classes("small soft")
            code(query.text, "sql")
        ui.label("SQL").classes("small soft")
        code(proof.sql, "sql")
