"""Two sources in one engine, so that a single statement joins them where they are stored."""

from collections.abc import AsyncGenerator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import NamedTuple

from sqlglot import exp

from skillian.connectors.base import Connector
from skillian.connectors.dialects import replaced
from skillian.connectors.snapshots import HoldsState, NoticesChanges
from skillian.data import sql
from skillian.data.query.binding import BoundSource
from skillian.data.sql.values import StatementEngine


@asynccontextmanager
async def one_state(a: BoundSource, b: BoundSource) -> AsyncGenerator[tuple[BoundSource, ...]]:
    """Yield both sources so that all statements of a source read one state of its tables.

    A database that both are in shows them the same state. Raises `QueryError` at the end if files
    have changed. ClickHouse, Spark and databases by a DB-API driver hold no state: each statement
    reads that of its start.
    """
    async with AsyncExitStack() as stack:
        opened: dict[int, Connector] = {}
        # In one order for all comparisons, so that no two hold what the other one waits for.
        for connector in sorted({a.connector, b.connector}, key=id):
            opened[id(connector)] = connector
            if isinstance(connector, HoldsState):
                opened[id(connector)] = await stack.enter_async_context(connector.one_state())
        await stack.enter_async_context(unchanged(a, b))
        yield tuple(replace(source, connector=opened[id(source.connector)]) for source in (a, b))


@asynccontextmanager
async def unchanged(a: BoundSource, b: BoundSource) -> AsyncGenerator[None]:
    """Raise `QueryError` at the end if files of a source have changed, which it names."""
    async with AsyncExitStack() as stack:
        for source in (a, b):
            if isinstance(source.connector, NoticesChanges):
                tables = _tables(source)
                await stack.enter_async_context(source.connector.unchanged(tables, source.name))
        yield


class SharedEngine(NamedTuple):
    """An engine that reads two sources, whose relations have the names that it knows."""

    engine: StatementEngine
    a: BoundSource
    b: BoundSource


async def shared_engine(a: BoundSource, b: BoundSource) -> SharedEngine | None:
    """The engine that reads both sources; None if their rows have to be copied.

    This is the database that both are in. Files and DuckDB databases share a DuckDB that reads both
    where they are. Raises `QueryError` for files that can no longer be read.
    """
    if a.connector is b.connector:
        return SharedEngine(a.connector, a, b)
    if a.connector.dialect != "duckdb" or b.connector.dialect != "duckdb":
        return None
    from skillian.connectors.duckdb.joint import JointEngine, Mountable  # noqa: PLC0415 - loads DuckDB

    if not isinstance(a.connector, Mountable) or not isinstance(b.connector, Mountable):
        return None
    # With a space, so that no schema is likely to have the same name, which would be ambiguous.
    names = ("side a", "side b")
    members = {
        name: (connector, _tables(source))
        for name, connector, source in zip(names, (a.connector, b.connector), (a, b), strict=True)
    }
    engine = JointEngine(members)
    if not await engine.is_possible():
        return None
    return SharedEngine(engine, *(_named(*each) for each in zip((a, b), names, strict=True)))


def _tables(source: BoundSource) -> Collection[str]:
    return {table.name for table in source.relation.find_all(exp.Table)} - _own(source)


def _own(source: BoundSource) -> set[str]:
    """The names that the source's query defines itself."""
    return {cte.alias for cte in source.relation.find_all(exp.CTE)}


def _named(source: BoundSource, catalogue: str) -> BoundSource:
    """The source with its tables named in this catalogue."""
    own = _own(source)

    def change(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Table) or (not node.db and node.name in own):
            return node
        table = node.copy()
        # Without a schema, the table is in the default schema of the catalogue.
        table.set("catalog" if node.db else "db", sql.name(catalogue))
        return table

    return replace(source, relation=replaced(source.relation, change))
