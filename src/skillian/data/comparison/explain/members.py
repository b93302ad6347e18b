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
from skillian.connectors.duckdb.engine import Workspace, stored_type
from skillian.data import sql
from skillian.data.comparison.explain.explanation import (
    MEMBERS,
    Breakdown,
    Contribution,
    MeasureExplanation,
    RowCounts,
)
from skillian.data.comparison.groups import Place
from skillian.data.comparison.plan import ComparisonPlan
from skillian.data.query.filters import Condition, condition_sql
from skillian.data.results.groups import EXACT
from skillian.data.sql import Statement
from skillian.data.sql.values import Value, python_rows, python_value
from skillian.errors import QueryError

MOST_WORK = 400_000_000
"""The number of values that the statements of one explanation may scan."""
PAIRED = 6
"""The number of dimensions that are also examined in pairs."""

COUNTED = 12
"""The number of breakdowns whose leading members are compared with their share of the rows."""

_ENOUGH = Decimal(80)
_ALL = Decimal(100)

Keys = tuple[int, ...]
"""Some of the dimensions, by index."""


async def explain_measures(
    table: str, workspace: Workspace, place: Place, rows: int
) -> tuple[tuple[MeasureExplanation, ...], tuple[str, ...]]:
    """The gap of the groups that differ in `table` by dimensions.

    `rows` is the number of rows of both sides together. The second value has sentences that say
    what was omitted, and why.
    """
    search = _Search(table, workspace, place.plan, rows)
    await search.run()
    explained = search.explained()
    counts = await _row_counts(explained, place)
    return tuple(each.with_rows(counts) for each in explained), tuple(search.notes())


class _Search:
    """Examines dimensions, then pairs of them, until all are done or the cost limit is reached."""

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
        try:
            [row] = await self._ask(f'SELECT COUNT(*) AS "groups" FROM "{self._table}"')  # noqa: S608 - our own name
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
        """The gap of a measure by these dimensions, of its largest members; None without a gap."""
        rank, gross, plan = f"rank_{index}", f"gross_{index}", self._plan
        rows = [row for row in self._rows.get(keys, ()) if row[rank] <= MEMBERS and row[gross]]
        contributions = [
            Contribution(
                member={
                    plan.align_on[key]: python_value(row[f"key_{key}"], plan.a.keys[key].type.kind)
                    for key in keys
                },
                net=row[f"net_{index}"] or Decimal(0),
                gross=row[gross],
                groups=int(row[f"groups_{index}"]),
            )
            for row in sorted(rows, key=lambda row: row[rank])
        ]
        if not contributions:
            return None
        return Breakdown(
            dimensions=tuple(plan.align_on[key] for key in keys),
            members=int(rows[0][f"members_{index}"]),
            contributions=tuple(contributions),
            needed=_needed(contributions, self._whole(index)[1]),
        )

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

    async def _ask(self, statement: str) -> list[dict[str, Any]]:
        return python_rows(await self._workspace.run(statement, {}))

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
        select = sql.select([*keys, count], place.rows(), "rows")
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


def _statement(table: str, plan: ComparisonPlan, keys: Keys) -> str:
    """The SELECT of members with their sums: the largest ones for any of the measures."""
    by, sums = [f"key_{key}" for key in keys], list[str]()
    for index, measure in enumerate(plan.measures):
        number = stored_type("decimal", measure.scale)
        sums += [
            f"CAST(SUM(gap_{index}) AS {number}) AS net_{index}",
            f"CAST(SUM(ABS(gap_{index})) AS {number}) AS gross_{index}",
            f"COUNT(CASE WHEN status_{index} <> 'match' THEN 1 END) AS groups_{index}",
        ]
    members = f'SELECT {", ".join([*by, *sums])} FROM "{table}"'  # noqa: S608 - our own names
    if not keys:
        return members
    # Only the leading members are ranked: sorting all of them costs more than adding them up.
    columns, leading = ["*"], list[str]()
    for index in range(len(plan.measures)):
        order = ", ".join([f"gross_{index} DESC", *(f"{key} NULLS LAST" for key in by)])
        leading.append(f"FROM (FROM summed ORDER BY {order} LIMIT {MEMBERS})")
        columns += [
            f"ROW_NUMBER() OVER (ORDER BY {order}) AS rank_{index}",
            f"(SELECT COUNT_IF(gross_{index} <> 0) FROM summed) AS members_{index}",  # noqa: S608 - as above
        ]
    return (
        f"WITH summed AS MATERIALIZED ({members} GROUP BY {', '.join(by)})"  # noqa: S608 - as above
        f" SELECT {', '.join(columns)} FROM ({' UNION '.join(leading)})"
    )


def _needed(contributions: Iterable[Contribution], gross: Decimal) -> int | None:
    """How many of the largest members carry 80 % of the gross gap; None if more."""
    carried, enough = Decimal(0), EXACT.multiply(gross, _ENOUGH)
    for count, each in enumerate(contributions, 1):
        carried = EXACT.add(carried, each.gross)
        if EXACT.multiply(carried, _ALL) >= enough:
            return count
    return None
