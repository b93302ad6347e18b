"""Drivers of databases are imported by connectors, and by a few rooms with a reason."""

from __future__ import annotations

import ast
from pathlib import Path

from skillian.connectors import ENGINES

SOURCE = Path(__file__).parents[2] / "src" / "skillian"
# The demo writes a database; sessions and the history are kept in PostgreSQL; uploaded workbooks
# are measured before they are read.
ROOMS = ("connectors", "demo", "storage", "history", "uploads")


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for each in names for name in (each, each.partition(".")[0])}


def test_only_connectors_import_drivers() -> None:
    drivers = {driver for engine in ENGINES for driver in engine.drivers}
    assert {"duckdb", "psycopg", "pymysql", "pyspark", "python_calamine"} <= drivers
    offenders = {
        str(path.relative_to(SOURCE)): found
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in ROOMS and (found := imported(path) & drivers)
    }
    assert not offenders
