"""Whole tables compared: skillian next to the best SQL by hand that reports the same.

Two Parquet files with a key and eleven other columns of mixed types; a thousandth of all cells of b
are altered. Each side runs in its own process, which prints its CPU time and its peak memory.

    python benchmarks/tables.py --rows 10000000
"""

# ruff: noqa: S608, PLC0415 - names are ours; a process by hand does not load skillian

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

MEMORY = "2GB"
CELLS = {
    "small": ("(hash(i, 1) % 100)::INTEGER", "small + 1"),
    "large": ("(hash(i, 2) % 1000000000000)::BIGINT", "large + 1"),
    "amount": ("((hash(i, 3) % 100000000) / 100)::DECIMAL(18, 2)", "amount + 0.01"),
    "price": ("((hash(i, 4) % 100000) / 1000)::DOUBLE", "price * 1.5"),
    "name": ("'name ' || (hash(i, 5) % 100000)", "name || ' '"),
    "city": ("'city ' || (hash(i, 6) % 500)", "upper(city)"),
    "note": ("CASE WHEN i % 3 = 0 THEN NULL ELSE 'a longer note number ' || i END", "'new'"),
    "born": ("DATE '1950-01-01' + (hash(i, 7) % 20000)::INTEGER", "born + 1"),
    "seen": (
        "TIMESTAMP '2020-01-01' + INTERVAL 1 SECOND * (hash(i, 8) % 100000000)::BIGINT",
        "seen + INTERVAL 1 SECOND",
    ),
    "active": ("hash(i, 9) % 2 = 0", "NOT active"),
    "code": ("lpad((hash(i, 10) % 10000)::VARCHAR, 5, '0')", "NULL"),
}


def create(folder: Path, rows: int) -> None:
    """Write a.parquet and b.parquet; b lacks a row in 100,000 and has as many of its own."""
    columns = ", ".join(f"{value} AS {name}" for name, (value, _) in CELLS.items())
    changed = ", ".join(
        f"CASE WHEN hash(id, {place}, 0) % 1000 = 0 THEN {other} ELSE {name} END AS {name}"
        for place, (name, (_, other)) in enumerate(CELLS.items())
    )
    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        a, b = folder / "a.parquet", folder / "b.parquet"
        connection.execute(
            f"COPY (SELECT i AS id, {columns} FROM range({rows}) t (i)) TO '{a}' (FORMAT parquet)"
        )
        connection.execute(
            f"COPY (SELECT CASE WHEN id % 100000 = 7 THEN -id ELSE id END AS id, {changed}"
            f" FROM '{a}') TO '{b}' (FORMAT parquet)"
        )


def by_hand(folder: Path) -> dict[str, Any]:
    """Compare by SQL: rows that differ into a table, then counts, pairs and samples from it."""
    names = list(CELLS)
    tests = {name: f"a.{name} IS DISTINCT FROM b.{name}" for name in names}
    both = "a.id IS NOT NULL AND b.id IS NOT NULL"
    flags = ", ".join(
        f"{both} AND {test} AS d_{name}, CASE WHEN {test} THEN a.{name} END AS a_{name},"
        f" CASE WHEN {test} THEN b.{name} END AS b_{name}"
        for name, test in tests.items()
    )
    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        connection.execute(f"SET temp_directory = '{folder}/spill'")
        connection.execute("SET preserve_insertion_order = false")
        for side in "ab":
            connection.execute(f"CREATE VIEW {side} AS FROM '{folder}/{side}.parquet'")
        connection.execute(
            f"CREATE TEMP TABLE d AS SELECT a.id AS id_a, b.id AS id_b, {flags} FROM a FULL JOIN b"
            f" ON a.id = b.id WHERE a.id IS NULL OR b.id IS NULL OR {' OR '.join(tests.values())}"
        )
        repeated = "SELECT count(*) FROM (SELECT 1 FROM {} GROUP BY id HAVING count(*) > 1)"

        def one(statement: str) -> Any:
            return connection.execute(statement).fetchall()

        report: dict[str, Any] = {
            "rows": [one(f"SELECT count(*) FROM {side}")[0][0] for side in "ab"],
            "repeated": [one(repeated.format(side))[0][0] for side in "ab"],
            "only": one("SELECT count_if(id_b IS NULL), count_if(id_a IS NULL) FROM d")[0],
            "samples": one(f"FROM d WHERE d_{names[0]} ORDER BY id_a LIMIT 10"),
        }
        mismatches = ", ".join(f"count_if(d_{name})" for name in names)
        report["mismatches"] = dict(zip(names, one(f"SELECT {mismatches} FROM d")[0], strict=True))
        report["pairs"] = {
            name: one(
                f"SELECT a_{name}, b_{name}, count(*) AS n FROM d WHERE d_{name}"
                " GROUP BY ALL ORDER BY n DESC LIMIT 10"
            )
            for name in names
        }
        return report


def by_skillian(folder: Path) -> dict[str, Any]:
    """Compare with the engine."""
    from skillian.data.declare.sources import Connections
    from skillian.data.query.binding import Binder
    from skillian.data.tables.engine import TableEngine, TableQuestion
    from skillian.data.tables.relation import bare_tables

    async def run() -> dict[str, Any]:
        registry, names = await bare_tables([str(folder / f"{side}.parquet") for side in "ab"])
        async with Connections(registry) as connections:
            engine = TableEngine(Binder(registry, connections))
            try:
                result = await engine.compare(TableQuestion(names[0], names[1], key=("id",)))
            finally:
                await engine.aclose()
        rows = result.rows
        return {
            "rows": [rows.rows_a, rows.rows_b],
            "repeated": [rows.duplicate_keys_a, rows.duplicate_keys_b],
            "only": [rows.only_in_a, rows.only_in_b],
            "mismatches": {column.a: column.mismatches for column in result.columns},
        }

    return asyncio.run(run())


WAYS: dict[str, Callable[[Path], dict[str, Any]]] = {"by hand": by_hand, "skillian": by_skillian}


def measured(way: str, folder: Path) -> tuple[dict[str, Any], float, float]:
    """Run one way in its own process: its report, its CPU seconds and its peak memory in MB."""
    command = [sys.executable, __file__, "--way", way, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer["report"], answer["cpu"], answer["memory"]


def main() -> None:
    """Print a table with a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    if arguments.way:
        report = WAYS[arguments.way](arguments.folder)
        usage = resource.getrusage(resource.RUSAGE_SELF)
        cpu, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        print(json.dumps({"report": report, "cpu": cpu, "memory": memory}, default=str))
        return
    with tempfile.TemporaryDirectory() as made_in:
        folder = Path(made_in)
        create(folder, arguments.rows)
        print(f"{arguments.rows:,} rows, {len(CELLS) + 1} columns\n")
        print("| way | CPU | memory | CPU ratio |\n|---|--:|--:|--:|")
        reports: list[dict[str, Any]] = []
        first = 0.0
        for way in WAYS:
            report, cpu, memory = measured(way, folder)
            first = first or cpu
            reports.append(report)
            print(f"| {way} | {cpu:.1f} s | {memory:,.0f} MB | {cpu / first:.2f} |", flush=True)
        for name in ("rows", "repeated", "only", "mismatches"):
            if reports[0][name] != reports[1][name]:
                raise SystemExit(f"{name}: {reports[0][name]} by hand, {reports[1][name]}")


if __name__ == "__main__":
    main()
