"""Whole tables compared by the best SQL for the case, which reports what skillian reports.

Rows that differ go into a table; counts, the most frequent pairs of values and samples are read
from it. DuckDB also counts repeated keys, which in PostgreSQL the primary key excludes.
"""

# ruff: noqa: S608 - names of our own

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import psycopg

Found = dict[str, Any]
Go = Callable[[], Callable[[], Found]]
Ask = Callable[[str], Any]

MEMORY = "2GB"


def in_duckdb(folder: str, kind: str) -> Go:
    """Compare two Parquet files, or two tables of a DuckDB."""
    connection = duckdb.connect(
        config={"memory_limit": MEMORY, "preserve_insertion_order": "false"}
    )
    connection.execute(f"SET temp_directory = '{folder}'")
    connection.execute(f"ATTACH '{Path(folder) / 'tables.duckdb'}' AS made (READ_ONLY)")
    inputs = {
        side: f"made.{side}" if kind == "duckdb" else f"'{folder}/{side}.parquet'" for side in "ab"
    }
    described = connection.execute("DESCRIBE made.a").fetchall()
    names = [row[0] for row in described if row[0] != "id"]

    def ask(statement: str) -> Any:
        return connection.execute(statement).fetchall()

    def go() -> Callable[[], Found]:
        found = _compared(ask, names, inputs)
        repeated = "SELECT count(*) FROM (SELECT 1 FROM {} GROUP BY id HAVING count(*) > 1)"
        found["repeated"] = sum(ask(repeated.format(each))[0][0] for each in inputs.values())
        return lambda: found

    return go


def in_postgres(url: str) -> Go:
    """Compare two tables of PostgreSQL."""
    connection = psycopg.connect(url, autocommit=True)

    def ask(statement: str) -> Any:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    names = [
        row[0]
        for row in ask(
            "SELECT column_name FROM information_schema.columns"
            " WHERE table_name = 'a' AND column_name <> 'id' ORDER BY ordinal_position"
        )
    ]

    def go() -> Callable[[], Found]:
        found = _compared(ask, names, {"a": "a", "b": "b"})
        return lambda: found

    return go


def _compared(ask: Ask, names: list[str], inputs: dict[str, str]) -> Found:
    tests = {name: f"a.{name} IS DISTINCT FROM b.{name}" for name in names}
    both = "a.id IS NOT NULL AND b.id IS NOT NULL"
    flags = ", ".join(
        f"{both} AND {test} AS d_{name}, CASE WHEN {test} THEN a.{name} END AS a_{name},"
        f" CASE WHEN {test} THEN b.{name} END AS b_{name}"
        for name, test in tests.items()
    )
    ask(
        f"CREATE TEMP TABLE d AS SELECT a.id AS id_a, b.id AS id_b, {flags}"
        f" FROM {inputs['a']} AS a FULL JOIN {inputs['b']} AS b"
        f" ON a.id = b.id WHERE a.id IS NULL OR b.id IS NULL OR {' OR '.join(tests.values())}"
    )
    for side in "ab":
        ask(f"SELECT count(*) FROM {inputs[side]}")
    ask(f"SELECT * FROM d WHERE d_{names[0]} ORDER BY id_a LIMIT 10")
    counts = [
        "count(*) FILTER (WHERE id_b IS NULL)",
        "count(*) FILTER (WHERE id_a IS NULL)",
        "count(*) FILTER (WHERE id_a IS NOT NULL AND id_b IS NOT NULL)",
        *(f"count(*) FILTER (WHERE d_{name})" for name in names),
    ]
    [(only_a, only_b, differing, *mismatches)] = ask(f"SELECT {', '.join(counts)} FROM d")
    for name in names:
        ask(
            f"SELECT a_{name}, b_{name}, count(*) AS n FROM d WHERE d_{name}"
            f" GROUP BY a_{name}, b_{name} ORDER BY n DESC LIMIT 10"
        )
    return {
        "differing": differing,
        "only_in_a": only_a,
        "only_in_b": only_b,
        "mismatches": dict(zip(names, mismatches, strict=True)),
    }


CASES: dict[str, Callable[[str, str], Go]] = {
    "parquet": lambda folder, _url: in_duckdb(folder, "parquet"),
    "duckdb": lambda folder, _url: in_duckdb(folder, "duckdb"),
    "postgres": lambda _folder, url: in_postgres(url),
}
