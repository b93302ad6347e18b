"""A comparison as files, by links to the service's own routes."""

from __future__ import annotations

from nicegui import ui

_FILES = (
    ("CSV", "rows.csv", "csv"),
    ("XLSX", "rows.xlsx", "xlsx"),
    ("HTML report", "report.html", "html"),
    ("JSON", "report.json", "json"),
)


def downloads(cache_key: str) -> None:
    """Show a link for each form of a comparison; its tables hold the groups that differ."""
    with ui.element("div").classes("downloads line") as group:
        group.props["role"] = "group"
        group.props["aria-label"] = "Downloads"
        for name, path, suffix in _FILES:
            with ui.element("a").classes("download") as link:
                link.props["href"] = f"/comparisons/{cache_key}/{path}"
                link.props["download"] = f"comparison-{cache_key[:12]}.{suffix}"
                ui.icon("download").props("aria-hidden=true")
                ui.label(name)
