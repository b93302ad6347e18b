"""This project's comparison of whole tables; the process has compared a little before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from skillian.connectors.base import ArrowBatch, StateConnector
from skillian.connectors.duckdb.connector import DuckDBConnector
from skillian.connectors.postgres.connector import PostgresConnector
from skillian.data.comparison.cache import Memory
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import Connections
from skillian.data.query.binding import Binder
from skillian.data.query.relation import bare_tables
from skillian.data.results.result import ComparisonResult
from skillian.data.tables.engine import TableEngine

Found = dict[str, Any]
Go = Callable[[], Callable[[], Found]]

CONNECTORS = (DuckDBConnector, PostgresConnector, StateConnector)


class Travelled:
    """Counts the bytes that connectors of these kinds return."""

    def __init__(self, *kinds: type[Any]) -> None:
        self.bytes = 0
        for kind in kinds:
            self._count(kind)

    def _count(self, kind: type[Any]) -> None:
        original = kind.stream

        async def stream(
            connector: object, statement: str, parameters: Mapping[str, object]
        ) -> AsyncGenerator[ArrowBatch]:
            async for batch in original(connector, statement, parameters):
                self.bytes += batch.nbytes
                yield batch

        kind.stream = stream


def _case(a: str, b: str) -> Callable[[str, str], Go]:
    def prepare(folder: str, url: str) -> Go:
        places = {"folder": folder, "url": url}
        names = [each.format(**places) for each in (a, b)]
        asyncio.run(_compared([f"{folder}/small/{side}.parquet" for side in "ab"]))
        is_across = a.startswith("{url}") and not b.startswith("{url}")
        travelled = Travelled(*(CONNECTORS if is_across else ()))

        def go() -> Callable[[], Found]:
            result = asyncio.run(_compared(names))
            return lambda: {**_found(result), "bytes": travelled.bytes}

        return go

    return prepare


async def _compared(names: list[str]) -> ComparisonResult:
    registry, (a, b) = await bare_tables(names)
    async with Connections(registry) as connections:
        memory = Memory()
        engine = TableEngine(Binder(registry, connections), memory)
        try:
            return await engine.compute(SavedComparison(name="rows", a=a, b=b, key=("id",)))
        finally:
            await memory.aclose()


def _found(result: ComparisonResult) -> Found:
    rows = result.rows
    return {
        "differing": rows.differing,
        "only_in_a": rows.only_in_a,
        "only_in_b": rows.only_in_b,
        "repeated": rows.duplicate_keys_a + rows.duplicate_keys_b,
        "mismatches": {column.a: column.mismatches for column in result.columns},
    }


CASES = {
    "parquet": _case("{folder}/a.parquet", "{folder}/b.parquet"),
    "duckdb": _case("duckdb:///{folder}/tables.duckdb#a", "duckdb:///{folder}/tables.duckdb#b"),
    "postgres": _case("{url}#a", "{url}#b"),
    "same": _case("{url}#a", "duckdb:///{folder}/tables.duckdb#a"),
    "ranges": _case("{url}#a", "duckdb:///{folder}/tables.duckdb#ranges"),
    "across": _case("{url}#a", "duckdb:///{folder}/tables.duckdb#b"),
}
