"""The first steps of the comparison statement: from the rows of both sides to one row per key.

`groups` has the keys, rows_a, rows_b, and per measure a_<n> and b_<n>; where these may be NaN or
infinite also their codes xa_<n> and xb_<n>, with which a_<n> and b_<n> are NULL.

Where a database joins fast, `groups` is a full join of `side_a` and `side_b`, which have one row
per key: the aggregated rows, the rows themselves if their key is unique, or a copy of either. The
other databases have no full join, or none in which NULL keys match: there, the rows of both sides
are aggregated together.
"""

from collections.abc import Callable, Mapping

from sqlglot import exp

from skillian.data import sql
from skillian.data.comparison.plan import ComparisonPlan, Side
from skillian.data.comparison.statement import Relations, key_columns
from skillian.data.join import KeyColumn, same_key
from skillian.data.query.filters import filtered_rows
from skillian.data.query.measures import COUNTS, code_of, code_of_one_row, finite, of_one_row

JOINING = frozenset({"duckdb", "postgres"})
"""The dialects whose databases join both sides; the others aggregate them together."""
SIDES: tuple[str, str] = ("side_a", "side_b")


def joined_groups(
    plan: ComparisonPlan,
    sides: Callable[[], Relations],
    dialect: str,
    *,
    nulls_apart: bool = False,
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
    for side in "ab":
        count = exp.Coalesce(this=sql.column("row_count", f"side_{side}"), expressions=[sql.zero()])
        columns.append(sql.named(count, f"rows_{side}"))
    for index, measure in enumerate(plan.measures):
        columns += [
            sql.named(sql.column(f"{x}total_{index}", f"side_{side}"), f"{x}{side}_{index}")
            for side in "ab"
            for x in (("", "x") if measure.has_code else ("",))
        ]
    required = zip(keys, required_keys(plan), strict=True)
    key = [KeyColumn(name, is_required or nulls_apart) for name, is_required in required]
    groups = exp.Select(expressions=columns).from_(sql.table("side_a"), copy=False)
    same = same_key(key, *SIDES, dialect)
    groups.join(sql.table("side_b"), on=same, join_type="full", copy=False)
    return {**sides(), "groups": groups}


def required_keys(plan: ComparisonPlan) -> list[bool]:
    """Whether primary keys keep each column of the key from being NULL on both sides."""
    required = [
        frozenset[str]() if side.source.table is None else side.source.table.required_key
        for side in (plan.a, plan.b)
    ]
    pairs = zip(_stored_keys(plan.a), _stored_keys(plan.b), strict=True)
    return [a in required[0] and b in required[1] for a, b in pairs]


def has_primary_keys(plan: ComparisonPlan) -> bool:
    """Whether primary keys guarantee that no key is repeated on either side."""
    return all(
        side.source.table is not None
        and side.source.table.primary_key
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
    return {name: exp.Select(expressions=every).from_(sql.table(tables[name])) for name in SIDES}


def _sides(plan: ComparisonPlan) -> dict[str, Side]:
    return dict(zip(SIDES, (plan.a, plan.b), strict=True))


def grouped_side(plan: ComparisonPlan, side: Side) -> exp.Select:
    """One side aggregated: the keys, row_count, and per measure total_<n>."""
    values = {f"key_{index}": term.value for index, term in enumerate(side.keys)}
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
    select = exp.Select(expressions=columns)
    select.from_(rows.subquery(sql.name("rows"), copy=False), copy=False)
    return select.group_by(*(key.copy() for key in keys), copy=False)


def _single_rows(plan: ComparisonPlan, side: Side, *, is_exact: bool) -> exp.Select:
    values = {f"key_{index}": term.value for index, term in enumerate(side.keys)}
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
    """The relations up to `groups`: the rows of both sides, grouped, so that NULL keys match."""
    halves = [_rows(plan, plan.a, is_a=True), _rows(plan, plan.b, is_a=False)]
    return {"both": exp.union(*halves, distinct=False, copy=False), "groups": _grouped_both(plan)}


def _rows(plan: ComparisonPlan, side: Side, *, is_a: bool) -> exp.Select:
    """The rows of one side; the columns of the other side are NULL."""
    one, none = sql.one(), exp.Null()
    values = {f"key_{index}": term.value for index, term in enumerate(side.keys)}
    values |= {"rows_a": one if is_a else none, "rows_b": none.copy() if is_a else one.copy()}
    for index, term in enumerate(side.measures):
        values[f"a_{index}"] = term.value if is_a else exp.Null()
        values[f"b_{index}"] = exp.Null() if is_a else term.value
        for letter, other in (("a", plan.a), ("b", plan.b)):
            if other.measures[index].code is not None:
                own = term.code if other is side else None
                values[f"code_{letter}_{index}"] = exp.Null() if own is None else own
    return filtered_rows(side.source, values, side.where, plan.parameters)


def _grouped_both(plan: ComparisonPlan) -> exp.Select:
    columns: list[exp.Expr] = key_columns(plan)
    rows = {name: exp.Count(this=sql.bare(name)) for name in ("rows_a", "rows_b")}
    columns += [sql.named(count, name) for name, count in rows.items()]
    for index, measure in enumerate(plan.measures):
        for side, letter in ((plan.a, "a"), (plan.b, "b")):
            name, term = f"{letter}_{index}", side.measures[index]
            code = None if term.code is None else sql.bare(f"code_{name}")
            total = finite(term, sql.bare(name), code, measure.scale)
            if measure.aggregation in COUNTS:  # a side without rows has no count, not 0
                present = exp.GT(this=rows[f"rows_{letter}"].copy(), expression=sql.zero())
                total = sql.decimal(exp.case().when(present, total, copy=False), 0)
            columns.append(sql.named(total, name))
            if measure.has_code:
                special = code_of(term, sql.bare(name), code, measure.scale)
                columns.append(sql.named(_as_code(special), f"x{name}"))
    select = exp.Select(expressions=columns).from_(sql.table("both"), copy=False)
    return select.group_by(*key_columns(plan), copy=False)


def _as_code(code: exp.Expr | None) -> exp.Expr:
    return exp.cast(exp.Null() if code is None else code, "BIGINT")


def key_rows(plan: ComparisonPlan) -> exp.Query:
    """The keys of all rows of both sides, with a row_count of 1."""
    halves: list[exp.Query] = []
    for side in (plan.a, plan.b):
        values = {f"key_{index}": term.value for index, term in enumerate(side.keys)}
        values["row_count"] = sql.one()
        halves.append(filtered_rows(side.source, values, side.where, plan.parameters))
    return exp.union(*halves, distinct=False, copy=False)


def staged_key_rows(plan: ComparisonPlan, tables: Mapping[str, str]) -> exp.Query:
    """The keys of the groups of both staged sides, with their number of rows."""
    columns = [*key_columns(plan), sql.bare("row_count")]
    halves = [
        exp.Select(expressions=[each.copy() for each in columns]).from_(sql.table(tables[name]))
        for name in SIDES
    ]
    return exp.union(*halves, distinct=False, copy=False)
