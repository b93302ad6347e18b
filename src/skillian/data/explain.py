"""One scan over the groups that differ: what each member of each dimension carries of the gap."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Any

from sqlglot import exp

from skillian.connectors.workspace import Workspace
from skillian.data import arrow, sql
from skillian.data.comparison_plan import ComparisonPlan, MeasurePlan
from skillian.data.comparison_sql import with_relations
from skillian.data.comparison_summary import key_columns
from skillian.data.compile import prepare
from skillian.data.explanation import MEMBERS, Breakdown, Contribution, MeasureExplanation
from skillian.data.ground import Ground
from skillian.data.results import EXACT
from skillian.data.values import python_value

_ENOUGH = Decimal(80)
_ALL = Decimal(100)


async def explain_measures(
    table: str, workspace: Workspace, plan: ComparisonPlan, ground: Ground
) -> tuple[MeasureExplanation, ...]:
    """Return what the groups in `table` (those that `keep_differences` stored) add up to."""
    statement = prepare(_statement(table, plan), workspace.dialect, {})
    rows = arrow.rows(await workspace.run(statement.text, statement.parameters))
    found = [_explained(rows, plan, index) for index in range(len(plan.measures))]
    doubtful = frozenset[str]().union(*(each.doubtful for each in found))
    counts = await _member_counts(doubtful, plan, ground)
    return tuple(each.given_members(counts) for each in found)


async def _member_counts(
    dimensions: frozenset[str], plan: ComparisonPlan, ground: Ground
) -> dict[str, int]:
    """Return how many members these have among all groups, those that match too."""
    if not dimensions:
        return {}
    columns: list[exp.Expr] = []
    for index, name in enumerate(plan.align_on):
        if name in dimensions:
            key = sql.bare(f"key_{index}")
            distinct = exp.Count(this=exp.Distinct(expressions=[key]))
            none = exp.case().when(sql.is_null(key), sql.one(), copy=False)
            columns += [
                sql.named(distinct, f"members_{index}"),
                sql.named(exp.Count(this=none), f"none_{index}"),
            ]
    select = exp.Select(expressions=columns).from_(sql.table("groups"), copy=False)
    [row] = await ground.ask(ground.statement(with_relations(select, ground.groups()), plan))
    return {
        name: int(row[f"members_{index}"]) + bool(row[f"none_{index}"])
        for index, name in enumerate(plan.align_on)
        if name in dimensions
    }


def _sets(plan: ComparisonPlan) -> list[tuple[int, ...]]:
    """Return the key numbers to group by: none, each alone, each two."""
    keys = range(len(plan.align_on))
    return [(), *((key,) for key in keys), *combinations(keys, 2)]


def _statement(table: str, plan: ComparisonPlan) -> exp.Select:
    """Return members with their sums, the largest of each set for any of the measures."""
    keys = key_columns(plan)
    grouping = exp.Anonymous(this="GROUPING", expressions=[key.copy() for key in keys])
    columns: list[exp.Expr] = [*keys, sql.named(grouping, "grouping")]
    for index, measure in enumerate(plan.measures):
        columns += _sums(index, measure)
    sets = [exp.Tuple(expressions=[keys[key].copy() for key in one]) for one in _sets(plan)]
    members = exp.Select(expressions=columns).from_(sql.table(table), copy=False)
    members.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
    ranked = exp.Select(expressions=[exp.Star()])
    for index in range(len(plan.measures)):
        ranked.select(sql.named(_rank(plan, index), f"rank_{index}"), copy=False)
        ranked.select(sql.named(_with_gap(index), f"members_{index}"), copy=False)
    ranked.from_(members.subquery(sql.name("summed"), copy=False), copy=False)
    few = sql.any_of(
        exp.LTE(this=sql.bare(f"rank_{index}"), expression=exp.Literal.number(MEMBERS))
        for index in range(len(plan.measures))
    )
    select = exp.Select(expressions=[exp.Star()])
    return select.from_(ranked.subquery(sql.name("ranked"), copy=False), copy=False).where(few)


def _sums(index: int, measure: MeasurePlan) -> Iterator[exp.Expr]:
    gap = sql.bare(f"gap_{index}")
    yield sql.named(sql.decimal(exp.Sum(this=gap), measure.scale), f"net_{index}")
    gross = exp.Sum(this=exp.Abs(this=gap.copy()))
    yield sql.named(sql.decimal(gross, measure.scale), f"gross_{index}")
    other = sql.negated(sql.is_text(sql.bare(f"status_{index}"), "match"))
    found = exp.case().when(other, sql.one(), copy=False)
    yield sql.named(exp.Count(this=found), f"groups_{index}")


def _rank(plan: ComparisonPlan, index: int) -> exp.Expr:
    order: list[exp.Expr] = [exp.Ordered(this=sql.bare(f"gross_{index}"), desc=True)]
    order += [exp.Ordered(this=key, nulls_first=False) for key in key_columns(plan)]
    return exp.Window(
        this=exp.RowNumber(),
        partition_by=[sql.bare("grouping")],
        order=exp.Order(expressions=order),
    )


def _with_gap(index: int) -> exp.Expr:
    gap = sql.negated(sql.equals(sql.bare(f"gross_{index}"), 0))
    count = exp.Count(this=exp.case().when(gap, sql.one(), copy=False))
    return exp.Window(this=count, partition_by=[sql.bare("grouping")])


def _explained(
    rows: Sequence[Mapping[str, Any]], plan: ComparisonPlan, index: int
) -> MeasureExplanation:
    measure = plan.measures[index]
    by_set: dict[tuple[int, ...], list[Mapping[str, Any]]] = {one: [] for one in _sets(plan)}
    for row in rows:
        if row[f"rank_{index}"] <= MEMBERS and row[f"gross_{index}"]:
            by_set[_keys_of(int(row["grouping"]), len(plan.align_on))].append(row)
    whole = by_set.pop(())
    net, gross = (
        (whole[0][f"{name}_{index}"] if whole else None) or Decimal(0) for name in ("net", "gross")
    )
    breakdowns = [
        _breakdown(found, plan, index, keys, gross) for keys, found in by_set.items() if found
    ]
    return MeasureExplanation(measure.name, measure.unit, net, gross, tuple(breakdowns))


def _keys_of(grouping: int, count: int) -> tuple[int, ...]:
    """Return the keys that a row is of: GROUPING has a bit set for each that it is not of."""
    return tuple(key for key in range(count) if not grouping >> (count - 1 - key) & 1)


def _breakdown(
    rows: Sequence[Mapping[str, Any]],
    plan: ComparisonPlan,
    index: int,
    keys: tuple[int, ...],
    gross: Decimal,
) -> Breakdown:
    contributions = [
        Contribution(
            member={
                plan.align_on[key]: python_value(row[f"key_{key}"], plan.a.keys[key].type.kind)
                for key in keys
            },
            net=row[f"net_{index}"] or Decimal(0),
            gross=row[f"gross_{index}"] or Decimal(0),
            groups=int(row[f"groups_{index}"]),
        )
        for row in sorted(rows, key=lambda row: row[f"rank_{index}"])
    ]
    return Breakdown(
        dimensions=tuple(plan.align_on[key] for key in keys),
        members=int(rows[0][f"members_{index}"]),
        contributions=tuple(contributions),
        needed=_needed(contributions, gross),
    )


def _needed(contributions: Iterable[Contribution], gross: Decimal) -> int | None:
    """Return how many of the largest carry 80 % of the gross gap."""
    carried, enough = Decimal(0), EXACT.multiply(gross, _ENOUGH)
    for count, each in enumerate(contributions, 1):
        carried = EXACT.add(carried, each.gross)
        if EXACT.multiply(carried, _ALL) >= enough:
            return count
    return None
