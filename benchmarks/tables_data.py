"""Tables of mixed types that differ in a known way: Parquet files, DuckDB and PostgreSQL tables.

Table a has a key and eleven other columns. In b, a thousandth of the cells of each column is
altered; b lacks a row in 100,000 and has as many of its own. Table `ranges` is a with the amounts
of `RANGES` ranges of the key altered, and `same` is a itself. `truth.json` has the differences of
each from a; they are counted on a and not by comparing.
"""

# ruff: noqa: S608 - names of our own

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import psycopg
from places import copy_parquet

KEY = "id"
RANGES, RANGE_ROWS = 10, 1000
MEMORY = "2GB"
# The type in PostgreSQL, the value, and what it is altered to.
CELLS = {
    "small": ("integer", "(hash(i, 1) % 100)::INTEGER", "small + 1"),
    "large": ("bigint", "(hash(i, 2) % 1000000000000)::BIGINT", "large + 1"),
    "amount": (
        "numeric(18, 2)",
        "((hash(i, 3) % 100000000) / 100)::DECIMAL(18, 2)",
        "(amount + 0.01)::DECIMAL(18, 2)",
    ),
    "price": ("double precision", "((hash(i, 4) % 100000) / 1000)::DOUBLE", "price * 1.5"),
    "name": ("text", "'name ' || (hash(i, 5) % 100000)", "name || ' '"),
    "city": ("text", "'city ' || (hash(i, 6) % 500)", "upper(city)"),
    "note": ("text", "CASE WHEN i % 3 = 0 THEN NULL ELSE 'a longer note number ' || i END", "'x'"),
    "born": ("date", "DATE '1950-01-01' + (hash(i, 7) % 20000)::INTEGER", "born + 1"),
    "seen": (
        "timestamp",
        "TIMESTAMP '2020-01-01' + INTERVAL 1 SECOND * (hash(i, 8) % 100000000)::BIGINT",
        "seen + INTERVAL 1 SECOND",
    ),
    "active": ("boolean", "hash(i, 9) % 2 = 0", "NOT active"),
    "code": ("text", "lpad((hash(i, 10) % 10000)::VARCHAR, 5, '0')", "NULL"),
}


def make_tables(folder: Path, rows: int) -> None:
    """Write `a.parquet`, `b.parquet`, `small/` with a few rows of both, and `truth.json`.

    `tables.duckdb` gets the tables a, b and ranges.
    """
    (folder / "small").mkdir(parents=True, exist_ok=True)
    columns = ", ".join(f"{value} AS {name}" for name, (_, value, _) in CELLS.items())
    with duckdb.connect(folder / "tables.duckdb", config={"memory_limit": MEMORY}) as made:
        made.execute(f"SET temp_directory = '{folder}'")
        made.execute(f"CREATE TABLE a AS SELECT i AS {KEY}, {columns} FROM range({rows}) t (i)")
        changed = ", ".join(
            f"CASE WHEN {_altered(place)} THEN {other} ELSE {name} END AS {name}"
            for place, (name, (_, _, other)) in enumerate(CELLS.items())
        )
        key = f"CASE WHEN {_other_key()} THEN -{KEY} ELSE {KEY} END AS {KEY}"
        made.execute(f"CREATE TABLE b AS SELECT {key}, {changed} FROM a")
        amount = f"(amount + CASE WHEN {_in_ranges(rows)} THEN 1 ELSE 0 END)::DECIMAL(18, 2)"
        made.execute(f"CREATE TABLE ranges AS SELECT * REPLACE ({amount} AS amount) FROM a")
        (folder / "truth.json").write_text(json.dumps(_truth(made, rows), indent=1))
        for side in "ab":
            made.execute(f"COPY {side} TO '{folder}/{side}.parquet' (FORMAT parquet)")
            made.execute(f"COPY (FROM {side} LIMIT 500) TO '{folder}/small/{side}.parquet'")


def load_postgres(folder: Path, url: str) -> None:
    """Copy a and b into a database, with the key as the primary key."""
    types = ", ".join(f"{name} {kind}" for name, (kind, _, _) in CELLS.items())
    with psycopg.connect(url, autocommit=True) as connection:
        for side in "ab":
            create = f"CREATE TABLE {side} ({KEY} bigint PRIMARY KEY, {types})"
            connection.execute(create.encode())
            copy_parquet(connection, folder / f"{side}.parquet", side)
            connection.execute(f"VACUUM ANALYZE {side}".encode())


def _altered(place: int) -> str:
    return f"hash({KEY}, {place}, 0) % 1000 = 0"


def _other_key() -> str:
    return f"{KEY} % 100000 = 7"


def _in_ranges(rows: int) -> str:
    """Ranges that are spread over the keys."""
    apart = rows // RANGES
    return f"{KEY} % {apart} < {min(RANGE_ROWS, apart)}"


def _truth(made: duckdb.DuckDBPyConnection, rows: int) -> dict[str, Any]:
    tests = {
        name: f"{_altered(place)} AND ({other}) IS DISTINCT FROM {name}"
        for place, (name, (_, _, other)) in enumerate(CELLS.items())
    }
    counts = [f"count_if({_other_key()})", f"count_if({' OR '.join(tests.values())})"]
    counts += [f"count_if({test})" for test in tests.values()]
    here = f"NOT ({_other_key()})"
    [(alone, *_)] = made.execute(f"SELECT {counts[0]} FROM a").fetchall()
    listed = ", ".join(counts[1:])
    [(differing, *mismatches)] = made.execute(f"SELECT {listed} FROM a WHERE {here}").fetchall()
    [(in_ranges,)] = made.execute(f"SELECT count_if({_in_ranges(rows)}) FROM a").fetchall()
    none = dict.fromkeys(CELLS, 0)
    return {
        "b": _report(differing, alone, dict(zip(CELLS, mismatches, strict=True))),
        "same": _report(0, 0, none),
        "ranges": _report(in_ranges, 0, {**none, "amount": in_ranges}),
    }


def _report(differing: int, alone: int, mismatches: dict[str, int]) -> dict[str, Any]:
    return {
        "differing": differing,
        "only_in_a": alone,
        "only_in_b": alone,
        "mismatches": mismatches,
    }
