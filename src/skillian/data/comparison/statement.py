"""The result of a comparison as SELECTs over the groups that differ.

collapsed        from `collapsed.py`: the groups that differ, and one row for all that are equal
equal            counts and sums of the equal groups, as one row
classified       the others with status_<n> and gap_<n> (b - a, an absent side as 0) per measure
different        with the status of the group: the worst of its measures
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from skillian.data import sql
from skillian.data.comparison.plan import ComparisonPlan, MeasurePlan
from skillian.data.declare.definitions import Limits
from skillian.data.subjects import STATUSES

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


def key_columns(plan: ComparisonPlan) -> list[exp.Expr]:
    """The key columns, which have the same names in all relations."""
    return [sql.bare(f"key_{index}") for index in range(len(plan.align_on))]


def absent(index: int, measure: MeasurePlan, side: str) -> exp.Expr:
    """The test that one side of a measure has no value: neither a number nor NaN."""
    tests = [sql.is_null(sql.bare(f"{side}_{index}"))]
    tests += [sql.is_null(sql.bare(f"x{side}_{index}"))] if measure.has_code else []
    return exp.Paren(this=sql.all_of(tests))


def largest_first(plan: ComparisonPlan, index: int) -> list[exp.Expr]:
    """The order by the size of one measure's gap; ties are ordered by key."""
    size = exp.Ordered(this=exp.Abs(this=sql.bare(f"gap_{index}")), desc=True)
    return [size, *(exp.Ordered(this=key, nulls_first=False) for key in key_columns(plan))]


def count_where(test: exp.Expr, name: str) -> exp.Expr:
    """The number of rows that meet a test, as a column."""
    return sql.named(exp.Count(this=exp.case().when(test, exp.Literal.number(1), copy=False)), name)
