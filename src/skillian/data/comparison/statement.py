"""The statement of a comparison, and the groups that differ, kept in the workspace.

groups           one row per key: rows_a, rows_b, and per measure a_<n> and b_<n>
collapsed        the groups that differ, and one row for all that are equal on both sides
equal            counts and sums of the equal groups, as one row
classified       the others with status_<n> and gap_<n> (b - a, an absent side as 0) per measure
different        with the status of the group: the worst of its measures

One statement sees one snapshot of both sides. Its rows, `collapsed`, are kept in the workspace,
where further statements read them.

In DuckDB, joining rows with a unique key costs less than half of aggregating both sides. A look at
the first keys decides whether to try it, and the join proves that it may: a row that meets n rows
of the other side is in the join n times, so the join has as many rows of each side as the side
itself only if no key of both sides is repeated. Keys of one side, and keys that differ, would show
that they hold several. If the proof fails, both sides are aggregated. PostgreSQL joins rows
directly if the key contains the primary keys of both tables (see `groups.py`).
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from sqlglot import exp

from skillian.connectors.duckdb.engine import Workspace, stored_type
from skillian.data import sql
from skillian.data.comparison.groups import Place, has_primary_keys, joined_groups, single_rows
from skillian.data.comparison.plan import ComparisonPlan, MeasurePlan, Relations, Side, key_columns
from skillian.data.declare.definitions import Limits
from skillian.data.query.filters import filtered_rows
from skillian.data.sql import Statement, prepare
from skillian.data.sql.values import fetch
from skillian.errors import QueryError

FIRST_ROWS = 10_000
"""So many keys are looked for in all rows, to see whether keys are repeated."""
MOST_ALIKE = 4 * FIRST_ROWS
"""After so many rows with these keys, it is clear that keys are repeated."""
_MISSING = """
WHEN "rows_a" = 0 THEN 'missing_in_a' WHEN "rows_b" = 0 THEN 'missing_in_b'
"""
# Most groups are equal and need no further test.
_CLASS = f"""
CASE {_MISSING} WHEN a = b THEN 'match'
WHEN none_a AND none_b THEN 'match' WHEN none_a OR none_b THEN 'major_diff' {{codes}}
WHEN is_match THEN 'match' WHEN is_minor THEN 'minor_diff' ELSE 'major_diff' END
"""
_OF_CODES = """
WHEN xa = xb THEN 'match' WHEN NOT xa IS NULL OR NOT xb IS NULL THEN 'major_diff'
"""


def collapsed_statement(
    plan: ComparisonPlan, groups: Relations, *, of_rows: bool = False
) -> exp.Select:
    """The statement of the groups that differ, and of one row for all that are equal.

    The groups are scanned once, and no database has to store the equal ones.

    Args:
        plan: What is compared.
        groups: The relations up to `groups`, in which a group may have one row for each side.
        of_rows: Whether a group is a pair of rows, or a row without a partner. Sums that follow
            from others are then not computed: the rows of a group are alike in what they count,
            and the equal groups in their amounts.
    """
    same = sql.bare("same")
    keys = [sql.template('CASE WHEN "same" = 0 THEN key END', key=key) for key in key_columns(plan)]
    columns: list[exp.Expr] = [same]
    for index, (key, term) in enumerate(zip(keys, plan.a.keys, strict=True)):
        value = sql.decimal(key, term.type.scale) if term.type.kind == "decimal" else key.copy()
        columns.append(sql.named(value, f"key_{index}"))
    together = exp.Count(this=exp.Star())
    repeated = exp.Count(this=sql.template('CASE WHEN "rows_a" > 1 THEN 1 END'))
    columns += [
        sql.named(together, "together"),
        sql.named(sql.zero() if of_rows else repeated, "repeated"),
    ]
    rows = "CAST(n * ANY_VALUE(v) AS BIGINT)" if of_rows else "CAST(SUM(v) AS BIGINT)"
    for name in ("rows_a", "rows_b"):
        columns.append(sql.named(sql.template(rows, n=together, v=sql.bare(name)), name))
    total_b = exp.AnyValue if of_rows else exp.Sum
    for index, measure in enumerate(plan.measures):
        for name, total in ((f"a_{index}", exp.Sum), (f"b_{index}", total_b)):
            amount = total(this=sql.bare(name))
            columns.append(sql.named(sql.decimal(amount, measure.scale), name))
        codes = (("xa", exp.Max, "xa"), ("xb", exp.Max, "xb"), ("low", exp.Min, "xa"))
        for name, most, code in codes if measure.has_code else ():
            columns.append(sql.named(most(this=sql.bare(f"{code}_{index}")), f"{name}_{index}"))
    select = sql.select(columns, _marked(plan), "marked")
    return with_relations(select.group_by(same.copy(), *keys, copy=False), groups)


def collapsed_columns(plan: ComparisonPlan) -> dict[str, str]:
    """The columns of `collapsed_statement`, and their types in the workspace."""
    columns = {"same": "INTEGER"}
    for index, term in enumerate(plan.a.keys):
        columns[f"key_{index}"] = stored_type(term.type.kind, term.type.scale)
    columns |= dict.fromkeys(("together", "repeated", "rows_a", "rows_b"), "BIGINT")
    for index, measure in enumerate(plan.measures):
        number = stored_type("decimal", measure.scale)
        columns |= {f"a_{index}": number, f"b_{index}": number}
        if measure.has_code:
            columns |= dict.fromkeys((f"xa_{index}", f"xb_{index}", f"low_{index}"), "BIGINT")
    return columns


def _marked(plan: ComparisonPlan) -> exp.Select:
    """The groups with `same`: whether all numbers are equal on both sides."""
    pairs = [("rows_a", "rows_b")]
    for index, measure in enumerate(plan.measures):
        pairs += [(f"xa_{index}", f"xb_{index}")] if measure.has_code else []
        pairs.append((f"a_{index}", f"b_{index}"))
    tests = [exp.NullSafeEQ(this=sql.bare(a), expression=sql.bare(b)) for a, b in pairs]
    same = sql.template("CASE WHEN test THEN 1 ELSE 0 END", test=sql.all_of(tests))
    columns = [exp.Star(), sql.named(same, "same")]
    select = sql.select(columns, "groups")
    select.meta["apart"] = True  # the result is small, which a query planner may not expect
    return select


def different_statement(plan: ComparisonPlan, table: str) -> exp.Select:
    """The groups that differ with their classes, from a table of `collapsed_statement`."""
    collapsed = sql.select([exp.Star()], table)
    collapsed.where(sql.equals(sql.bare("same"), 0), copy=False)
    return with_relations(
        _rated(plan), {"collapsed": collapsed, "classified": _classified(plan, "collapsed")}
    )


def rated(plan: ComparisonPlan, groups: Relations) -> Relations:
    """The relations up to `rated`: all groups with their classes."""
    return {**groups, "classified": _classified(plan, "groups"), "rated": _rated(plan)}


def with_relations(statement: exp.Select, relations: Relations) -> exp.Select:
    """The statement with these relations as its WITH clause."""
    for name, query in relations.items():
        statement.with_(sql.name(name), as_=query, copy=False)
    return statement


def _classified(plan: ComparisonPlan, relation: str) -> exp.Select:
    columns: list[exp.Expr] = [exp.Star()]
    for index, measure in enumerate(plan.measures):
        columns.append(sql.named(_status(index, measure, plan.parameters), f"status_{index}"))
        a, b = sql.bare(f"a_{index}"), sql.bare(f"b_{index}")
        gap = sql.template("COALESCE(b, 0) - COALESCE(a, 0)", a=a, b=b)
        columns.append(sql.named(gap, f"gap_{index}"))
    return sql.select(columns, relation)


def _status(index: int, measure: MeasurePlan, parameters: sql.BoundValues) -> exp.Expr:
    values = {name: sql.bare(f"{name}_{index}") for name in ("a", "b", "xa", "xb")}
    a, b, limits = values["a"], values["b"], measure.thresholds
    return sql.template(
        _CLASS.format(codes=_OF_CODES if measure.has_code else ""),
        none_a=absent(index, measure, "a"),
        none_b=absent(index, measure, "b"),
        is_match=_within(a, b, limits.match, parameters),
        is_minor=_within(a, b, limits.minor_diff, parameters),
        **values,
    )


def _within(a: exp.Expr, b: exp.Expr, limits: Limits, parameters: sql.BoundValues) -> exp.Expr:
    """The test that each stated limit is met.

    The terms are cross-multiplied, since a quotient would be a binary float. For a = 0 there is no
    percentage: a stated absolute limit decides alone, and without one only 0 is within the limits.
    """
    tests: list[str] = []
    values: dict[str, exp.Expr] = {"a": a, "b": b}
    if limits.absolute is not None:
        values["most"] = parameters.bind(limits.absolute)
        tests.append("ABS(b - a) <= most")
    if limits.percentage is not None:
        values["share"] = parameters.bind(limits.percentage)
        relative = "ABS(b - a) * 100 <= share * ABS(a)"
        tests.append(f"(a = 0 OR {relative})" if tests else relative)
    return sql.template(" AND ".join(tests), **values)


def _rated(plan: ComparisonPlan) -> exp.Select:
    statuses = [sql.bare(f"status_{index}") for index in range(len(plan.measures))]
    status: exp.Expr = statuses[0]
    if len(statuses) > 1:
        status = sql.template(
            f"CASE {_MISSING} WHEN any_major THEN 'major_diff' WHEN any_minor THEN 'minor_diff'"
            " ELSE 'match' END",
            any_major=sql.any_of(sql.is_text(each, "major_diff") for each in statuses),
            any_minor=sql.any_of(sql.is_text(each, "minor_diff") for each in statuses),
        )
    return sql.select([exp.Star(), sql.named(status, "status")], "classified")


def absent(index: int, measure: MeasurePlan, side: str) -> exp.Expr:
    """The test that one side of a measure has no value: neither a number nor NaN."""
    tests = [sql.is_null(sql.bare(f"{side}_{index}"))]
    tests += [sql.is_null(sql.bare(f"x{side}_{index}"))] if measure.has_code else []
    return exp.Paren(this=sql.all_of(tests))


def largest_first(plan: ComparisonPlan) -> list[exp.Expr]:
    """The order by the size of the first measure's gap; ties are ordered by key."""
    size = exp.Ordered(this=exp.Abs(this=sql.bare("gap_0")), desc=True)
    return [size, *(exp.Ordered(this=key, nulls_first=False) for key in key_columns(plan))]


async def stage_groups(place: Place, workspace: Workspace) -> tuple[Place, Statement, str]:
    """Run the statement of a comparison: it, and the table that has its rows.

    The place that is returned finds all groups as fast as the comparison did. Raises `QueryError`.
    """
    if place.engine.dialect == "duckdb" and not place.tables and not await _repeats(place):
        direct = await _of_rows(place, workspace)
        if direct is not None:
            groups = partial(joined_groups, place.plan, partial(single_rows, place.plan), "duckdb")
            return replace(place, groups=groups), *direct
    statement = await asyncio.to_thread(
        lambda: place.statement(collapsed_statement(place.plan, place.pieces()))
    )
    return place, statement, await _stage(place, statement, workspace)


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
    return sql.select([exp.Count(this=exp.Star())], rows, "rows").subquery(copy=False)


async def classify(plan: ComparisonPlan, table: str, workspace: Workspace) -> str:
    """The table with the groups that differ and their classes, of those that `table` has."""
    tree = different_statement(plan, table)
    rated = await asyncio.to_thread(prepare, tree, workspace.dialect, plan.parameters.values)
    return await workspace.create(rated.text, rated.parameters)


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
    alike = sql.select([sql.column(name, "rows") for name in names], _keys(plan, side), "rows")
    same = sql.all_of(
        exp.EQ(this=sql.column(name, "rows"), expression=sql.column(name, "first"))
        for name in names
    )
    alike.join(first.subquery(sql.name("first"), copy=False), on=same, join_type="semi", copy=False)
    alike.limit(MOST_ALIKE, copy=False)
    count = sql.named(exp.Count(this=exp.Star()), "rows")
    keys = sql.select([count], alike, "alike")
    keys.group_by(*key_columns(plan), copy=False)
    columns = [
        sql.named(sql.template('CAST(COALESCE(SUM("rows"), 0) AS BIGINT)'), "rows"),
        sql.named(sql.template('COUNT(CASE WHEN "rows" = 1 THEN 1 END)'), "alone"),
    ]
    return sql.select(columns, keys, "grouped")


def _keys(plan: ComparisonPlan, side: Side) -> exp.Select:
    return filtered_rows(side.source, side.key_values, side.where, plan.parameters)
