"""Runs one way to compare the two files of `lineitem.py`, in this interpreter's environment.

Arguments: one of WAYS, and the folder. Prints as JSON the CPU seconds, the peak memory in MB, and
the numbers of rows that differ and that are missing. Loading libraries is not included: each way
has compared two small files before.
"""

# ruff: noqa: PLC0415 - each environment has the libraries of one way

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

KEYS = ("l_orderkey", "l_linenumber")
MEASURES = ("l_quantity", "l_extendedprice", "l_discount", "l_tax")
FILES = ("a.parquet", "b.parquet")
MEMORY = "2GB"  # skillian's own limit for a DuckDB

Found = dict[str, int]


def by_hand(folder: Path, columns: tuple[str, ...] | None) -> Found:
    """A direct join, which is right because the key is known to be unique: what differs is kept."""
    import duckdb

    connection = duckdb.connect(
        config={"memory_limit": MEMORY, "preserve_insertion_order": "false"}
    )
    connection.execute(f"SET temp_directory = '{folder}'")
    a, b = (f"'{folder / name}'" for name in FILES)
    if columns is None:
        described = connection.execute(f"DESCRIBE SELECT * FROM {a}").fetchall()  # noqa: S608 - ours
        columns = tuple(row[0] for row in described if row[0] not in KEYS)
    same_key = " AND ".join(f"a.{key} = b.{key}" for key in KEYS)
    differs = " OR ".join(f"a.{name} IS DISTINCT FROM b.{name}" for name in columns)
    both = ", ".join(f"a.{name} AS a_{name}, b.{name} AS b_{name}" for name in columns)
    keys = ", ".join(f"a.{key} AS a_{key}, b.{key} AS b_{key}" for key in KEYS)
    connection.execute(f"""
        CREATE TEMP TABLE differences AS
        SELECT {keys}, {both} FROM {a} AS a FULL JOIN {b} AS b ON {same_key}
        WHERE a.{KEYS[0]} IS NULL OR b.{KEYS[0]} IS NULL OR {differs}
    """)  # noqa: S608 - names of our own
    missing = f"a_{KEYS[0]} IS NULL OR b_{KEYS[0]} IS NULL"
    query = (
        f"SELECT COUNT(*) FILTER (NOT ({missing})), COUNT(*) FILTER ({missing}) FROM differences"  # noqa: S608 - ours
    )
    [(differing, alone)] = connection.execute(query).fetchall()
    return {"differing": int(differing), "missing": int(alone)}


def by_skillian_measures(folder: Path) -> Found:
    """Sums by the key, with totals, classes, the largest differences and the explanation."""
    from skillian.data.declare.saved import SavedComparison
    from skillian.data.declare.sources import SourceRegistry
    from skillian.data.services import DataServices

    sources = "".join(
        f"""
  {side}:
    connection: {side}
    table: {side}.parquet
    dimensions: {{{", ".join(f"{key}: {{column: {key}}}" for key in KEYS)}}}
    measures: {{{", ".join(f"{m}: {{column: {m}, aggregation: sum}}" for m in MEASURES)}}}
"""
        for side in "ab"
    )
    path = folder / "sources.yaml"
    connections = "".join(f"  {side}: files:///{side}.parquet\n" for side in "ab")
    path.write_text(f"connections:\n{connections}sources:{sources}")

    async def compare() -> Found:
        async with DataServices(SourceRegistry.load(path)) as services:
            result = await services.engine.compare(
                SavedComparison(name="measures", a="a", b="b", measures=MEASURES, align_on=KEYS)
            )
            await services.engine.explain(result.cache_key)
            classes = result.summary.classes
            differing = classes.minor_diff + classes.major_diff
            return {
                "differing": differing,
                "missing": classes.missing_in_a + classes.missing_in_b,
            }

    return asyncio.run(compare())


def by_skillian_rows(folder: Path) -> Found:
    """All columns of all rows by the key, with mismatches, pairs of values and samples."""
    from skillian.data.comparison.cache import Memory
    from skillian.data.declare.saved import SavedComparison
    from skillian.data.declare.sources import Connections
    from skillian.data.query.binding import Binder
    from skillian.data.query.relation import bare_tables
    from skillian.data.tables.engine import TableEngine

    async def compare() -> Found:
        registry, names = await bare_tables([str(folder / name) for name in FILES])
        async with Connections(registry) as connections:
            memory = Memory()
            engine = TableEngine(Binder(registry, connections), memory)
            result = await engine.compute(
                SavedComparison(name="rows", a=names[0], b=names[1], key=KEYS)
            )
            await memory.aclose()
        rows = result.rows
        return {"differing": rows.differing, "missing": rows.only_in_a + rows.only_in_b}

    return asyncio.run(compare())


def by_datacompy(folder: Path, columns: tuple[str, ...] | None) -> Found:
    """Datacompy on polars."""
    import datacompy
    import polars as pl

    names = None if columns is None else [*KEYS, *columns]
    a, b = (pl.read_parquet(folder / name, columns=names) for name in FILES)
    compared = datacompy.PolarsCompare(a, b, join_columns=[*KEYS])
    # What its own comparison of all columns has found.
    rows: Any = compared.intersect_rows
    matches = [name for name in rows.columns if name.endswith("_match")]
    differing = int(rows.select(~pl.all_horizontal(matches)).sum().item())
    return {
        "differing": differing,
        "missing": len(compared.df1_unq_rows) + len(compared.df2_unq_rows),
    }


WAYS: dict[str, Callable[[Path], Found]] = {
    "sql measures": lambda folder: by_hand(folder, MEASURES),
    "sql rows": lambda folder: by_hand(folder, None),
    "skillian measures": by_skillian_measures,
    "skillian rows": by_skillian_rows,
    "datacompy measures": lambda folder: by_datacompy(folder, MEASURES),
    "datacompy rows": lambda folder: by_datacompy(folder, None),
}


def main(way: str, folder: str) -> None:
    """Measure one run, after one on two small files."""
    go = WAYS[way]
    go(Path(folder) / "small")
    gc.collect()
    start = time.process_time()
    found = go(Path(folder))
    seconds = time.process_time() - start
    lines = Path("/proc/self/status").read_text().splitlines()
    [peak] = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    print(json.dumps({"seconds": seconds, "peak": int(peak) / 1024, "found": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
