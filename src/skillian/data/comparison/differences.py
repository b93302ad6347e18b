"""The groups that differ, kept in the workspace: from the rows themselves if their key is unique.

Rows with a unique key are joined as they are, which costs a fraction of aggregating both sides. The
same statement proves that they may be. A row that meets n rows of the other side is in the join n
times; so the join has as many rows of each side as the side itself only if no key of both sides is
repeated.
Keys of one side, and keys that differ, would show that they hold several. If the proof fails, the
rows whose key is repeated are aggregated, and the others joined; where many keys are repeated, both
sides are aggregated. PostgreSQL joins rows directly if the key contains the primary key of both
tables. That is not the proof: a primary key does not reach the tables that inherit from it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlglot import exp

from skillian.connectors.duckdb.workspace import Workspace
from skillian.data import sql
from skillian.data.comparison.collapsed import (
    COUNTED,
    collapsed_columns,
    collapsed_statement,
    counted_statement,
)
from skillian.data.comparison.groups import (
    JOINING,
    groups_direct,
    groups_mixed,
    pieces_direct,
    pieces_unique,
    row_count,
)
from skillian.data.comparison.place import Place, fetch
from skillian.data.comparison.plan import ComparisonPlan, Side
from skillian.data.comparison.statement import (
    Relations,
    different_statement,
    key_columns,
    summary_statement,
)
from skillian.data.query.filters import filtered_rows
from skillian.data.sql import Statement, prepare
from skillian.data.sql.values import python_rows
from skillian.errors import QueryError

FIRST_ROWS = 10_000
"""So many keys are looked for in all rows, to see whether keys are repeated."""
MOST_ALIKE = 4 * FIRST_ROWS
"""After so many rows with these keys, it is clear that keys are repeated."""
FEW = 0.1
"""Up to this share of rows with a repeated key, the other rows are joined apart from them."""
_DIRECT = frozenset({"duckdb"})
"""Dialects whose engines join rows on keys with NULL, and find a few keys fast."""


Pieces = Callable[[ComparisonPlan], Relations]


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
    repeated = await _repeated_share(place)
    statement = await _direct_statement(place, repeated)
    if statement is not None:
        table = await _stage_direct(place, statement, workspace)
        if table is not None:
            if place.engine.dialect in _DIRECT:
                place = replace(place, groups=partial(groups_direct, place.plan))
            return place, await _rated(place.plan, statement, table, workspace)
    if place.engine.dialect in _DIRECT and repeated <= FEW:
        groups = partial(groups_mixed, place.plan)
        place = replace(place, groups=groups, pieces=groups)
    statement = await asyncio.to_thread(
        lambda: place.statement(collapsed_statement(place.plan, place.pieces()))
    )
    table = await _stage(place, statement, workspace)
    return place, await _rated(place.plan, statement, table, workspace)


async def fetch_summary(
    plan: ComparisonPlan, differences: Differences, workspace: Workspace, top: int
) -> list[dict[str, Any]]:
    """The rows of the summary, each with one of the top differences of each measure."""
    tree = summary_statement(plan, differences.collapsed, differences.different, top)
    statement = await asyncio.to_thread(prepare, tree, workspace.dialect, plan.parameters.values)
    return await fetch(workspace, statement)


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


async def _direct_statement(place: Place, repeated: float) -> Statement | None:
    """The statement that joins the rows, if the keys are likely to be unique."""
    plan = place.plan
    counts: list[exp.Expr] = [row_count(plan, side) for side in (plan.a, plan.b)]
    if place.engine.dialect in _DIRECT:
        if repeated:
            return None
        # A file with another number of rows in the next statement would have been changed.
        [row] = await _ask(place, exp.Select(expressions=[*map(sql.named, counts, "ab")]))
        counts = [exp.Literal.number(int(row[side])) for side in "ab"]
        pieces = pieces_direct(plan, most=int(row["a"]) + int(row["b"]) + 1)
    elif place.engine.dialect in JOINING and _have_primary_keys(plan):
        pieces = pieces_unique(plan)
    else:
        return None
    is_joined = place.engine.dialect in _DIRECT
    tree = counted_statement(plan, pieces, counts, is_joined=is_joined)
    return await asyncio.to_thread(place.statement, tree)


async def _stage_direct(place: Place, statement: Statement, workspace: Workspace) -> str | None:
    """The table of the joined rows; None if a key is not unique, or if they do not join."""
    try:
        table = await _stage(place, statement, workspace)
    except QueryError:  # the aggregated way reports what is wrong, if it fails too
        return None
    if await _is_proven(table, workspace):
        return table
    await workspace.drop(table)
    return None


async def _is_proven(table: str, workspace: Workspace) -> bool:
    """Whether every key in the table of `counted_statement` is unique on each side."""
    joined = exp.NEQ(this=sql.bare("same"), expression=exp.Literal.number(COUNTED))
    differs = sql.equals(sql.bare("same"), 0)
    columns: list[exp.Expr] = []
    for side in "ab":
        rows = sql.bare(f"rows_{side}")
        for name, test, total in (
            ("joined", joined, exp.Sum),
            ("counted", sql.negated(joined), exp.Sum),
            ("most", differs, exp.Max),
        ):
            value = total(this=exp.case().when(test.copy(), rows.copy(), copy=False))
            columns.append(sql.named(value, f"{name}_{side}"))
    select = exp.Select(expressions=columns).from_(sql.table(table), copy=False)
    [row] = python_rows(await workspace.run(select.sql(workspace.dialect), {}))
    return all(
        (row[f"joined_{side}"] or 0) == row[f"counted_{side}"] and (row[f"most_{side}"] or 0) <= 1
        for side in "ab"
    )


def _have_primary_keys(plan: ComparisonPlan) -> bool:
    return all(_has_primary_key(side) for side in (plan.a, plan.b))


def _has_primary_key(side: Side) -> bool:
    """Whether the key contains the primary key of the side's table, as it is stored."""
    source, table = side.source, side.source.table
    if source.definition.table is None or table is None or not table.primary_key:
        return False
    dimensions = [source.definition.dimensions[term.name] for term in side.keys]
    stored = {
        each.column.casefold()
        for each in dimensions
        if not (each.type or each.normalise or each.values)
    }
    return {name.casefold() for name in table.primary_key} <= stored


async def _repeated_share(place: Place) -> float:
    """The share of rows whose key is repeated, among those with the keys of the first rows.

    That of staged sides is 1, because their groups need not be joined otherwise; that of a primary
    key, and of a database where it makes no difference, is 0.
    """
    if place.tables:
        return 1
    if place.engine.dialect not in _DIRECT or _have_primary_keys(place.plan):
        return 0
    sides = (place.plan.a, place.plan.b)
    counts = await _ask(place, *[_repetitions(place.plan, side) for side in sides])
    return max(1 - row["alone"] / row["rows"] if row["rows"] else 0 for row in counts)


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
