"""The statement of a comparison, which runs where the sides are.

groups           one row per key: rows_a, rows_b, and per measure a_<n> and b_<n>
collapsed        the groups that differ, and one row for all that are equal on both sides

One statement sees one snapshot of both sides. Its rows are kept in the workspace, where further
statements read them.
"""

from sqlglot import exp

from skillian.connectors.duckdb.workspace import stored_type
from skillian.data import sql
from skillian.data.comparison.plan import ComparisonPlan
from skillian.data.comparison.statement import (
    Relations,
    count_where,
    key_columns,
    with_relations,
)


def collapsed_statement(
    plan: ComparisonPlan, groups: Relations, *, of_rows: bool = False
) -> exp.Select:
    """The statement of the groups that differ, and of one row for all that are equal.

    Args:
        plan: What is compared.
        groups: The relations up to `groups`, in which a group may have one row for each side.
        of_rows: Whether a group is a pair of rows, or a row without a partner. Sums that follow
            from others are then not computed: the rows of a group are alike in what they count,
            and the equal groups in their amounts.
    """
    return with_relations(_collapsed(plan, of_rows=of_rows), groups)


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


def _collapsed(plan: ComparisonPlan, *, of_rows: bool) -> exp.Select:
    """The groups are scanned once, and no database has to store the equal ones."""
    same, rows_a = sql.bare("same"), sql.bare("rows_a")
    differs = sql.equals(same, 0)
    keys = [exp.case().when(differs, key, copy=False) for key in key_columns(plan)]
    columns: list[exp.Expr] = [same]
    for index, (key, term) in enumerate(zip(keys, plan.a.keys, strict=True)):
        value = sql.decimal(key, term.type.scale) if term.type.kind == "decimal" else key.copy()
        columns.append(sql.named(value, f"key_{index}"))
    together = exp.Count(this=exp.Star())
    repeated = count_where(exp.GT(this=rows_a, expression=sql.one()), "repeated")
    columns += [
        sql.named(together, "together"),
        sql.named(sql.zero(), "repeated") if of_rows else repeated,
    ]
    for name in ("rows_a", "rows_b"):
        rows: exp.Expr = exp.Sum(this=sql.bare(name))
        if of_rows:
            rows = exp.Mul(this=together.copy(), expression=exp.AnyValue(this=sql.bare(name)))
        columns.append(sql.named(exp.cast(rows, "BIGINT"), name))
    total_b = exp.AnyValue if of_rows else exp.Sum
    for index, measure in enumerate(plan.measures):
        for name, total in ((f"a_{index}", exp.Sum), (f"b_{index}", total_b)):
            amount = total(this=sql.bare(name))
            columns.append(sql.named(sql.decimal(amount, measure.scale), name))
        if measure.has_code:
            columns += [
                sql.named(exp.Max(this=sql.bare(f"xa_{index}")), f"xa_{index}"),
                sql.named(exp.Max(this=sql.bare(f"xb_{index}")), f"xb_{index}"),
                sql.named(exp.Min(this=sql.bare(f"xa_{index}")), f"low_{index}"),
            ]
    marked = _marked(plan).subquery(sql.name("marked"), copy=False)
    select = exp.Select(expressions=columns).from_(marked, copy=False)
    return select.group_by(same.copy(), *keys, copy=False)


def _marked(plan: ComparisonPlan) -> exp.Select:
    """The groups with `same`: whether all numbers are equal on both sides."""
    pairs = [("rows_a", "rows_b")]
    for index, measure in enumerate(plan.measures):
        pairs += [(f"xa_{index}", f"xb_{index}")] if measure.has_code else []
        pairs.append((f"a_{index}", f"b_{index}"))
    tests = [exp.NullSafeEQ(this=sql.bare(a), expression=sql.bare(b)) for a, b in pairs]
    same = exp.case().when(sql.all_of(tests), sql.one(), copy=False).else_(sql.zero(), copy=False)
    columns = [exp.Star(), sql.named(same, "same")]
    select = exp.Select(expressions=columns).from_(sql.table("groups"), copy=False)
    select.meta["apart"] = True  # the result is small, which a query planner may not expect
    return select
