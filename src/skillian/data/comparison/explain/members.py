"""The share of the gap that each member of each dimension carries, from the groups that differ.

There is one statement for each dimension, and for pairs of the most telling ones, so memory and
time are bounded for any number of dimensions.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Any, cast

from sqlglot import exp

from skillian.connectors.base import Kind
from skillian.connectors.duckdb.workspace import Workspace
from skillian.data import sql
from skillian.data.comparison.explain.explanation import (
    MEMBERS,
    Breakdown,
    Contribution,
    MeasureExplanation,
    RowCounts,
)
from skillian.data.comparison.place import Place
from skillian.data.comparison.plan import ComparisonPlan, MeasurePlan
from skillian.data.comparison.results import EXACT
from skillian.data.comparison.statement import key_columns
from skillian.data.query.filters import Condition, condition_sql
from skillian.data.sql import Statement, prepare
from skillian.data.sql.values import Value, python_rows, python_value
from skillian.errors import QueryError

MOST_WORK = 400_000_000
"""The number of values that the statements of one explanation may scan."""
PAIRED = 6
"""The number of dimensions that are also examined in pairs."""

COUNTED = 12
"""The number of breakdowns whose leading members are compared with their share of the rows."""

_SUMMED = "summed"
"""The members of a statement, with their sums."""
_ENOUGH = Decimal(80)
_ALL = Decimal(100)

Keys = tuple[int, ...]
"""Some of the dimensions, by index."""


async def explain_measures(
    table: str, workspace: Workspace, place: Place, rows: int
) -> tuple[tuple[MeasureExplanation, ...], tuple[str, ...]]:
    """The gap of the groups in `table` (of `Differences`) by dimensions.

    `rows` is the number of rows of both sides together. The second value has sentences that say
    what was omitted, and why.
    """
    search = _Search(table, workspace, place.plan, rows)
    await search.run()
    explained = search.explained()
    counts = await _row_counts(explained, place)
    return tuple(each.with_rows(counts) for each in explained), tuple(search.notes())


class _Search:
    """Examines dimensions, then pairs of them, until all are done or the cost limit is reached.

    Args:
        table: The groups that differ.
        workspace: The workspace of the table.
        plan: The plan of the comparison.
        all_rows: The number of rows of both sides together.
    """

    def __init__(
        self, table: str, workspace: Workspace, plan: ComparisonPlan, all_rows: int
    ) -> None:
        self._all_rows = all_rows
        self._table = table
        self._workspace = workspace
        self._plan = plan
        self._rows: dict[Keys, Sequence[Mapping[str, Any]]] = {}
        self._skipped: list[Keys] = []
        self._reason = ""

    async def run(self) -> None:
        """Examine the whole, each dimension, and pairs; what fails is noted as skipped."""
        count = exp.Select(expressions=[sql.named(exp.Count(this=exp.Star()), "groups")])
        try:
            [row] = await self._ask(count.from_(sql.table(self._table), copy=False))
        except QueryError as error:
            self._reason, row = str(error), {"groups": 0}
        cost = int(row["groups"]) * (1 + len(self._plan.measures))
        room = MOST_WORK // cost if cost else MOST_WORK
        keys = range(len(self._plan.align_on))
        await self._examine([()], room)
        await self._examine([(key,) for key in keys], room)
        telling = sorted(keys, key=self._spread)[:PAIRED]
        await self._examine([*combinations(sorted(telling), 2)], room)

    def notes(self) -> Iterator[str]:
        """Yield sentences on the dimensions that were skipped, and why."""
        alone = [self._plan.align_on[keys[0]] for keys in self._skipped if len(keys) == 1]
        if alone:
            known = len(self._plan.align_on) - len(alone)
            yield (
                f"{known} of {len(self._plan.align_on)} dimensions were examined; skipped:"
                f" {', '.join(alone[:MEMBERS])}{', …' if len(alone) > MEMBERS else ''}, because"
                f" {self._reason}. Compare by fewer dimensions for an explanation by all of them."
            )
        elif self._skipped:
            yield f"Some pairs of dimensions were not examined: {self._reason}."

    def explained(self) -> list[MeasureExplanation]:
        """The explanation of each measure; empty if the whole gap is unknown."""
        if () not in self._rows:
            return []
        return [self._explained(index) for index in range(len(self._plan.measures))]

    def _explained(self, index: int) -> MeasureExplanation:
        measure = self._plan.measures[index]
        net, gross = self._whole(index)
        all_breakdowns = (self._breakdown(keys, index) for keys in self._rows if keys)
        breakdowns = tuple(each for each in all_breakdowns if each is not None)
        return MeasureExplanation(
            measure.name, measure.unit, net, gross, breakdowns, self._all_rows
        )

    def _whole(self, index: int) -> tuple[Decimal, Decimal]:
        """The net and the gross gap of a measure."""
        [row] = self._rows.get((), [{}])
        return row.get(f"net_{index}") or Decimal(0), row.get(f"gross_{index}") or Decimal(0)

    def _breakdown(self, keys: Keys, index: int) -> Breakdown | None:
        """The gap of a measure by these dimensions; None without a gap."""
        rows = [each for each in self._rows.get(keys, ()) if _carries(each, index)]
        return _breakdown(rows, self._plan, index, keys, self._whole(index)[1]) if rows else None

    async def _examine(self, selections: Iterable[Keys], room: int) -> None:
        for keys in selections:
            if not self._reason and len(self._rows) >= room:
                self._reason = "too many groups differ"
            if self._reason:
                self._skipped.append(keys)
                continue
            try:
                self._rows[keys] = await self._ask(_statement(self._table, self._plan, keys))
            except QueryError as error:
                self._reason = str(error)
                self._skipped.append(keys)

    async def _ask(self, tree: exp.Select) -> list[dict[str, Any]]:
        statement = prepare(tree, self._workspace.dialect, {})
        return python_rows(await self._workspace.run(statement.text, statement.parameters))

    def _spread(self, key: int) -> tuple[int, int]:
        """Order by how few members carry most of the gap; a single member explains nothing."""
        by_measure = (self._breakdown((key,), index) for index in range(len(self._plan.measures)))
        needed = [each.needed or MEMBERS + 1 for each in by_measure if each and each.members > 1]
        return min(needed, default=MEMBERS + 2), key


async def _row_counts(explained: Sequence[MeasureExplanation], place: Place) -> RowCounts:
    """The rows of the members that carry most of a gap, for few of the breakdowns.

    A breakdown without them is not compared with the rows.
    """
    named: dict[tuple[str, ...], dict[tuple[object, ...], Mapping[str, object]]] = {}
    for measure in explained:
        for breakdown in measure.with_rows({}).breakdowns:
            if breakdown.leading and (breakdown.dimensions in named or len(named) < COUNTED):
                members = named.setdefault(breakdown.dimensions, {})
                members |= {(*each.member.values(),): each.member for each in breakdown.leading}
    counts: dict[tuple[str, ...], dict[tuple[object, ...], int]] = {}
    for dimensions, members in named.items():
        try:
            counts[dimensions] = await _rows_of(dimensions, [*members.values()], place)
        except QueryError:  # the shares of the rows then stay unknown
            break
    return counts


async def _rows_of(
    dimensions: Sequence[str], members: Sequence[Mapping[str, object]], place: Place
) -> dict[tuple[object, ...], int]:
    """The number of rows of each of these members."""
    plan = place.plan
    terms = {
        name: (sql.bare(f"key_{index}"), plan.a.keys[index].type)
        for index, name in enumerate(plan.align_on)
        if name in dimensions
    }

    def statement() -> Statement:
        count = sql.named(exp.Sum(this=sql.bare("row_count")), "row_count")
        keys = [terms[name][0] for name in dimensions]
        select = exp.Select(expressions=[*keys, count])
        select.from_(place.rows().subquery(sql.name("rows"), copy=False), copy=False)
        for name in dimensions:
            key, kind = terms[name]
            values = dict.fromkeys(cast("Value", member[name]) for member in members)
            condition = Condition(name, "in", tuple(values))
            select.where(condition_sql(condition, key, kind, plan.parameters), copy=False)
        return place.statement(select.group_by(*(key.copy() for key in keys), copy=False))

    rows = await place.fetch(await asyncio.to_thread(statement))
    kinds: list[Kind] = [terms[name][1].kind for name in dimensions]
    return {
        tuple(
            python_value(row[terms[name][0].name], kind)
            for name, kind in zip(dimensions, kinds, strict=True)
        ): int(row["row_count"])
        for row in rows
    }


def _statement(table: str, plan: ComparisonPlan, keys: Keys) -> exp.Select:
    """The SELECT of members with their sums: the largest ones for any of the measures."""
    by = [key_columns(plan)[key] for key in keys]
    columns: list[exp.Expr] = [*by]
    for index, measure in enumerate(plan.measures):
        columns += _sums(index, measure)
    members = exp.Select(expressions=columns).from_(sql.table(table), copy=False)
    if not keys:
        return members
    members.group_by(*(key.copy() for key in by), copy=False)
    # Only the leading members are ranked: sorting all of them costs more than adding them up.
    leading = [_leading(by, index) for index in range(len(plan.measures))]
    ranked = exp.Select(expressions=[exp.Star()])
    for index in range(len(plan.measures)):
        ranked.select(sql.named(_rank(by, index), f"rank_{index}"), copy=False)
        ranked.select(sql.named(_with_gap(index), f"members_{index}"), copy=False)
    union = exp.union(*leading, copy=False) if len(leading) > 1 else leading[0]
    ranked.from_(union.subquery(sql.name("leading"), copy=False), copy=False)
    return ranked.with_(sql.name(_SUMMED), as_=members, materialized=True, copy=False)


def _leading(by: Sequence[exp.Expr], index: int) -> exp.Select:
    """The members with the largest gaps of a measure."""
    select = exp.Select(expressions=[exp.Star()]).from_(sql.table(_SUMMED), copy=False)
    select.order_by(*_order(by, index), copy=False).limit(MEMBERS, copy=False)
    top = select.subquery(sql.name("top"), copy=False)
    return exp.Select(expressions=[exp.Star()]).from_(top, copy=False)


def _sums(index: int, measure: MeasurePlan) -> Iterator[exp.Expr]:
    gap = sql.bare(f"gap_{index}")
    yield sql.named(sql.decimal(exp.Sum(this=gap), measure.scale), f"net_{index}")
    gross = exp.Sum(this=exp.Abs(this=gap.copy()))
    yield sql.named(sql.decimal(gross, measure.scale), f"gross_{index}")
    other = sql.negated(sql.is_text(sql.bare(f"status_{index}"), "match"))
    counted = exp.case().when(other, sql.one(), copy=False)
    yield sql.named(exp.Count(this=counted), f"groups_{index}")


def _order(by: Sequence[exp.Expr], index: int) -> list[exp.Expr]:
    order: list[exp.Expr] = [exp.Ordered(this=sql.bare(f"gross_{index}"), desc=True)]
    return [*order, *(exp.Ordered(this=key.copy(), nulls_first=False) for key in by)]


def _rank(by: Sequence[exp.Expr], index: int) -> exp.Expr:
    return exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=_order(by, index)))


def _with_gap(index: int) -> exp.Expr:
    """The number of members with a gap of a measure."""
    gap = sql.negated(sql.equals(sql.bare(f"gross_{index}"), 0))
    count = exp.Count(this=exp.case().when(gap, sql.one(), copy=False))
    select = exp.Select(expressions=[count]).from_(sql.table(_SUMMED), copy=False)
    return exp.Subquery(this=select)


def _carries(row: Mapping[str, Any], index: int) -> bool:
    """Whether a member is among the largest for this measure, and has a gap."""
    return bool(row[f"rank_{index}"] <= MEMBERS and row[f"gross_{index}"])


def _breakdown(
    rows: Sequence[Mapping[str, Any]],
    plan: ComparisonPlan,
    index: int,
    keys: Keys,
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
    """How many of the largest members carry 80 % of the gross gap; None if more."""
    carried, enough = Decimal(0), EXACT.multiply(gross, _ENOUGH)
    for count, each in enumerate(contributions, 1):
        carried = EXACT.add(carried, each.gross)
        if EXACT.multiply(carried, _ALL) >= enough:
            return count
    return None
