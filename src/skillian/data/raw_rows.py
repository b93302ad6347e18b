"""Rows of a source as its table holds them."""

import asyncio
from collections.abc import Sequence

from sqlglot import exp

from skillian.connectors.base import ColumnType
from skillian.data import arrow, sql
from skillian.data.binding import BoundSource
from skillian.data.compile import Statement, prepare
from skillian.data.filters import Condition
from skillian.data.query import QueryResult
from skillian.data.selection import filtered_rows


async def raw_rows(
    source: BoundSource, where: Sequence[Condition], limit: int, *, in_order: bool
) -> QueryResult:
    """Return at most `limit` rows that keep the conditions, all of their columns.

    Without `in_order` the database gives those that it comes upon first.
    """
    statement = await asyncio.to_thread(_statement, source, where, limit, in_order)
    table = await source.connector.run(statement.text, statement.parameters)
    found = [tuple(row.values()) for row in arrow.rows(table)]
    return QueryResult(
        source=source.name,
        columns=tuple(source.columns),
        rows=tuple(found[:limit]),
        truncated=len(found) > limit,
        filters=tuple(where),
        sql=statement.text,
        parameters=statement.parameters,
    )


def _statement(
    source: BoundSource,
    where: Sequence[Condition],
    limit: int,
    in_order: bool,  # noqa: FBT001 - as above
) -> Statement:
    parameters = sql.Parameters()
    columns = {name: _shown(name, kind) for name, kind in source.columns.items()}
    select = filtered_rows(source, columns, where, parameters).limit(limit + 1, copy=False)
    if in_order:
        order = [exp.Ordered(this=sql.bare(name), nulls_first=False) for name in columns]
        select = select.order_by(*order, copy=False)
    return prepare(select, source.connector.dialect, parameters.values)


def _shown(name: str, kind: ColumnType) -> exp.Expr:
    """A column as it is; texts, binary floats and types unknown here as plain text."""
    value = sql.column(name, "source")
    return exp.cast(value, "TEXT") if kind.kind in {"text", "float", "other"} else value
