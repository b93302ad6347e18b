"""The groups of both sides: from their rows to one row per key, and where that is computed.

`groups` has the keys, rows_a, rows_b, and per measure a_<n> and b_<n>; where these may be NaN or
infinite also their codes xa_<n> and xb_<n>, with which a_<n> and b_<n> are NULL.

Where a database joins fast, `groups` is a full join of `side_a` and `side_b`, which have one row
per key: the aggregated rows, the rows themselves if their key is unique, or a copy of either. The
other databases have no full join, or none in which NULL keys match: there, the aggregated rows of
both sides are aggregated together.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sqlglot import exp

from skillian.connectors.duckdb.engine import Workspace, stored_type
from skillian.data import sql
from skillian.data.comparison.plan import ComparisonPlan, Relations, Side, key_columns
from skillian.data.query.binding import shared_engine
from skillian.data.query.filters import filtered_rows
from skillian.data.query.measures import COUNTS, code_of, code_of_one_row, finite, of_one_row
from skillian.data.sql import KeyColumn, Statement, prepare, same_key
from skillian.data.sql.values import StatementEngine, fetch
from skillian.tasks import Progress, together

JOINING = frozenset({"duckdb", "postgres"})
"""The dialects whose databases join both sides; the others aggregate them together."""
SIDES: tuple[str, str] = ("side_a", "side_b")
_COUNT = "row_count"


def joined_groups(
    plan: ComparisonPlan, sides: Callable[[], Relations], dialect: str, *, nulls_apart: bool = False
) -> Relations:
    """The relations up to `groups`: the `SIDES`, which have one row per key, and their join.

    With `nulls_apart`, a key with a NULL has a row for each side.
    """
    keys = [key.name for key in key_columns(plan)]
    columns: list[exp.Expr] = [
        sql.named(
            exp.Coalesce(this=sql.column(key, "side_a"), expressions=[sql.column(key, "side_b")]),
            key,
        )
        for key in keys
    ]
    for letter, side in zip("ab", SIDES, strict=True):
        for name, stored in _amounts(plan, letter).items():
            value: exp.Expr = sql.column(stored, side)
            if stored == _COUNT:
                value = exp.Coalesce(this=value, expressions=[sql.zero()])
            columns.append(sql.named(value, name))
    required = zip(keys, required_keys(plan), strict=True)
    key = [KeyColumn(name, is_required or nulls_apart) for name, is_required in required]
    groups = sql.select(columns, "side_a")
    same = same_key(key, *SIDES, dialect)
    groups.join(sql.table("side_b"), on=same, join_type="full", copy=False)
    return {**sides(), "groups": groups}


def required_keys(plan: ComparisonPlan) -> list[bool]:
    """Whether primary keys keep each column of the key from being NULL on both sides."""
    required = [side.source.table.required_key for side in (plan.a, plan.b)]
    pairs = zip(_stored_keys(plan.a), _stored_keys(plan.b), strict=True)
    return [a in required[0] and b in required[1] for a, b in pairs]


def has_primary_keys(plan: ComparisonPlan) -> bool:
    """Whether primary keys guarantee that no key is repeated on either side."""
    return all(
        side.source.table.primary_key
        and {*_stored_keys(side)}.issuperset(side.source.table.primary_key)
        for side in (plan.a, plan.b)
    )


def _stored_keys(side: Side) -> list[str]:
    """The column of each dimension of the key; empty for a value that is computed from it."""
    if side.source.definition.table is None:
        return [""] * len(side.keys)
    dimensions = [side.source.definition.dimensions[term.name] for term in side.keys]
    return [
        ""
        if each.type or each.normalise or each.values
        else side.source.column_of(each.column) or ""
        for each in dimensions
    ]


def grouped_sides(plan: ComparisonPlan) -> dict[str, exp.Query]:
    """Both sides aggregated."""
    return {name: grouped_side(plan, side) for name, side in _sides(plan).items()}


def single_rows(plan: ComparisonPlan, *, is_exact: bool = True) -> dict[str, exp.Query]:
    """Both sides as their rows, whose keys are unique.

    With `is_exact` amounts have the type of `grouped_sides`. Otherwise those of the same type on
    both sides keep it, which is narrower and faster to compare.
    """
    sides = _sides(plan).items()
    return {name: _single_rows(plan, side, is_exact=is_exact) for name, side in sides}


def staged_sides(tables: Mapping[str, str]) -> dict[str, exp.Query]:
    """Both sides as tables of the workspace that have the rows of `grouped_side`, by `SIDES`."""
    every = [exp.Star()]
    return {name: sql.select(every, tables[name]) for name in SIDES}


def _sides(plan: ComparisonPlan) -> dict[str, Side]:
    return dict(zip(SIDES, (plan.a, plan.b), strict=True))


def grouped_side(plan: ComparisonPlan, side: Side) -> exp.Select:
    """One side aggregated: the keys, row_count, and per measure total_<n>."""
    values = side.key_values
    keys = [sql.bare(name) for name in values]
    columns: list[exp.Expr] = [*keys, sql.named(exp.Count(this=exp.Star()), "row_count")]
    for index, (term, measure) in enumerate(zip(side.measures, plan.measures, strict=True)):
        value = sql.bare(f"value_{index}")
        code = None if term.code is None else sql.bare(f"code_{index}")
        columns.append(sql.named(finite(term, value, code, measure.scale), f"total_{index}"))
        values[f"value_{index}"] = term.value
        if term.code is not None:
            values[f"code_{index}"] = term.code
        if measure.has_code:
            special = code_of(term, value, code, measure.scale)
            columns.append(sql.named(_as_code(special), f"xtotal_{index}"))
    rows = filtered_rows(side.source, values, side.where, plan.parameters)
    select = sql.select(columns, rows, "rows")
    return select.group_by(*(key.copy() for key in keys), copy=False)


def _single_rows(plan: ComparisonPlan, side: Side, *, is_exact: bool) -> exp.Select:
    values = side.key_values
    values["row_count"] = sql.one()
    for index, (term, measure) in enumerate(zip(side.measures, plan.measures, strict=True)):
        value = of_one_row(term, term.value)
        types = {plan.a.measures[index].type.sql, plan.b.measures[index].type.sql}
        keeps = len(types) == 1 and measure.aggregation not in COUNTS and not is_exact
        values[f"total_{index}"] = value if keeps else sql.decimal(value, measure.scale)
        if measure.has_code:
            values[f"xtotal_{index}"] = _as_code(code_of_one_row(term, term.value, term.code))
    return filtered_rows(side.source, values, side.where, plan.parameters)


def grouped_together(plan: ComparisonPlan) -> Relations:
    """The relations up to `groups`: the groups of both sides, grouped, so that NULL keys match."""
    amounts = _amounts(plan, "a") | _amounts(plan, "b")
    halves: list[exp.Select] = []
    for letter, side in zip("ab", (plan.a, plan.b), strict=True):
        own, columns = _amounts(plan, letter), key_columns(plan)
        for name, stored in amounts.items():
            other = sql.zero() if stored == _COUNT else exp.Null()
            columns.append(sql.named(sql.bare(stored) if name in own else other, name))
        halves.append(sql.select(columns, grouped_side(plan, side), "side"))
    largest: dict[str, exp.Expr] = {name: exp.Max(this=sql.bare(name)) for name in amounts}
    for index, measure in enumerate(plan.measures):
        for name in (f"a_{index}", f"b_{index}"):  # PostgreSQL's MAX drops the scale
            largest[name] = sql.decimal(largest[name], measure.scale)
    columns = [*key_columns(plan), *(sql.named(each, name) for name, each in largest.items())]
    groups = sql.select(columns, "both").group_by(*key_columns(plan), copy=False)
    return {"both": exp.union(*halves, distinct=False, copy=False), "groups": groups}


def _amounts(plan: ComparisonPlan, letter: str) -> dict[str, str]:
    """The columns of `groups` about a side, and those of the side that they have."""
    names = {f"rows_{letter}": _COUNT}
    for index, measure in enumerate(plan.measures):
        for x in ("", "x") if measure.has_code else ("",):
            names[f"{x}{letter}_{index}"] = f"{x}total_{index}"
    return names


def _as_code(code: exp.Expr | None) -> exp.Expr:
    return exp.cast(exp.Null() if code is None else code, "BIGINT")


def key_rows(plan: ComparisonPlan) -> exp.Query:
    """The keys of all rows of both sides, with a row_count of 1."""
    halves: list[exp.Query] = []
    for side in (plan.a, plan.b):
        values = side.key_values
        values["row_count"] = sql.one()
        halves.append(filtered_rows(side.source, values, side.where, plan.parameters))
    return exp.union(*halves, distinct=False, copy=False)


def staged_key_rows(plan: ComparisonPlan, tables: Mapping[str, str]) -> exp.Query:
    """The keys of the groups of both staged sides, with their number of rows."""
    columns = [*key_columns(plan), sql.bare("row_count")]
    halves = [sql.select([each.copy() for each in columns], tables[name]) for name in SIDES]
    return exp.union(*halves, distinct=False, copy=False)


@dataclass(frozen=True, slots=True)
class Place:
    """A comparison's groups as relations of one engine.

    Attributes:
        engine: Runs statements over the groups.
        groups: Returns the relations, one row for each group. They are built on demand: their
            trees are large, and a place is cached with its comparison.
        pieces: Returns the relations with a group in one or several rows, to be added up.
        rows: Returns the keys of the rows of both sides, each with its number in `row_count`.
        plan: The plan with the names that the engine knows.
        queries: The statements that fetched the sides, by source; empty if both are in one
            database.
        tables: The tables of the workspace, to be dropped with the comparison.
    """

    engine: StatementEngine
    groups: Callable[[], Relations]
    pieces: Callable[[], Relations]
    rows: Callable[[], exp.Query]
    plan: ComparisonPlan
    queries: Mapping[str, Statement] = field(default_factory=dict[str, Statement])
    tables: tuple[str, ...] = ()

    def statement(self, tree: exp.Expr) -> Statement:
        """A statement over the groups in the engine's dialect."""
        return prepare(tree, self.engine.dialect, self.plan.parameters.values)

    async def fetch(self, statement: Statement) -> list[dict[str, Any]]:
        """Run a statement over the groups and return its few rows."""
        return await fetch(self.engine, statement)


async def choose_place(
    plan: ComparisonPlan, workspace: Workspace, progress: Progress | None = None
) -> Place:
    """The place: an engine that reads both sides, or the workspace after staging them."""
    shared = await shared_engine(plan.a.source, plan.b.source)
    if shared is not None:
        a, b = replace(plan.a, source=shared.a), replace(plan.b, source=shared.b)
        plan = replace(plan, a=a, b=b)
        groups, pieces = _in_one_database(plan, shared.engine.dialect)
        return Place(shared.engine, groups, pieces, partial(key_rows, plan), plan)
    sides = _sides(plan)
    queries = await asyncio.to_thread(
        lambda: {
            name: prepare(
                grouped_side(plan, side), side.source.connector.dialect, plan.parameters.values
            )
            for name, side in sides.items()
        }
    )
    staged = await together(
        *(_stage(plan, side, queries[name], workspace, progress) for name, side in sides.items())
    )
    tables = dict(zip(sides, staged, strict=True))
    by_source = {side.source.name: queries[name] for name, side in sides.items()}
    groups = partial(joined_groups, plan, partial(staged_sides, tables), workspace.dialect)
    rows = partial(staged_key_rows, plan, tables)
    return Place(workspace, groups, groups, rows, plan, by_source, tuple(staged))


def _in_one_database(
    plan: ComparisonPlan, dialect: str
) -> tuple[Callable[[], Relations], Callable[[], Relations]]:
    """The groups, and their pieces."""
    if dialect not in JOINING:
        groups = partial(grouped_together, plan)
        return groups, groups
    if dialect != "postgres":
        groups = partial(joined_groups, plan, partial(grouped_sides, plan), dialect)
        return groups, groups
    # It joins sorted sides by equal values in a fraction of the time that any test of NULL takes.
    sides = partial(single_rows if has_primary_keys(plan) else grouped_sides, plan)
    pieces = partial(joined_groups, plan, sides, dialect, nulls_apart=True)
    return pieces if all(required_keys(plan)) else partial(grouped_together, plan), pieces


async def _stage(
    plan: ComparisonPlan,
    side: Side,
    query: Statement,
    workspace: Workspace,
    progress: Progress | None,
) -> str:
    columns = {
        f"key_{index}": stored_type(term.type.kind, term.type.scale)
        for index, term in enumerate(side.keys)
    }
    columns["row_count"] = "BIGINT"
    for index, measure in enumerate(plan.measures):
        columns[f"total_{index}"] = stored_type("decimal", measure.scale)
        if measure.has_code:
            columns[f"xtotal_{index}"] = "BIGINT"
    batches = side.source.connector.stream(query.text, query.parameters)
    report = None if progress is None else partial(progress, side.source.name)
    return await workspace.stage(columns, batches, report)
