"""The first steps of the comparison statement: from rows to one group per key.

`groups` has the keys, rows_a, rows_b, and per measure a_<n> and b_<n>; where these may be NaN or
infinite also their codes xa_<n> and xb_<n>, beside which a_<n> and b_<n> are NULL. NULL keys meet
because the sides are put one under the other (UNION ALL) rather than joined.
"""

from collections.abc import Mapping

from sqlglot import exp

from skillian.data import sql
from skillian.data.comparison_plan import ComparisonPlan, Side
from skillian.data.comparison_summary import key_columns
from skillian.data.measures import COUNTS, code_of, finite
from skillian.data.selection import filtered_rows

LANDED_A, LANDED_B = "side_a", "side_b"


def groups_of_rows(plan: ComparisonPlan) -> dict[str, exp.Query]:
    """Return the relations up to `groups` for sides that are in one database: one aggregation."""
    return {"both": rows_of_both(plan), "groups": aggregated(plan)}


def _rows(plan: ComparisonPlan, side: Side, *, is_a: bool) -> exp.Select:
    """Return the rows of one side; the columns of the other side are NULL."""
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


def aggregated(plan: ComparisonPlan) -> exp.Select:
    """Return the groups of the rows in `both`."""
    columns: list[exp.Expr] = key_columns(plan)
    rows = {name: exp.Count(this=sql.bare(name)) for name in ("rows_a", "rows_b")}
    columns += [sql.named(count, name) for name, count in rows.items()]
    for index, measure in enumerate(plan.measures):
        for side, letter in ((plan.a, "a"), (plan.b, "b")):
            name, term = f"{letter}_{index}", side.measures[index]
            code = None if term.code is None else sql.bare(f"code_{name}")
            total = finite(term, sql.bare(name), code, measure.scale)
            if measure.aggregation in COUNTS:  # of a side without rows there is none, not 0
                there = exp.GT(this=rows[f"rows_{letter}"].copy(), expression=sql.zero())
                total = sql.decimal(exp.case().when(there, total, copy=False), 0)
            columns.append(sql.named(total, name))
            if measure.has_code:
                special = code_of(term, sql.bare(name), code, measure.scale)
                columns.append(sql.named(_as_code(special), f"x{name}"))
    select = exp.Select(expressions=columns).from_(sql.table("both"), copy=False)
    return select.group_by(*key_columns(plan), copy=False)


def side_select(plan: ComparisonPlan, side: Side) -> exp.Select:
    """Return one side aggregated at home: the keys, row_count, and per measure total_<n>."""
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


def rows_of_both(plan: ComparisonPlan) -> exp.Query:
    """Return the rows of both sides, one under the other; columns of the other side are NULL."""
    halves = [_rows(plan, plan.a, is_a=True), _rows(plan, plan.b, is_a=False)]
    return exp.union(*halves, distinct=False, copy=False)


def groups_of_landed(plan: ComparisonPlan, tables: Mapping[str, str]) -> dict[str, exp.Query]:
    """Return the relations up to `groups` for sides that were aggregated at home.

    `tables` are the names that `side_select` of both was stored under, by LANDED_A and LANDED_B.
    """
    halves = [
        _landed(plan, tables[LANDED_A], is_a=True),
        _landed(plan, tables[LANDED_B], is_a=False),
    ]
    names = ["rows_a", "rows_b"]
    for index, measure in enumerate(plan.measures):
        names += [f"a_{index}", f"b_{index}"]
        names += [f"xa_{index}", f"xb_{index}"] if measure.has_code else []
    # At most one value on each side: MAX only passes it on.
    passed = [sql.named(exp.Max(this=sql.bare(name)), name) for name in names]
    groups = exp.Select(expressions=[*key_columns(plan), *passed])
    groups.from_(sql.table("both"), copy=False).group_by(*key_columns(plan), copy=False)
    return {"both": exp.union(*halves, distinct=False, copy=False), "groups": groups}


def _as_code(code: exp.Expr | None) -> exp.Expr:
    return exp.cast(exp.Null() if code is None else code, "BIGINT")


def _landed(plan: ComparisonPlan, table: str, *, is_a: bool) -> exp.Select:
    count, none = sql.bare("row_count"), sql.zero()
    columns: list[exp.Expr] = [
        *key_columns(plan),
        sql.named(count if is_a else none, "rows_a"),
        sql.named(none.copy() if is_a else count.copy(), "rows_b"),
    ]
    for index, measure in enumerate(plan.measures):
        total, absent = sql.bare(f"total_{index}"), sql.decimal(exp.Null(), measure.scale)
        columns.append(sql.named(total if is_a else absent, f"a_{index}"))
        columns.append(sql.named(absent.copy() if is_a else total.copy(), f"b_{index}"))
        if measure.has_code:
            own, none_there = sql.bare(f"xtotal_{index}"), _as_code(None)
            columns.append(sql.named(own if is_a else none_there, f"xa_{index}"))
            columns.append(sql.named(none_there.copy() if is_a else own.copy(), f"xb_{index}"))
    return exp.Select(expressions=columns).from_(sql.table(table), copy=False)
