"""A comparison as one SELECT: one statement sees one snapshot of both sides.

groups           one row per key: rows_a, rows_b, and per measure a_<n> and b_<n>
collapsed        those that differ, and one row for all that are the same on both sides: most
equal            counts and sums of the latter, as one row
classified       of the others per measure status_<n> and gap_<n> (b - a, an absent side as 0)
different        and the row's status: the worst of its measures'
summary, top     their counts and sums in one row; the largest differences of each measure
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from skillian.data import sql
from skillian.data.comparison_plan import ComparisonPlan, MeasurePlan
from skillian.data.comparison_summary import (
    absent,
    collapsed_select,
    equal_select,
    summary_select,
    top_select,
)
from skillian.data.definitions import Limits
from skillian.data.near_misses import has_texts, missing_select
from skillian.data.results import STATUSES

_MATCH, _MINOR, _MAJOR, _MISSING_IN_A, _MISSING_IN_B = STATUSES

Relations = Mapping[str, exp.Query]
"""Named steps of a statement, in order; the last is `groups`."""


def comparison_statement(plan: ComparisonPlan, pieces: Relations, top: int) -> exp.Select:
    """Return the statement; each of its rows holds the summary and one of the top differences.

    With nothing different there is one row, whose top columns are NULL. A group may come in
    pieces: one row for each side.
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
            **pieces,
            "collapsed": collapsed_select(plan),
            "equal": equal,
            "classified": _classified(plan, "collapsed").where(sql.equals(sql.bare("same"), 0)),
            "different": _rated(plan),
            **({"missing": missing_select()} if has_texts(plan) else {}),
            "summary": summary,
            "top": ranked,
        },
    )


def rated(plan: ComparisonPlan, groups: Relations) -> Relations:
    """Return the relations up to `rated`: every group with its class."""
    return {**groups, "classified": _classified(plan, "groups"), "rated": _rated(plan)}


def with_relations(statement: exp.Select, relations: Relations) -> exp.Select:
    """Return the statement with these steps before it."""
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


def _status(index: int, measure: MeasurePlan, parameters: sql.Parameters) -> exp.Expr:
    a, b = sql.bare(f"a_{index}"), sql.bare(f"b_{index}")
    none_a, none_b = absent(index, measure, "a"), absent(index, measure, "b")
    case = _missing(exp.case())
    # Most groups are equal: they need no further test.
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


def _within(a: exp.Expr, b: exp.Expr, limits: Limits, parameters: sql.Parameters) -> exp.Expr:
    """Return whether each stated limit is kept.

    Multiplied across, since a quotient would be a binary float. Of a = 0 there is no percentage: a
    stated absolute limit alone decides, and without one no other value is near enough.
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
