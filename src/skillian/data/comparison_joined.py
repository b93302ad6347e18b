"""Groups by a full join of two aggregated sides, for databases that can use an index for it.

In PostgreSQL this takes a quarter of the time of one aggregation at row grain, where the key has an
index: both sides come sorted, and nothing spills. A join never pairs NULL keys, so rows with one
are put one under the other as elsewhere.
"""

from sqlglot import exp

from skillian.data import sql
from skillian.data.comparison_groups import aggregated, rows_of_both, side_select
from skillian.data.comparison_plan import ComparisonPlan, Side
from skillian.data.comparison_summary import key_columns

DIALECTS = frozenset({"postgres"})


def pieces_joined(plan: ComparisonPlan) -> dict[str, exp.Query]:
    """Return the relations up to `groups`, where a key with a NULL stands once for each side.

    To put these together takes reading both sides again, unless the groups are collapsed anyway.
    """
    sides = {"side_a": side_select(plan, plan.a), "side_b": side_select(plan, plan.b)}
    return {**sides, "groups": _joined(plan)}


def groups_joined(plan: ComparisonPlan) -> dict[str, exp.Query]:
    """Return the relations up to `groups`."""
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


def _joined(plan: ComparisonPlan) -> exp.Select:
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
    for index, measure in enumerate(plan.measures):  # in the order of `aggregated`: they are united
        columns += [
            sql.named(sql.column(f"{x}total_{index}", f"side_{side}"), f"{x}{side}_{index}")
            for side in "ab"
            for x in (("", "x") if measure.has_code else ("",))
        ]
    equal = sql.all_of(
        exp.EQ(this=sql.column(key, "side_a"), expression=sql.column(key, "side_b")) for key in keys
    )
    select = exp.Select(expressions=columns).from_(sql.table("side_a"), copy=False)
    return select.join(sql.table("side_b"), on=equal, join_type="full", copy=False)
