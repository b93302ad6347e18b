"""Which ranges of the key differ, so that only their rows travel from two databases.

Each database adds up the digests of its rows by ranges of the key (`digests.py`); where the sums of
both agree, the rows are equal. Ranges are those of an integer column of the key, or of a digest of
the key, which a statement computes once for each row. A range in which a key is repeated counts as
one that differs, because its rows are a class of their own.

The sums cost about half as much as copying all rows, and are of no use if most ranges differ. So a
sample of the ranges is looked at first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlglot import exp

from skillian.data import sql
from skillian.data.declare.rules import EXACT
from skillian.data.sql import prepare
from skillian.data.sql.values import python_rows
from skillian.data.tables.across.digests import (
    DIALECTS,
    DigestCell,
    cell_of,
    digest,
    is_in_first_part,
    no_common_text,
)
from skillian.data.tables.columns import ColumnPair
from skillian.tasks import together

if TYPE_CHECKING:
    from skillian.data.tables.place import SideRows

SMALL = 5_000_000
"""Up to this number of cells, all that are not in DuckDB already travel in about two seconds."""
RANGES = 8192
"""The most ranges: less than 400 KB of sums for each side."""
FEW_ROWS = 64
"""The smallest range is about as large as this number of rows."""
SAMPLED = 16
"""Of this many ranges of an integer, one is in the sample; of digests, the first sixteenth."""
WORTH = 10
"""Sums are worth their cost if less than one row in this number has to travel."""
_DISTINCT = ("duckdb", "postgres", "mysql")
"""The dialects, the one first whose databases count different keys fastest."""
_DIGEST_BITS = 60
_BIGINT_DIGITS = 18


class Sum(NamedTuple):
    """The number of rows in a range, the sum of their digests, and whether a key is repeated."""

    rows: int
    digest: int
    has_repeats: bool = False


Sums = Mapping[int | None, Sum]
"""By range; None is the range of NULL."""


@dataclass(slots=True)
class Segments:
    """The ranges that may differ.

    Attributes:
        ranges: Their numbers; None if all rows have to travel.
        low: Where the first range begins.
        bits: The width of a range is a power of two, whose exponent this is.
        nulls: Whether the rows with NULL in the range's column may differ.
        equal_rows: The number of rows of each side in all other ranges.
        reason: Why all rows have to travel, of a table that is not small; otherwise empty.
        position: The key column of the ranges, by position; None for a digest of the key.
        received: The bytes that both databases returned.
        queries: The statements that computed the sums, in their order.
    """

    ranges: tuple[int, ...] | None = None
    low: int = 0
    bits: int = 0
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
        sides: tuple[SideRows, SideRows],
        *,
        unique: tuple[bool, bool],
    ) -> None:
        self._pairs = pairs
        self._keys = keys
        self._sides = sides
        self._unique = unique
        self._found = Segments()

    async def run(self) -> Segments:
        """The ranges; raises `QueryError`."""
        if not self._keys:
            return self._found
        bounds = await self._bounds()
        rows = [int(each["rows"] or 0) for each in bounds]
        far = [side.connector.dialect != "duckdb" for side in self._sides]
        if sum(compress(rows, far)) * len(self._pairs) <= SMALL:
            return self._found
        self._found.reason = self._obstacle()
        if self._found.reason:
            return self._found
        low, high = self._chosen(bounds)
        parts = max(min(RANGES, max(rows) // FEW_ROWS), 1)
        self._found.low, self._found.bits = low, ((high - low - 1) // parts).bit_length()
        sampled = await self._sums(is_sample=True)
        if _travelling(sampled) * WORTH > _rows(sampled):
            self._found.reason = "more than a tenth of a sample is in ranges of the key that differ"
            return self._found
        sums = await self._sums(is_sample=False)
        if _travelling(sums) * 2 > _rows(sums):
            self._found.reason = "more than half of the rows are in ranges of the key that differ"
            return self._found
        different = _different(sums)
        self._found.nulls = None in different
        self._found.ranges = tuple(sorted(key for key in different if key is not None))
        self._found.equal_rows = sum(
            each.rows for key, each in sums[0].items() if key not in different
        )
        return self._found

    def tests(self, side: int) -> list[exp.Expr]:
        """The tests for the rows of a side that may differ."""
        value, ranges = self._ranged(side), self._found.ranges or ()
        tests: list[exp.Expr] = []
        if ranges:
            numbers = [exp.Literal.number(each) for each in ranges]
            tests.append(exp.In(this=self._part(value), expressions=numbers))
        if self._found.nulls:
            tests.append(sql.is_null(value.copy()))
        either = exp.Paren(this=sql.any_of(tests or [exp.false()]))
        if self._found.position is None or self._found.nulls or not ranges:
            return [either]
        # By which a database can use an index.
        ends = ranges[0], ranges[-1] + 1
        first, end = (_number(self._found.low + (each << self._found.bits)) for each in ends)
        bounds = (
            exp.GTE(this=value.copy(), expression=first),
            exp.LT(this=value.copy(), expression=end),
        )
        return [*bounds, either]

    def _obstacle(self) -> str:
        dialects = self._sides[0].connector.dialect, self._sides[1].connector.dialect
        if not DIALECTS.issuperset(dialects):
            other = next(each for each in dialects if each not in DIALECTS)
            return f"{other} computes no digests"
        for pair in self._pairs[: self._keys]:
            if "float" in {pair.cells.a.kind, pair.cells.b.kind}:
                return f"{pair.a} of the key is a binary float"
            if pair.cells.rule != EXACT:  # by which keys of other texts may be repeated
                return f"{pair.a} of the key is compared by a rule"
        for pair in self._pairs:
            if pair.cells.rule.is_one_sided:  # by which equal texts may be unequal
                return f"{pair.a} is changed by a rule"
            reason = no_common_text(pair, dialects)
            if reason:
                return f"{reason}, which both databases do not write alike"
        return ""

    def _chosen(self, bounds: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
        """Choose the integer column of the key with the widest range, otherwise the digest."""
        spans: dict[int, tuple[int, int]] = {}
        for position in self._integers():
            low, high = (
                [int(each[name]) for each in bounds if each[name] is not None]
                for name in (f"low_{position}", f"high_{position}")
            )
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
        def bounds(index: int) -> exp.Select:
            columns: list[exp.Expr] = [sql.named(exp.Count(this=exp.Star()), "rows")]
            for position in self._integers():
                value = self._value(index, position)
                columns.append(sql.named(exp.Min(this=value), f"low_{position}"))
                columns.append(sql.named(exp.Max(this=value.copy()), f"high_{position}"))
            return self._sides[index].rows(columns)

        rows = await together(*(self._ask(index, bounds(index)) for index in (0, 1)))
        return [one for [one] in rows]

    async def _sums(self, *, is_sample: bool) -> list[Sums]:
        """The rows of each range, or of each in the sample, on both sides.

        Where the sums of both sides agree, so do their repeated keys, which one side looks for. It
        does not have to if the keys of one side cannot be repeated.
        """
        dialects = [side.connector.dialect for side in self._sides]
        looking = None
        if not is_sample and not any(self._unique):
            looking = min((0, 1), key=lambda index: _DISTINCT.index(dialects[index]))

        async def one(index: int) -> Sums:
            select = self._sum(index, is_sample=is_sample, distinct=index == looking)
            found = await self._ask(index, select)
            return {
                None if row["part"] is None else int(row["part"]): Sum(
                    int(row["rows"]),
                    int(row["digest"]),
                    int(row.get("keys", row["rows"])) < int(row["rows"]),
                )
                for row in found
            }

        return await together(one(0), one(1))

    def _sum(self, index: int, *, is_sample: bool, distinct: bool) -> exp.Select:
        positions = range(len(self._pairs))
        columns = [sql.named(self._ranged(index), "ranged")]
        columns += [sql.named(self._value(index, each), f"c{each}") for each in positions]
        values = [
            cell_of(pair, index, sql.bare(f"c{position}"))
            for position, pair in enumerate(self._pairs)
        ]
        digests = {"digest": digest(values, self._sides[index].connector.dialect)}
        key = sql.bare("ranged")
        if distinct and not self._is_key:
            columns.append(sql.named(self._digest(index), "key"))
            key = digests["key"] = sql.bare("key")
        cells = self._sides[index].rows(columns)
        named = [sql.named(value.copy(), name) for name, value in digests.items()]
        rows = sql.select([sql.bare("ranged"), *named], cells, "cells")
        # Each digest is computed once, and rows are grouped without their cells.
        rows.meta["apart"] = True
        part = self._part(sql.bare("ranged"))
        if is_sample and self._found.position is None:
            dialect = self._sides[index].connector.dialect
            cells.where(is_in_first_part(self._key_cells(index), dialect), copy=False)
        elif is_sample:
            number = exp.Literal.number(SAMPLED)
            other = exp.Mod(this=exp.Paren(this=part.copy()), expression=number)
            rows.where(exp.EQ(this=other, expression=sql.zero()), copy=False)
        counts: dict[str, exp.Expr] = {
            "part": part,
            "rows": exp.Count(this=exp.Star()),
            "digest": exp.Sum(this=sql.bare("digest")),
        }
        if distinct:
            counts["keys"] = exp.Count(this=exp.Distinct(expressions=[key.copy()]))
        select = sql.select([sql.named(each, name) for name, each in counts.items()], rows, "rows")
        return select.group_by(part.copy(), copy=False)

    def _part(self, value: exp.Expr) -> exp.Expr:
        """The number of the range of a value."""
        bits = exp.Literal.number(self._found.bits)
        if self._found.position is None:
            return exp.BitwiseRightShift(this=value.copy(), expression=bits)
        whole = exp.Cast(this=value.copy(), to=exp.DataType.build("BIGINT"))
        apart = exp.Paren(this=exp.Sub(this=whole, expression=_number(self._found.low)))
        return exp.BitwiseRightShift(this=apart, expression=bits)

    def _value(self, index: int, position: int) -> exp.Expr:
        pair = self._pairs[position]
        return self._sides[index].value((pair.a, pair.b)[index])

    def _ranged(self, index: int) -> exp.Expr:
        """The integer that the ranges are of."""
        if self._found.position is not None:
            return self._value(index, self._found.position)
        return self._digest(index)

    @property
    def _is_key(self) -> bool:
        """Whether the ranges are of an integer that stands for the whole key."""
        return self._found.position is None or self._keys == 1

    def _digest(self, index: int) -> exp.Expr:
        """The digest of the key."""
        return digest(self._key_cells(index), self._sides[index].connector.dialect)

    def _key_cells(self, index: int) -> list[DigestCell]:
        return [
            cell_of(pair, index, self._value(index, position))
            for position, pair in enumerate(self._pairs[: self._keys])
        ]

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


def _different(sums: Sequence[Sums]) -> set[int | None]:
    """The ranges whose sums differ, or in which a key is repeated."""
    a, b = sums
    return {
        key
        for key in {*a, *b}
        if key not in a
        or key not in b
        or a[key][:2] != b[key][:2]
        or a[key].has_repeats
        or b[key].has_repeats
    }


def _travelling(sums: Sequence[Sums]) -> int:
    """How many rows of a side are in ranges that differ, of the side that has more."""
    different = _different(sums)
    return max(sum(side[key].rows for key in different if key in side) for side in sums)


def _rows(sums: Sequence[Sums]) -> int:
    return max(sum(each.rows for each in side.values()) for side in sums)


def _number(value: int) -> exp.Expr:
    number = exp.Literal.number(abs(value))
    return exp.Paren(this=exp.Neg(this=number)) if value < 0 else number
