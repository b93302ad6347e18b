"""Which ranges of the key differ, so that only their rows travel from two databases.

Each database adds up the digests of its rows by ranges of the key (`digests.py`); where the sums of
both agree, the rows are equal. Ranges that differ are divided once more. Ranges are those of an
integer column of the key, or of a digest of the key. A range in which a key is repeated counts as
one that differs, because its rows are a class of their own.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

from sqlglot import exp

from skillian.connectors.base import Connector
from skillian.data import sql
from skillian.data.comparison.place import together
from skillian.data.sql import prepare
from skillian.data.sql.values import python_rows
from skillian.data.tables.across.digests import DIALECTS, cell_of, digest, no_common_text
from skillian.data.tables.columns import ColumnPair

SMALL = 100_000
"""Up to this number of rows, both sides travel in about a second."""
RANGES = 4096
"""The ranges of the first look: 100 KB of sums for each side."""
PARTS = 16
"""The parts that a range is divided into, if it differs."""
FEW_ROWS = 256
"""The smallest range is about as large as this number of rows."""
MOST = 400
"""The largest number of ranges in a condition; more are joined, with the rows between them."""
_DIGEST_BITS = 60
_BIGINT_DIGITS = 18

Range = tuple[int, int]
"""From the first value to the one after the last."""
Sums = Mapping[int | None, tuple[int, int]]
"""The number of rows and the sum of their digests, by range; None is the range of NULL."""


class SegmentSide(Protocol):
    """The rows of one source."""

    parameters: sql.BoundValues

    @property
    def connector(self) -> Connector:
        """The database."""
        ...

    def value(self, column: str) -> exp.Expr:
        """The cell of a column."""
        ...

    def rows(self, columns: Sequence[exp.Expr]) -> exp.Select:
        """A SELECT of these expressions."""
        ...


@dataclass(slots=True)
class Segments:
    """The ranges that may differ.

    Attributes:
        ranges: The ranges; None if all rows have to travel.
        nulls: Whether the rows with NULL in the range's column may differ.
        equal_rows: The number of rows of each side in all other ranges.
        reason: Why all rows have to travel, of a table that is not small; otherwise empty.
        position: The key column of the ranges, by position; None for a digest of the key.
        received: The bytes that both databases returned.
        queries: The statements that computed the sums, in their order.
    """

    ranges: tuple[Range, ...] | None = None
    nulls: bool = False
    equal_rows: int = 0
    reason: str = ""
    position: int | None = None
    received: int = 0
    queries: list[str] = field(default_factory=list[str])

    def sentence(self) -> str:
        """Which rows travelled, and why; empty for small tables."""
        if self.ranges is not None:
            return (
                f"{self.equal_rows:,} rows of each side were found equal by checksums in their own"
                " databases; only ranges of the key that differ were copied."
            )
        return f"All rows were copied to compare them: {self.reason}." if self.reason else ""


class SegmentSearch:
    """Finds the ranges that differ.

    Args:
        pairs: The columns, those of the key first.
        keys: How many columns the key has.
        sides: The rows of a and b.
        unique: Whether no key can be repeated, for each side.
    """

    def __init__(
        self,
        pairs: Sequence[ColumnPair],
        keys: int,
        sides: tuple[SegmentSide, SegmentSide],
        *,
        unique: tuple[bool, bool],
    ) -> None:
        self._pairs = pairs
        self._keys = keys
        self._sides = sides
        self._unique = unique
        self._found = Segments()
        self._repeats: frozenset[int | None] = frozenset()

    async def run(self) -> Segments:
        """The ranges; raises `QueryError`."""
        if not self._keys:
            return self._found
        bounds = await self._bounds()
        most = max(int(each["rows"] or 0) for each in bounds)
        if most <= SMALL:
            return self._found
        self._found.reason = self._obstacle()
        if self._found.reason:
            return self._found
        low, high = self._chosen(bounds)
        parts = max(min(RANGES, most // FEW_ROWS), 1)
        fine = max(-(-(high - low) // (parts * PARTS)), 1)
        repeated = await together(
            *(self._repeated(index, low, fine) for index in (0, 1) if not self._unique[index])
        )
        self._repeats = frozenset(part for parts in repeated for part in parts)
        sums = await self._sums(low, fine * PARTS, None)
        different = _different(sums, {_coarse(part) for part in self._repeats})
        travelling = max(sum(side[key][0] for key in different if key in side) for side in sums)
        if travelling * 2 > most:
            self._found.reason = "more than half of the rows are in ranges of the key that differ"
            return self._found
        await self._divide(different, sums, low, fine)
        return self._found

    def tests(self, side: int) -> list[exp.Expr]:
        """The tests for the rows of a side that may differ."""
        value = self._ranged(side)
        tests = [_within(value, each) for each in self._found.ranges or ()]
        if self._found.nulls:
            tests.append(sql.is_null(value))
        return [exp.Paren(this=sql.any_of(tests or [exp.false()]))]

    def _obstacle(self) -> str:
        dialects = self._sides[0].connector.dialect, self._sides[1].connector.dialect
        if not DIALECTS.issuperset(dialects):
            other = next(each for each in dialects if each not in DIALECTS)
            return f"{other} computes no digests"
        for pair in self._pairs[: self._keys]:
            if "float" in {pair.cells.a.kind, pair.cells.b.kind}:
                return f"{pair.a} of the key is a binary float"
        for pair in self._pairs:
            reason = no_common_text(pair, dialects)
            if reason:
                return f"{reason}, which both databases do not write alike"
        return ""

    def _chosen(self, bounds: Sequence[Mapping[str, Any]]) -> Range:
        """Choose the integer column of the key with the widest range, otherwise the digest."""
        spans: dict[int, Range] = {}
        for position in self._integers():
            low = [
                int(each[f"low_{position}"])
                for each in bounds
                if each[f"low_{position}"] is not None
            ]
            high = [
                int(each[f"high_{position}"])
                for each in bounds
                if each[f"high_{position}"] is not None
            ]
            if low:
                spans[position] = min(low), max(high) + 1
        wide = {key: each for key, each in spans.items() if RANGES < each[1] - each[0] < 2**62}
        if not wide:
            self._found.position = None
            return 0, 2**_DIGEST_BITS
        self._found.position = max(wide, key=lambda each: wide[each][1] - wide[each][0])
        return wide[self._found.position]

    def _integers(self) -> list[int]:
        return [
            position
            for position, pair in enumerate(self._pairs[: self._keys])
            if all(
                kind.kind == "integer" and 0 < (kind.digits or 0) <= _BIGINT_DIGITS + 1
                for kind in (pair.cells.a, pair.cells.b)
            )
        ]

    async def _bounds(self) -> list[Mapping[str, Any]]:
        columns: list[list[exp.Expr]] = []
        for index in (0, 1):
            own: list[exp.Expr] = [sql.named(exp.Count(this=exp.Star()), "rows")]
            for position in self._integers():
                value = self._value(index, position)
                own.append(sql.named(exp.Min(this=value), f"low_{position}"))
                own.append(sql.named(exp.Max(this=value.copy()), f"high_{position}"))
            columns.append(own)
        rows = await together(
            *(self._ask(index, self._sides[index].rows(columns[index])) for index in (0, 1))
        )
        return [one for [one] in rows]

    async def _sums(self, low: int, width: int, ranges: Sequence[Range] | None) -> list[Sums]:
        """The number of rows and their digest for each range, on both sides."""

        async def one(index: int) -> Sums:
            dialect = self._sides[index].connector.dialect
            value = self._ranged(index)
            columns = [sql.named(_part(value, low, width), "part")]
            columns += [
                sql.named(self._value(index, position), f"c{position}")
                for position in range(len(self._pairs))
            ]
            rows = self._sides[index].rows(columns)
            if ranges is not None:
                rows.where(sql.any_of(_within(value, each) for each in ranges), copy=False)
            cells = [
                cell_of(pair, index, sql.bare(f"c{position}"))
                for position, pair in enumerate(self._pairs)
            ]
            select = exp.Select(
                expressions=[
                    sql.bare("part"),
                    sql.named(exp.Count(this=exp.Star()), "rows"),
                    sql.named(exp.Sum(this=digest(cells, dialect)), "digest"),
                ]
            )
            select.from_(rows.subquery(sql.name("cells"), copy=False), copy=False)
            found = await self._ask(index, select.group_by(sql.bare("part"), copy=False))
            return {
                None if row["part"] is None else int(row["part"]): (
                    int(row["rows"]),
                    int(row["digest"]),
                )
                for row in found
            }

        return await together(one(0), one(1))

    async def _repeated(self, index: int, low: int, width: int) -> frozenset[int | None]:
        """The ranges in which a key is repeated."""
        keys = {f"k{position}": self._value(index, position) for position in range(self._keys)}
        columns = [sql.named(_part(self._ranged(index), low, width), "part")]
        columns += [sql.named(value, name) for name, value in keys.items()]
        names = [sql.bare(name) for name in ("part", *keys)]
        repeated = exp.Select(expressions=[sql.bare("part")])
        rows = self._sides[index].rows(columns)
        repeated.from_(rows.subquery(sql.name("rows"), copy=False), copy=False)
        repeated.group_by(*names, copy=False)
        several = exp.GT(this=exp.Count(this=exp.Star()), expression=sql.one())
        repeated.having(several, copy=False)
        parts = exp.Select(expressions=[sql.bare("part")]).distinct(copy=False)
        parts.from_(repeated.subquery(sql.name("repeated"), copy=False), copy=False)
        found = await self._ask(index, parts)
        return frozenset(None if row["part"] is None else int(row["part"]) for row in found)

    async def _divide(
        self, different: Collection[int | None], sums: Sequence[Sums], low: int, fine: int
    ) -> None:
        """Divide the ranges that differ, and set the outcome."""
        found, width = self._found, fine * PARTS
        found.nulls = None in different
        found.ranges = _joined(_range(low, width, key) for key in different if key is not None)
        found.equal_rows = _rows_outside(sums[0], found, low, width)
        if found.ranges:
            coarse = found.ranges
            parts = await self._sums(low, fine, coarse)
            again = _different(parts, self._repeats)
            inside = [_range(low, fine, key) for key in again if key is not None]
            found.ranges = _joined(each for each in inside if _is_in(each[0], coarse))
            found.equal_rows += _rows_outside(parts[0], found, low, fine)

    def _value(self, index: int, position: int) -> exp.Expr:
        pair = self._pairs[position]
        return self._sides[index].value((pair.a, pair.b)[index])

    def _ranged(self, index: int) -> exp.Expr:
        """The integer that the ranges are of."""
        if self._found.position is not None:
            return self._value(index, self._found.position)
        dialect = self._sides[index].connector.dialect
        cells = [
            cell_of(pair, index, self._value(index, position))
            for position, pair in enumerate(self._pairs[: self._keys])
        ]
        return digest(cells, dialect)

    async def _ask(self, index: int, tree: exp.Select) -> list[Mapping[str, Any]]:
        side = self._sides[index]
        statement = await asyncio.to_thread(
            lambda: prepare(tree, side.connector.dialect, side.parameters.values)
        )
        self._found.queries.append(statement.text)
        rows: list[Mapping[str, Any]] = []
        stream = side.connector.stream(statement.text, statement.parameters)
        async with aclosing(stream) as batches:
            async for batch in batches:
                self._found.received += batch.nbytes
                rows += python_rows(batch)
        return rows


def _different(sums: Sequence[Sums], repeated: Collection[int | None]) -> set[int | None]:
    """The ranges whose sums differ, or in which a key is repeated."""
    a, b = sums
    return {key for key in {*a, *b} if a.get(key) != b.get(key) or key in repeated}


def _coarse(part: int | None) -> int | None:
    return None if part is None else part // PARTS


def _rows_outside(sums: Sums, found: Segments, low: int, width: int) -> int:
    """The number of rows that do not travel."""
    return sum(
        rows
        for key, (rows, _) in sums.items()
        if not (found.nulls if key is None else _is_in(low + key * width, found.ranges or ()))
    )


def _part(value: exp.Expr, low: int, width: int) -> exp.Expr:
    """The number of the range of a value."""
    whole = exp.Cast(this=value.copy(), to=exp.DataType.build("BIGINT"))
    apart = exp.Paren(this=exp.Sub(this=whole, expression=_number(low)))
    return exp.IntDiv(this=apart, expression=_number(width))


def _number(value: int) -> exp.Expr:
    number = exp.Literal.number(abs(value))
    return exp.Paren(this=exp.Neg(this=number)) if value < 0 else number


def _range(low: int, width: int, key: int) -> Range:
    return low + key * width, low + (key + 1) * width


def _within(value: exp.Expr, each: Range) -> exp.Expr:
    return exp.and_(
        exp.GTE(this=value.copy(), expression=_number(each[0])),
        exp.LT(this=value.copy(), expression=_number(each[1])),
        copy=False,
    )


def _is_in(value: int, ranges: Sequence[Range]) -> bool:
    """Whether a value is in one of the ranges, which are in order."""
    index = bisect_right(ranges, value, key=lambda each: each[0]) - 1
    return index >= 0 and value < ranges[index][1]


def _joined(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """The ranges in order, adjacent ones as one; at most `MOST`, by closing small gaps."""
    ordered = sorted(ranges)
    if not ordered:
        return ()
    gaps = sorted(b[0] - a[1] for a, b in pairwise(ordered))
    largest = gaps[-MOST] if len(gaps) >= MOST else 0
    joined = [ordered[0]]
    for each in ordered[1:]:
        if each[0] - joined[-1][1] <= largest:
            joined[-1] = joined[-1][0], each[1]
        else:
            joined.append(each)
    return tuple(joined)
