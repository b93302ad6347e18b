"""A thousand comparisons with different filters in one process: what it keeps, and its memory."""

from __future__ import annotations

import asyncio
import gc
import json
import tempfile
from pathlib import Path

import duckdb

from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices

COMPARISONS = 1000
EVERY = 200
SIDE = """
  {name}:
    connection: c
    table: {name}
    dimensions: {{company: {{column: company}}, account: {{column: account}}}}
    measures: {{amount: {{column: amount, aggregation: sum}}}}
"""
SOURCES = "connections: {c: 'duckdb:///test.duckdb'}\nsources:" + "".join(
    SIDE.format(name=name) for name in "ab"
)
SCRIPT = """
CREATE TABLE a AS
    SELECT i % 1000 AS company, i % 7 AS account, (i * 0.01)::DECIMAL(17, 2) AS amount
    FROM range(20000) t (i);
CREATE TABLE b AS
    SELECT company, account, CASE WHEN account = 3 THEN amount + 1 ELSE amount END AS amount FROM a
"""


def resident_mb() -> float:
    """Memory of this process now."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


async def main(folder: Path) -> None:
    """Compare, and print after every two hundred."""
    with duckdb.connect(folder / "test.duckdb") as made:
        made.execute(SCRIPT)
    file = folder / "sources.yaml"
    file.write_text(SOURCES)
    print("| comparisons | memory | their results as JSON |\n|--:|--:|--:|")
    characters = 0
    async with DataServices(SourceRegistry.load(file)) as services:
        for number in range(1, COMPARISONS + 1):
            result = await services.engine.compare(
                SavedComparison(
                    name="measures",
                    a="a",
                    b="b",
                    measures=("amount",),
                    align_on=("account",),
                    filters={"company": number - 1},
                )
            )
            characters += len(json.dumps(result.to_dict()))
            if number % 10 == 0:
                await services.engine.explain(result.cache_key)
            if number % EVERY == 0:
                print(f"| {number:,} | {resident_mb():,.0f} MB | {characters / 2**20:.1f} MB |")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made_in:
        asyncio.run(main(Path(made_in)))
