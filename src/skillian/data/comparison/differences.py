"""The groups that differ, kept in the workspace: from the rows themselves if their key is unique.

In DuckDB, joining rows with a unique key costs less than half of aggregating both sides. A look at
the first keys decides whether to try it, and the join proves that it may: a row that meets n rows
of the other side is in the join n times, so the join has as many rows of each side as the side
itself only if no key of both sides is repeated. Keys of one side, and keys that differ, would show
that they hold several. If the proof fails, both sides are aggregated. PostgreSQL joins rows
directly if the key contains the primary keys of both tables (see `place.py`).
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlglot import exp

from skillian.connectors.duckdb.workspace import Workspace
from skillian.data import sql
from skillian.data.comparison.groups import has_primary_keys, joined_groups, single_rows
from skillian.data.comparison.place import Place
from skillian.data.comparison.plan import ComparisonPlan, Side
from skillian.data.comparison.statement import (
    collapsed_columns,
    collapsed_statement,
    different_statement,
    key_columns,
)
from skillian.data.query.filters import filtered_rows
from skillian.data.sql import Statement, prepare
from skillian.data.sql.values import fetch
from skillian.errors import QueryError

FIRST_ROWS = 10_000
"""So many keys are looked for in all rows, to see whether keys are repeated."""
MOST_ALIKE = 4 * FIRST_ROWS
"""After so many rows with these keys, it is clear that keys are repeated."""


@dataclass(frozen=True, slots=True)
class Differences:
    """What the statement of a comparison returned, in tables of the workspace.

    Attributes:
        statement: The statement.
        collapsed: The table with its rows.
        different: The table of the groups that differ, with their classes.
    """

    statement: Statement
    collapsed: str
    different: str


async def keep_differences(place: Place, workspace: Workspace) -> tuple[Place, Differences]:
    """Run the comparison and keep the groups that differ.

    The place that is returned finds all groups as fast as the comparison did. Raises `QueryError`.
    """
    if place.engine.dialect == "duckdb" and not place.tables and not await _repeats(place):
        direct = await _of_rows(place, workspace)
        if direct is not None:
            groups = partial(joined_groups, place.plan, partial(single_rows, place.plan), "duckdb")
            return replace(place, groups=groups), await _rated(place.plan, *direct, workspace)
    statement = await asyncio.to_thread(
        lambda: place.statement(collapsed_statement(place.plan, place.pieces()))
    )
    table = await _stage(place, statement, workspace)
    return place, await _rated(place.plan, statement, table, workspace)


async def _of_rows(place: Place, workspace: Workspace) -> tuple[Statement, str] | None:
    """The statement that joins the rows, and its table; None if a key is not unique.

    There are at most as many joined rows as the sides have, so that keys that are not unique cannot
    fill the disk; the proof then fails. A limit that the statement itself computes would make it a
    tenth slower.
    """
    plan = place.plan
    sides = {"a": plan.a, "b": plan.b}
    counted = [sql.named(_row_count(plan, side), name) for name, side in sides.items()]
    # A file with another number of rows in the next statement would have been changed.
    [row] = await _ask(place, exp.Select(expressions=counted))
    counts = {name: int(row[name]) for name in sides}

    def direct() -> Statement:
        rows = partial(single_rows, plan, is_exact=False)
        relations = joined_groups(plan, rows, "duckdb")
        relations["groups"].limit(sum(counts.values()) + 1, copy=False)
        return place.statement(collapsed_statement(plan, relations, of_rows=True))

    statement = await asyncio.to_thread(direct)
    try:
        table = await _stage(place, statement, workspace)
    except QueryError:  # the aggregated way reports what is wrong, if it fails too
        return None
    if await _is_proven(table, counts, workspace):
        return statement, table
    await workspace.drop(table)
    return None


async def _is_proven(table: str, counts: Mapping[str, int], workspace: Workspace) -> bool:
    """Whether each key of the joined rows is unique on both sides, with these numbers of rows."""
    columns = ", ".join(
        f"SUM(rows_{side}) AS joined_{side}, MAX(rows_{side}) FILTER (same = 0) AS most_{side}"
        for side in counts
    )
    text = f'SELECT {columns} FROM "{table}"'  # noqa: S608 - our own names
    [row] = await fetch(workspace, Statement(text, {}))
    return all(
        (row[f"joined_{side}"] or 0) == count and (row[f"most_{side}"] or 0) <= 1
        for side, count in counts.items()
    )


def _row_count(plan: ComparisonPlan, side: Side) -> exp.Subquery:
    rows = filtered_rows(side.source, {}, side.where, plan.parameters)
    count = exp.Select(expressions=[exp.Count(this=exp.Star())])
    return count.from_(rows.subquery(sql.name("rows"), copy=False), copy=False).subquery(copy=False)


async def _rated(
    plan: ComparisonPlan, statement: Statement, table: str, workspace: Workspace
) -> Differences:
    tree = different_statement(plan, table)
    rated = await asyncio.to_thread(prepare, tree, workspace.dialect, plan.parameters.values)
    try:
        different = await workspace.create(rated.text, rated.parameters)
    except BaseException:
        await workspace.drop(table)
        raise
    return Differences(statement, table, different)


async def _stage(place: Place, statement: Statement, workspace: Workspace) -> str:
    if place.engine is workspace:
        return await workspace.create(statement.text, statement.parameters)
    batches = place.engine.stream(statement.text, statement.parameters)
    return await workspace.stage(collapsed_columns(place.plan), batches)


async def _repeats(place: Place) -> bool:
    """Whether a key of the first rows of a side is repeated; false for primary keys."""
    if has_primary_keys(place.plan):
        return False
    sides = (place.plan.a, place.plan.b)
    counts = await _ask(place, *[_repetitions(place.plan, side) for side in sides])
    return any(row["alone"] < row["rows"] for row in counts)


async def _ask(place: Place, first: exp.Select, *others: exp.Select) -> list[dict[str, Any]]:
    tree = exp.union(first, *others, distinct=False, copy=False) if others else first
    return await place.fetch(await asyncio.to_thread(place.statement, tree))


def _repetitions(plan: ComparisonPlan, side: Side) -> exp.Select:
    """How many rows have a key of the first rows, and how many of them share it with none.

    In data that is sorted by a key, DuckDB reads only the parts with these keys. It does so for
    keys that are equal, not for NULL; the proof counts rows with NULL in their keys, too.
    """
    first = _keys(plan, side).limit(FIRST_ROWS, copy=False)
    names = [key.name for key in key_columns(plan)]
    alike = exp.Select(expressions=[sql.column(name, "rows") for name in names])
    alike.from_(_keys(plan, side).subquery(sql.name("rows"), copy=False), copy=False)
    same = sql.all_of(
        exp.EQ(this=sql.column(name, "rows"), expression=sql.column(name, "first"))
        for name in names
    )
    alike.join(first.subquery(sql.name("first"), copy=False), on=same, join_type="semi", copy=False)
    alike.limit(MOST_ALIKE, copy=False)
    count = sql.named(exp.Count(this=exp.Star()), "rows")
    keys = exp.Select(expressions=[count])
    keys.from_(alike.subquery(sql.name("alike"), copy=False), copy=False)
    keys.group_by(*key_columns(plan), copy=False)
    rows = exp.Coalesce(this=exp.Sum(this=sql.bare("rows")), expressions=[sql.zero()])
    is_alone = exp.case().when(sql.equals(sql.bare("rows"), 1), sql.one(), copy=False)
    columns: list[exp.Expr] = [
        sql.named(exp.cast(rows, "BIGINT"), "rows"),
        sql.named(exp.Count(this=is_alone), "alone"),
    ]
    counts = exp.Select(expressions=columns)
    return counts.from_(keys.subquery(sql.name("grouped"), copy=False), copy=False)


def _keys(plan: ComparisonPlan, side: Side) -> exp.Select:
    values = {f"key_{index}": term.value for index, term in enumerate(side.keys)}
    return filtered_rows(side.source, values, side.where, plan.parameters)
