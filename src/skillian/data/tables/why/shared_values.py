"""Values that the rows of a difference have in common, and filters that leave these rows out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from skillian.data.results.rows import option_name
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.differing import DifferingRows
from skillian.data.tables.statement import DIFFERING, ONLY_A, ONLY_B
from skillian.data.tables.why.results import CLASSES, Fact

_LEAST = 8
_MOST_VALUES = 3
_SHARE = 0.9
_HALF = 0.5
_OTHERS = 20
_FEWEST = 3
_SHOWN = 100
_EDGE = 200
_FAR = 20
_ORDERED = {"number": "DOUBLE", "date": "DATE", "timestamp": "TIMESTAMP"}
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class InCommon:
    """Rows of a difference that have something in common.

    Attributes:
        column: The column in which they have it.
        test: The filter that leaves them out, in the filter language.
        options: The same as options of the command line, without quotes.
        words: What they have in common.
        facts: Each value that they have in common.
        rarity: The share of the other rows that differ of which it is true, too, lower if they are
            few; None if there are nearly none.
        within: The filter that keeps only these rows, of a range.
        count: How many of the rows have it in common.
    """

    column: str
    test: Any
    options: tuple[str, ...]
    words: str
    facts: tuple[Fact, ...] = ()
    rarity: float | None = None
    within: Mapping[str, str] = field(default_factory=dict[str, str])
    count: int = 0

    @property
    def rank(self) -> tuple[int, float]:
        """The likely cause first: one value, then a range or NULL, then several values."""
        if self.facts:
            return (0 if len(self.facts) == 1 else 2), len(self.facts) + (self.rarity or 0)
        return (3, 0) if self.rarity is None else (1, self.rarity)


class _Group(NamedTuple):
    """The rows of a difference, or those of them that a rule explains, and how many; as SQL."""

    subject: str
    test: str
    total: int
    all: str
    of: int


class SharedValues:
    """Looks for values that rows of a difference share.

    Args:
        rows: The rows that differ.
        others: Those that tell how rare a value is; by default the same ones.
    """

    def __init__(self, rows: DifferingRows, others: DifferingRows | None = None) -> None:
        self._rows = rows
        self._plan = rows.plan
        self._others = others

    async def of_class(self, name: str) -> list[InCommon]:
        """Of the rows of `only in a` or `only in b`, the most likely cause first."""
        number = ONLY_A if name == "only in a" else ONLY_B
        return await self._of(name, f"class = {number}", "a" if number == ONLY_A else "b", None)

    async def of_column(self, index: int, explained: str = "") -> list[InCommon]:
        """The same of the rows in which a column differs, or of those that a rule explains."""
        test = f"class = {DIFFERING} AND d{index}"
        return await self._of(self._plan.pairs[index].a, test, "a", index, explained)

    async def of_repeated(self, name: str) -> list[InCommon]:
        """The same of rows of `repeated in a` or `repeated in b`, compared without a key."""
        more, less = ("rows_a", "rows_b") if name.endswith("a") else ("rows_b", "rows_a")
        return await self._of(name, f"COALESCE({more}, 0) > COALESCE({less}, 0)", "a", None)

    async def _of(
        self, subject: str, test: str, side: str, differing: int | None, explained: str = ""
    ) -> list[InCommon]:
        own = f"{test} AND {explained}" if explained else test
        [row] = await self._rows.ask(f"COUNT(*) AS n, COUNT_IF({own}) AS own", f"WHERE {test}")
        group = _Group(subject, own, int(row["own"]), test, int(row["n"]))
        if group.total < _LEAST:
            return []
        found: list[InCommon] = []
        for position, pair in enumerate(self._plan.pairs):
            if position != differing:
                name = f"k{position}" if position < self._plan.keys else f"{side}{position}"
                found += [each async for each in self._in(group, name, pair)]
        # Without other rows to tell, a range of times is more likely than one of numbers.
        numbers = {pair.a for pair in self._plan.pairs if pair.cells.family == "number"}
        return sorted(found, key=lambda each: (each.rank, each.column in numbers))

    async def _in(self, group: _Group, cell: str, pair: ColumnPair) -> AsyncIterator[InCommon]:
        """Yield what the rows have in common in a column, if most others do not have it."""
        top = await self._top(group, cell)
        if top:
            values = [str(row["value"]) for row in top]
            bound = {f"v{number}": each for number, each in enumerate(values)}
            test = f"{{}} IN ({', '.join(f'${name}' for name in bound)})"
            rarity = await self._elsewhere(group, pair, test, bound)
            if rarity is None or rarity < _HALF:
                yield InCommon(
                    pair.a,
                    {"ne": values},
                    tuple(f"{option_name(pair.a)}!={each}" for each in values),
                    f"{pair.a} = {' or '.join(values)}",
                    tuple(
                        Fact(group.subject, pair.a, str(row["value"]), int(row["rows"]), group.of)
                        for row in top
                    ),
                    rarity,
                    count=sum(int(row["rows"]) for row in top),
                )
            return
        if group.subject not in CLASSES:
            if pair.cells.family in _ORDERED:
                async for each in self._range(group, cell, pair):
                    yield each
            return
        nullness = await self._nullness(group, cell, pair)
        if nullness is not None:
            yield nullness
        elif pair.cells.family in _ORDERED:
            async for each in self._ranges(group, cell, pair):
                yield each

    async def _nullness(self, group: _Group, cell: str, pair: ColumnPair) -> InCommon | None:
        """That the rows have no value, or that they have one, if most others do not."""
        [row] = await self._rows.ask(f"COUNT({cell}) AS n", f"WHERE {group.test}")
        count = int(row["n"])
        if _SHARE * group.total > count > (1 - _SHARE) * group.total:
            return None
        has_value = count >= _SHARE * group.total
        rarity = await self._elsewhere(group, pair, "{} IS NULL")
        if has_value:
            # Most columns have a value in all rows, so others must show that this one does not.
            if not rarity:
                return None
            rarity = await self._elsewhere(group, pair, "{} IS NOT NULL")
        if rarity is not None and rarity >= _HALF:
            return None
        words, kept = ("not NULL", "null") if has_value else ("NULL", "not null")
        test = None if has_value else {"ne": [None]}
        option = f"{option_name(pair.a)} is {kept}"
        return InCommon(pair.a, test, (option,), f"{pair.a} is {words}", rarity=rarity)

    async def _ranges(self, group: _Group, cell: str, pair: ColumnPair) -> AsyncIterator[InCommon]:
        """Yield the bounds above or below which nearly all of the rows are."""
        kind = _ORDERED[pair.cells.family]
        for is_low in (True, False):
            bound = await self._bound(group, cell, kind, is_low=is_low)
            sign = ">=" if is_low else "<="
            test = f"TRY_CAST({{}} AS {kind}) {sign} TRY_CAST($x AS {kind})"
            rarity = await self._elsewhere(group, pair, test, {"x": bound})
            if rarity is None or rarity < _HALF:
                name, operator = ("lt", "<") if is_low else ("gt", ">")
                yield InCommon(
                    pair.a,
                    {name: bound},
                    (f"{option_name(pair.a)}{operator}{bound}",),
                    f"{pair.a} {sign} {bound}",
                    rarity=rarity,
                )

    async def _range(self, group: _Group, cell: str, pair: ColumnPair) -> AsyncIterator[InCommon]:
        """Yield the range in which nearly all rows are that differ in a column."""
        kind = _ORDERED[pair.cells.family]
        low, high = [
            await self._bound(group, cell, kind, is_low=is_low) for is_low in (True, False)
        ]
        test = f"TRY_CAST({{}} AS {kind}) BETWEEN TRY_CAST($x AS {kind}) AND TRY_CAST($y AS {kind})"
        bound, inside = {"x": low, "y": high}, test.format(cell)
        counts = f"COUNT_IF({group.test} AND {inside}) AS n, COUNT_IF({inside}) AS inside"
        [row] = await self._rows.ask(counts, f"WHERE {group.all}", values=bound)
        rarity = await self._elsewhere(group, pair, test, bound)
        if int(row["n"]) >= _SHARE * group.total and (rarity is None or rarity < _HALF):
            within = {"gte": low, "lte": high}
            yield InCommon(pair.a, None, (), "", (), rarity, within, int(row["inside"]))

    async def _top(self, group: _Group, cell: str) -> list[dict[str, Any]]:
        """The fewest values that nearly all of the rows have; none if there are too many."""
        rows = await self._rows.ask(
            f'{cell} AS "value", COUNT_IF({group.test}) AS n, COUNT(*) AS "rows"',
            f"WHERE {group.all} GROUP BY {cell}",
            f'ORDER BY n DESC, "value" LIMIT {_MOST_VALUES}',
        )
        for count in range(1, len(rows) + 1):
            first = rows[:count]
            fits = all(row["value"] is not None and len(row["value"]) <= _SHOWN for row in first)
            enough = all(int(row["n"]) >= _LEAST for row in first)
            if fits and enough and sum(int(row["n"]) for row in first) >= _SHARE * group.total:
                return first
        return []

    async def _bound(self, group: _Group, cell: str, kind: str, *, is_low: bool) -> str:
        """The end of the values' range, without a few that lie far from the others."""
        typed = f"TRY_CAST({cell} AS {kind})"
        place = typed if kind == "DOUBLE" else f"EPOCH_US({typed})"
        rows = await self._rows.ask(
            f'{cell} AS "value", CAST({place} AS DOUBLE) AS place',
            f"WHERE {group.test} AND {typed} IS NOT NULL",
            f"ORDER BY place{'' if is_low else ' DESC'}",
            f"LIMIT {min(_EDGE, group.total // 4 + 2)}",
        )
        if not rows:
            return ""
        places = [float(row["place"]) for row in rows]
        gaps = [abs(after - before) for before, after in pairwise(places)]
        # Rows without the cause are among the outer ones; the inner half shows the usual step.
        inner = gaps[len(gaps) // 2 :]
        usual = sum(inner) / len(inner) if inner else 0
        least = max(_FAR * usual, min(filter(None, gaps), default=0))
        far = [number for number, gap in enumerate(gaps, 1) if gap > least]
        return str(rows[far[-1] if far else 0]["value"])

    async def _elsewhere(
        self, group: _Group, pair: ColumnPair, test: str, values: Mapping[str, str] = _NONE
    ) -> float | None:
        """The share of other rows that differ whose cell meets a test; None if they are few.

        Of few rows the share is that of more, as if it did not hold for the others.
        """
        rows = self._others or self._rows
        plan = rows.plan
        position = next((index for index, each in enumerate(plan.pairs) if each.a == pair.a), None)
        if position is None:
            return None
        cell = f"k{position}" if position < plan.keys else f"a{position}"
        if 0 < plan.keys <= position:
            cell = f"COALESCE(a{position}, b{position})"
        others = f"WHERE class IN ({DIFFERING}, {ONLY_A}, {ONLY_B})"
        others += f" AND NOT ({group.test})" if self._others is None else ""
        counts = f"COUNT(*) AS n, COUNT_IF({test.format(cell)}) AS same"
        [row] = await rows.ask(counts, others, values=values)
        count = int(row["n"])
        return None if count < _FEWEST else int(row["same"]) / max(count, _OTHERS)
