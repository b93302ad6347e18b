"""The result of a comparison as SELECTs over the groups that differ.

collapsed        from `collapsed.py`: the groups that differ, and one row for all that are equal
equal            counts and sums of the equal groups, as one row
classified       the others with status_<n> and gap_<n> (b - a, an absent side as 0) per measure
different        with the status of the group: the worst of its measures
summary, top     counts and sums of these in one row; the largest differences of each measure
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from skillian.data import sql
from skillian.data.comparison.near_misses import has_texts, missing_select, near_miss_columns
from skillian.data.comparison.plan import ComparisonPlan, MeasurePlan
from skillian.data.comparison.results import STATUSES
from skillian.data.declare.definitions import Limits

_MATCH, _MINOR, _MAJOR, _MISSING_IN_A, _MISSING_IN_B = STATUSES

Relations = Mapping[str, exp.Query]
"""Named steps of a statement, in order; the last is `groups`."""


def different_statement(plan: ComparisonPlan, table: str) -> exp.Select:
    """The groups that differ with their classes, from a table of `collapsed_statement`."""
    collapsed = exp.Select(expressions=[exp.Star()]).from_(sql.table(table), copy=False)
    collapsed.where(sql.equals(sql.bare("same"), 0), copy=False)
    return with_relations(
        _rated(plan), {"collapsed": collapsed, "classified": _classified(plan, "collapsed")}
    )


def summary_statement(plan: ComparisonPlan, table: str, different: str, top: int) -> exp.Select:
    """The statement; each of its rows holds the summary and one of the top differences.

    Without differences there is one row, whose top columns are NULL. `table` and `different` have
    the rows of `collapsed_statement` and `different_statement`.
    """
    equal, summary, ranked = equal_select(plan), summary_select(plan), top_select(plan, top)
    columns = [
        sql.column(name, relation)
        for relation, query in (("equal", equal), ("summary", summary), ("top", ranked))
        for name in query.named_selects
    ]
    statement = exp.Select(expressions=columns).from_(sql.table("summary"), copy=False)
    statement.join(sql.table("equal"), join_type="cross", copy=False)
    statement.join(sql.table("top"), on=exp.true(), join_type="left", copy=False)
    return with_relations(
        statement,
        {
            "collapsed": exp.Select(expressions=[exp.Star()]).from_(sql.table(table), copy=False),
            "equal": equal,
            "different": exp.Select(expressions=[exp.Star()]).from_(
                sql.table(different), copy=False
            ),
            **({"missing": missing_select()} if has_texts(plan) else {}),
            "summary": summary,
            "top": ranked,
        },
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
        a, b = sql.bare(f"a_{index}"), sql.bare(f"b_{index}")
        columns.append(sql.named(_status(index, measure, plan.parameters), f"status_{index}"))
        gap = exp.Sub(this=_or_zero(b), expression=_or_zero(a))
        columns.append(sql.named(gap, f"gap_{index}"))
    return exp.Select(expressions=columns).from_(sql.table(relation), copy=False)


def _status(index: int, measure: MeasurePlan, parameters: sql.BoundValues) -> exp.Expr:
    a, b = sql.bare(f"a_{index}"), sql.bare(f"b_{index}")
    none_a, none_b = absent(index, measure, "a"), absent(index, measure, "b")
    case = _missing(exp.case())
    # Most groups are equal and need no further test.
    same = exp.EQ(this=a.copy(), expression=b.copy())
    case = case.when(same, sql.text(_MATCH), copy=False)
    case = case.when(sql.all_of([none_a, none_b]), sql.text(_MATCH), copy=False)
    case = case.when(sql.any_of([none_a.copy(), none_b.copy()]), sql.text(_MAJOR), copy=False)
    if measure.has_code:
        codes = [sql.bare(f"xa_{index}"), sql.bare(f"xb_{index}")]
        alike = exp.EQ(this=codes[0], expression=codes[1])
        case = case.when(alike, sql.text(_MATCH), copy=False)
        special = sql.any_of(sql.negated(sql.is_null(code)) for code in codes)
        case = case.when(special, sql.text(_MAJOR), copy=False)
    limits = measure.thresholds
    case = case.when(_within(a, b, limits.match, parameters), sql.text(_MATCH), copy=False)
    case = case.when(_within(a, b, limits.minor_diff, parameters), sql.text(_MINOR), copy=False)
    return case.else_(sql.text(_MAJOR), copy=False)


def _within(a: exp.Expr, b: exp.Expr, limits: Limits, parameters: sql.BoundValues) -> exp.Expr:
    """The test that each stated limit is met.

    The terms are cross-multiplied, since a quotient would be a binary float. For a = 0 there is no
    percentage: a stated absolute limit decides alone, and without one only 0 is within the limits.
    """
    difference = exp.Abs(this=exp.Sub(this=b.copy(), expression=a.copy()))
    tests: list[exp.Expr] = []
    if limits.absolute is not None:
        bound = parameters.bind(limits.absolute)
        tests.append(exp.LTE(this=difference, expression=bound))
    if limits.percentage is not None:
        hundredfold = exp.Mul(this=difference.copy(), expression=exp.Literal.number(100))
        share = exp.Mul(this=parameters.bind(limits.percentage), expression=exp.Abs(this=a.copy()))
        relative: exp.Expr = exp.LTE(this=hundredfold, expression=share)
        tests.append(sql.any_of([sql.equals(a, 0), relative]) if tests else relative)
    return sql.all_of(tests)


def _rated(plan: ComparisonPlan) -> exp.Select:
    statuses = [sql.bare(f"status_{index}") for index in range(len(plan.measures))]
    status: exp.Expr = statuses[0]
    if len(statuses) > 1:
        status = _worst(statuses)
    columns = [exp.Star(), sql.named(status, "status")]
    return exp.Select(expressions=columns).from_(sql.table("classified"), copy=False)


def _worst(statuses: Sequence[exp.Expr]) -> exp.Expr:
    case = _missing(exp.case())
    for worst in (_MAJOR, _MINOR):
        some = sql.any_of(sql.is_text(status, worst) for status in statuses)
        case = case.when(some, sql.text(worst), copy=False)
    return case.else_(sql.text(_MATCH), copy=False)


def _missing(case: exp.Case) -> exp.Case:
    case = case.when(sql.equals(sql.bare("rows_a"), 0), sql.text(_MISSING_IN_A), copy=False)
    return case.when(sql.equals(sql.bare("rows_b"), 0), sql.text(_MISSING_IN_B), copy=False)


def _or_zero(value: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=value.copy(), expressions=[exp.Literal.number(0)])


UNEVEN = -1
"""In the rows of `top_select`: the group differs only in its number of rows."""
SHOWN = 3
"""The number of groups to name that differ only in their number of rows."""


def key_columns(plan: ComparisonPlan) -> list[exp.Expr]:
    """The key columns, which have the same names in all relations."""
    return [sql.bare(f"key_{index}") for index in range(len(plan.align_on))]


def equal_select(plan: ComparisonPlan) -> exp.Select:
    """Counts and sums over the groups that are equal on both sides, as one row."""
    sums = {"equal_groups": "together", "equal_rows": "rows_a", "equal_repeated": "repeated"}
    columns = [
        sql.named(sql.decimal(exp.Sum(this=sql.bare(of)), 0), name) for name, of in sums.items()
    ]
    for index, measure in enumerate(plan.measures):
        total = sql.decimal(exp.Sum(this=sql.bare(f"a_{index}")), measure.scale)
        columns.append(sql.named(total, f"equal_total_{index}"))
        if measure.has_code:
            high, low = sql.bare(f"xa_{index}"), sql.bare(f"low_{index}")
            columns.append(sql.named(exp.Max(this=high), f"equal_high_{index}"))
            columns.append(sql.named(exp.Min(this=low), f"equal_low_{index}"))
    select = exp.Select(expressions=columns).from_(sql.table("collapsed"), copy=False)
    return select.where(sql.equals(sql.bare("same"), 1), copy=False)


def summary_select(plan: ComparisonPlan) -> exp.Select:
    """Counts and sums over the groups that differ, as one row."""
    a, b, zero = sql.bare("rows_a"), sql.bare("rows_b"), sql.zero()
    both = [exp.GT(this=a, expression=zero), exp.GT(this=b, expression=zero.copy())]
    uneven = sql.all_of([*both, exp.NEQ(this=a.copy(), expression=b.copy())])
    columns = [
        *(count_where(sql.is_text(sql.bare("status"), status), status) for status in STATUSES),
        sql.named(sql.decimal(exp.Sum(this=a.copy()), 0), "all_rows_a"),
        sql.named(sql.decimal(exp.Sum(this=b.copy()), 0), "all_rows_b"),
        count_where(uneven, "uneven"),
        count_where(_uneven_match(), "uneven_matches"),
        *(
            count_where(exp.GT(this=side.copy(), expression=sql.one()), f"repeated_{side.name[-1]}")
            for side in (a, b)
        ),
    ]
    for index, measure in enumerate(plan.measures):
        columns += _measure_summary(index, measure)
    columns += near_miss_columns(plan)
    return exp.Select(expressions=columns).from_(sql.table("different"), copy=False)


def _measure_summary(index: int, measure: MeasurePlan) -> list[exp.Expr]:
    a, b, gap = sql.bare(f"a_{index}"), sql.bare(f"b_{index}"), sql.bare(f"gap_{index}")
    status = sql.bare(f"status_{index}")
    sums = {"total_a": a, "total_b": b, "net": gap, "gross": exp.Abs(this=gap.copy())}
    present = [sql.negated(sql.is_text(status, each)) for each in (_MISSING_IN_A, _MISSING_IN_B)]
    minus_a = exp.EQ(this=b.copy(), expression=exp.Neg(this=a.copy()))
    absent_a, absent_b = absent(index, measure, "a"), absent(index, measure, "b")
    counts = {
        "null_in_a": sql.all_of([*present, absent_a, sql.negated(absent_b)]),
        "null_in_b": sql.all_of([*present, absent_b, sql.negated(absent_a)]),
        "opposite": sql.all_of([sql.negated(sql.equals(a, 0)), minus_a]),
    }
    if measure.aggregation == "sum":
        # Twice the rows always double a count, and never change an average.
        counts |= {
            "doubled_in_a": sql.all_of([_twice("rows_a", "rows_b"), _twice(a.name, b.name)]),
            "doubled_in_b": sql.all_of([_twice("rows_b", "rows_a"), _twice(b.name, a.name)]),
        }
    codes: list[exp.Expr] = []
    for side in "ab" if measure.has_code else "":
        code = sql.bare(f"x{side}_{index}")
        major = sql.is_text(status, _MAJOR)
        codes += [
            sql.named(exp.Max(this=code), f"high_{side}_{index}"),
            sql.named(exp.Min(this=code.copy()), f"low_{side}_{index}"),
            count_where(
                sql.all_of([major, sql.negated(sql.is_null(code))]), f"special_{side}_{index}"
            ),
        ]
    return [
        *codes,
        *(count_where(sql.is_text(status, known), f"{known}_{index}") for known in STATUSES),
        *(
            sql.named(sql.decimal(exp.Sum(this=value.copy()), measure.scale), f"{name}_{index}")
            for name, value in sums.items()
        ),
        *(count_where(test, f"{name}_{index}") for name, test in counts.items()),
    ]


def absent(index: int, measure: MeasurePlan, side: str) -> exp.Expr:
    """The test that one side of a measure has no value: neither a number nor NaN."""
    tests = [sql.is_null(sql.bare(f"{side}_{index}"))]
    tests += [sql.is_null(sql.bare(f"x{side}_{index}"))] if measure.has_code else []
    return exp.Paren(this=sql.all_of(tests))


def top_select(plan: ComparisonPlan, top: int) -> exp.Query:
    """The `top` largest differences of each measure that are not a match.

    Rows with the measure `UNEVEN` are the first groups that differ only in their number of rows.
    """
    measures = range(len(plan.measures))
    names = ["rows_a", "rows_b"]
    for index, measure in enumerate(plan.measures):
        names += [f"a_{index}", f"b_{index}", f"status_{index}"]
        names += [f"xa_{index}", f"xb_{index}"] if measure.has_code else []
    parts: list[exp.Query] = []
    selects = {index: _largest(plan, index, top) for index in measures}
    selects[UNEVEN] = _uneven(plan)
    for index, rows in selects.items():
        number = sql.named(exp.Literal.number(index), "measure")
        columns = [number, *key_columns(plan), *(sql.bare(name) for name in names)]
        largest = rows.subquery(sql.name("largest"), copy=False)
        parts.append(exp.Select(expressions=columns).from_(largest, copy=False))
    return exp.union(*parts, distinct=False, copy=False)


def _uneven_match() -> exp.Expr:
    """The test that all measures of a group match and its numbers of rows differ."""
    differ = exp.NEQ(this=sql.bare("rows_a"), expression=sql.bare("rows_b"))
    return sql.all_of([sql.is_text(sql.bare("status"), _MATCH), differ])


def _uneven(plan: ComparisonPlan) -> exp.Select:
    select = exp.Select(expressions=[exp.Star()]).from_(sql.table("different"), copy=False)
    order = [exp.Ordered(this=key, nulls_first=False) for key in key_columns(plan)]
    return select.where(_uneven_match(), copy=False).order_by(*order, copy=False).limit(SHOWN)


def _largest(plan: ComparisonPlan, index: int, top: int) -> exp.Select:
    different = sql.negated(sql.is_text(sql.bare(f"status_{index}"), _MATCH))
    select = exp.Select(expressions=[exp.Star()]).from_(sql.table("different"), copy=False)
    select.where(different, copy=False).order_by(*largest_first(plan, index), copy=False)
    return select.limit(top, copy=False)


def largest_first(plan: ComparisonPlan, index: int) -> list[exp.Expr]:
    """The order by the size of one measure's gap; ties are ordered by key."""
    size = exp.Ordered(this=exp.Abs(this=sql.bare(f"gap_{index}")), desc=True)
    return [size, *(exp.Ordered(this=key, nulls_first=False) for key in key_columns(plan))]


def count_where(test: exp.Expr, name: str) -> exp.Expr:
    """The number of rows that meet a test, as a column."""
    return sql.named(exp.Count(this=exp.case().when(test, exp.Literal.number(1), copy=False)), name)


def _twice(larger: str, smaller: str) -> exp.Expr:
    doubled = exp.Mul(this=exp.Literal.number(2), expression=sql.bare(smaller))
    equal = exp.EQ(this=sql.bare(larger), expression=doubled)
    return sql.all_of([sql.negated(sql.equals(sql.bare(smaller), 0)), equal])
