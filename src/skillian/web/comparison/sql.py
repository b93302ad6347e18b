"""The SQL of a comparison, and where it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nicegui import ui

from skillian.display import printable
from skillian.web.shell.elements import Heading
from skillian.web.shell.text import code


def sql_panel(statement: str, queries: Mapping[str, str], notes: Sequence[str]) -> None:
    """Show the statements of a comparison.

    Args:
        statement: The SQL that compared.
        queries: The SQL that fetched each side, by source, if the database did not compare.
        notes: How the comparison was computed.
    """
    for note in notes:
        ui.label(printable(note)).classes("soft")
    Heading("SQL of the comparison", 2)
    code(statement, "sql")
    for name, query in queries.items():
        Heading(printable(f"SQL in {name}"), 2)
        code(query, "sql")
