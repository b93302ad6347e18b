"""The first steps of the comparison statement: from rows to one group per key.

`groups` has the keys, rows_a, rows_b, and per measure a_<n> and b_<n>; where these may be NaN or
infinite also their codes xa_<n> and xb_<n>, with which a_<n> and b_<n> are NULL. NULL keys match
because the sides are combined by UNION ALL rather than joined.

In a database that can use an index for it, a full join of two aggregated sides takes a quarter of
the time of one aggregation at row grain: both sides arrive sorted, and nothing spills to disk. A
join never pairs NULL keys, so rows with a NULL in their key are combined by UNION ALL there too.
"""

from collections.abc import Mapping

from sqlglot import exp

from skillian.data import sql
from skillian.data.comparison.plan import ComparisonPlan, Side
from skillian.data.comparison.statement import key_columns
from skillian.data.query.filters import filtered_rows
from skillian.data.query.measures import COUNTS, code_of, code_of_one_row, finite, of_one_row

STAGED_A, STAGED_B = "side_a", "side_b"
_REPEATED = "repeated_keys"


def groups_of_rows(plan: ComparisonPlan) -> dict[str, exp.Query]:
    """The relations up to `groups` for sides in one database, by a single aggregation."""
    return {"both": rows_of_both(plan), "groups": aggregated(plan)}


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


def aggregated(plan: ComparisonPlan) -> exp.Select:
    """The groups of the rows in `both`."""
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


def side_select(plan: ComparisonPlan, side: Side) -> exp.Select:
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


def rows_of_both(plan: ComparisonPlan) -> exp.Query:
    """The rows of both sides by UNION ALL; the columns of the other side are NULL."""
    halves = [_rows(plan, plan.a, is_a=True), _rows(plan, plan.b, is_a=False)]
    return exp.union(*halves, distinct=False, copy=False)


def key_rows(plan: ComparisonPlan) -> exp.Query:
    """The keys of all rows of both sides, with a row_count of 1."""
    halves: list[exp.Query] = []
    for side in (plan.a, plan.b):
        values = {f"key_{index}": term.value for index, term in enumerate(side.keys)}
        values["row_count"] = sql.one()
        halves.append(filtered_rows(side.source, values, side.where, plan.parameters))
    return exp.union(*halves, distinct=False, copy=False)


def key_rows_of_staged(plan: ComparisonPlan, tables: Mapping[str, str]) -> exp.Query:
    """The keys of the groups of both staged sides, with their number of rows."""
    columns = [*key_columns(plan), sql.bare("row_count")]
    halves = [
        exp.Select(expressions=[each.copy() for each in columns]).from_(sql.table(tables[name]))
        for name in (STAGED_A, STAGED_B)
    ]
    return exp.union(*halves, distinct=False, copy=False)


def groups_of_staged(plan: ComparisonPlan, tables: Mapping[str, str]) -> dict[str, exp.Query]:
    """The relations up to `groups` for sides that are staged in the workspace.

    `tables` are the tables with the rows of `side_select`, by STAGED_A and STAGED_B.
    """
    halves = [
        _staged(plan, tables[STAGED_A], is_a=True),
        _staged(plan, tables[STAGED_B], is_a=False),
    ]
    names = ["rows_a", "rows_b"]
    for index, measure in enumerate(plan.measures):
        names += [f"a_{index}", f"b_{index}"]
        names += [f"xa_{index}", f"xb_{index}"] if measure.has_code else []
    # There is at most one value on each side, which MAX returns.
    columns = [sql.named(exp.Max(this=sql.bare(name)), name) for name in names]
    groups = exp.Select(expressions=[*key_columns(plan), *columns])
    groups.from_(sql.table("both"), copy=False).group_by(*key_columns(plan), copy=False)
    return {"both": exp.union(*halves, distinct=False, copy=False), "groups": groups}


def pieces_direct(plan: ComparisonPlan, most: int) -> dict[str, exp.Query]:
    """The relations up to `groups` for sides whose keys are unique: their rows, joined.

    There are at most `most` joined rows, so that keys that are not unique cannot fill the disk;
    the proof in `differences.py` then fails. A limit that the statement itself computes would make
    it a tenth slower.
    """
    groups = _joined(plan, null_safe=True).limit(most, copy=False)
    return {**_row_sides(plan, is_exact=False), "groups": groups}


def pieces_unique(plan: ComparisonPlan) -> dict[str, exp.Query]:
    """The relations up to `groups` for sides whose database keeps their keys unique.

    As in `pieces_joined`, a key with a NULL has a row for each side.
    """
    return {**_row_sides(plan, is_exact=False), "groups": _joined(plan)}


def groups_mixed(plan: ComparisonPlan) -> dict[str, exp.Query]:
    """The relations up to `groups` for sides in which few keys are repeated.

    Rows whose key is repeated on neither side are joined; only the others are aggregated.
    """
    both = exp.Select(expressions=[exp.Column(this=exp.Star(), table=sql.name("rows"))])
    both.from_(rows_of_both(plan).subquery(sql.name("rows"), copy=False), copy=False)
    both.join(sql.table(_REPEATED), on=_same_key(plan, "rows", _REPEATED), copy=False)
    return {
        _REPEATED: _repeated_keys(plan),
        "side_a": _without_repeated(plan, _row_side(plan, plan.a, is_exact=True)),
        "side_b": _without_repeated(plan, _row_side(plan, plan.b, is_exact=True)),
        "both": both,
        "groups": exp.union(
            _joined(plan, null_safe=True), aggregated(plan), distinct=False, copy=False
        ),
    }


def _repeated_keys(plan: ComparisonPlan) -> exp.Query:
    """The keys that several rows of a side have."""
    sides: list[exp.Query] = []
    for side in (plan.a, plan.b):
        values = {f"key_{index}": term.value for index, term in enumerate(side.keys)}
        rows = filtered_rows(side.source, values, side.where, plan.parameters)
        keys = exp.Select(expressions=[*key_columns(plan), sql.named(sql.one(), "present")])
        keys.from_(rows.subquery(sql.name("rows"), copy=False), copy=False)
        count = exp.Count(this=exp.Star())
        keys.group_by(*key_columns(plan), copy=False)
        sides.append(keys.having(exp.GT(this=count, expression=sql.one()), copy=False))
    return exp.union(*sides, distinct=True, copy=False)


def _without_repeated(plan: ComparisonPlan, side: exp.Select) -> exp.Select:
    rows = exp.Select(expressions=[exp.Column(this=exp.Star(), table=sql.name("rows"))])
    rows.from_(side.subquery(sql.name("rows"), copy=False), copy=False)
    same = _same_key(plan, "rows", _REPEATED)
    rows.join(sql.table(_REPEATED), on=same, join_type="left", copy=False)
    return rows.where(sql.is_null(sql.column("present", _REPEATED)), copy=False)


def _same_key(plan: ComparisonPlan, one: str, other: str) -> exp.Expr:
    """The test whether two rows have the same key; NULL equals NULL."""
    names = [key.name for key in key_columns(plan)]
    return sql.all_of(
        exp.NullSafeEQ(this=sql.column(name, one), expression=sql.column(name, other))
        for name in names
    )


def groups_direct(plan: ComparisonPlan) -> dict[str, exp.Query]:
    """The relations up to `groups` for sides whose keys are known to be unique."""
    return {**_row_sides(plan, is_exact=True), "groups": _joined(plan, null_safe=True)}


def row_count(plan: ComparisonPlan, side: Side) -> exp.Subquery:
    """The number of rows of a side as a scalar."""
    rows = filtered_rows(side.source, {}, side.where, plan.parameters)
    count = exp.Select(expressions=[exp.Count(this=exp.Star())])
    return count.from_(rows.subquery(sql.name("rows"), copy=False), copy=False).subquery(copy=False)


def _row_sides(plan: ComparisonPlan, *, is_exact: bool) -> dict[str, exp.Query]:
    return {
        "side_a": _row_side(plan, plan.a, is_exact=is_exact),
        "side_b": _row_side(plan, plan.b, is_exact=is_exact),
    }


def _row_side(plan: ComparisonPlan, side: Side, *, is_exact: bool) -> exp.Select:
    """The rows of a side in the form of `side_select`.

    With `is_exact` amounts have the type of `side_select`. Otherwise those of the same type on both
    sides keep it, which is narrower and faster to compare.
    """
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


def _as_code(code: exp.Expr | None) -> exp.Expr:
    return exp.cast(exp.Null() if code is None else code, "BIGINT")


def _staged(plan: ComparisonPlan, table: str, *, is_a: bool) -> exp.Select:
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


JOINING = frozenset({"postgres"})
"""Dialects whose databases join aggregated sides faster than they aggregate both together."""


def pieces_joined(plan: ComparisonPlan) -> dict[str, exp.Query]:
    """The relations up to `groups`, in which a key with a NULL has a row for each side.

    Combining these rows takes reading both sides again, unless the groups are collapsed anyway.
    """
    sides = {"side_a": side_select(plan, plan.a), "side_b": side_select(plan, plan.b)}
    return {**sides, "groups": _joined(plan)}


def groups_joined(plan: ComparisonPlan) -> dict[str, exp.Query]:
    """The relations up to `groups`."""
    with_null = sql.any_of(sql.is_null(key) for key in key_columns(plan))
    both = exp.Select(expressions=[exp.Star()])
    both.from_(rows_of_both(plan).subquery(sql.name("rows"), copy=False), copy=False)
    return {
        "side_a": _side(plan, plan.a),
        "side_b": _side(plan, plan.b),
        "both": both.where(with_null, copy=False),
        "groups": exp.union(_joined(plan), aggregated(plan), distinct=False, copy=False),
    }


def _side(plan: ComparisonPlan, side: Side) -> exp.Select:
    """One side aggregated, without the rows that have a NULL in their key."""
    select = side_select(plan, side)
    for key in key_columns(plan):
        select.where(sql.negated(sql.is_null(key)), copy=False)
    return select


def _joined(plan: ComparisonPlan, *, null_safe: bool = False) -> exp.Select:
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
    for index, measure in enumerate(plan.measures):  # in the order of `aggregated`, for the UNION
        columns += [
            sql.named(sql.column(f"{x}total_{index}", f"side_{side}"), f"{x}{side}_{index}")
            for side in "ab"
            for x in (("", "x") if measure.has_code else ("",))
        ]
    test = exp.NullSafeEQ if null_safe else exp.EQ
    equal = sql.all_of(
        test(this=sql.column(key, "side_a"), expression=sql.column(key, "side_b")) for key in keys
    )
    select = exp.Select(expressions=columns).from_(sql.table("side_a"), copy=False)
    return select.join(sql.table("side_b"), on=equal, join_type="full", copy=False)
