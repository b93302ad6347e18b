"""Reads counts, pairs and samples from the rows that differ, which are staged in the workspace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from sqlglot import exp

from skillian.connectors.dialects import filled
from skillian.data.declare.rules import Rule
from skillian.data.results.result import RowCounts
from skillian.data.results.rows import ColumnResult, CountedSample, RowSample, Samples, ValuePair
from skillian.data.sql import Statement
from skillian.data.sql.values import fetch
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.place import StagedDifferences
from skillian.data.tables.statement import COUNTS, DIFFERING, DUPLICATE, ONLY_A, ONLY_B

_CANDIDATES = 64
MAX_SHOWN = 1000
"""How many characters of a cell a result has; the number of the others follows."""
_EXACT = Context(prec=2000)


class Findings:
    """The staged rows that differ; `top` is how many pairs of values are read."""

    def __init__(self, staged: StagedDifferences, top: int) -> None:
        self._workspace = staged.workspace
        self._table = staged.table
        self._plan = staged.plan
        self._top = top
        self._compared = range(self._plan.keys, len(self._plan.pairs))

    async def counts(self) -> tuple[RowCounts, Mapping[int, int]]:
        """How many rows are in each class, and the mismatches by the index of the pair."""
        totals = {
            "n": "COUNT(*)",
            "rows_a": "SUM(rows_a)",
            "rows_b": "SUM(rows_b)",
            "repeated_a": "COUNT_IF(rows_a > 1)",
            "repeated_b": "COUNT_IF(rows_b > 1)",
            "more_a": "SUM(GREATEST(rows_a - rows_b, 0))",
            "more_b": "SUM(GREATEST(rows_b - rows_a, 0))",
        }
        if self._plan.keys:
            totals |= {f"d{index}": f"COUNT_IF(d{index})" for index in self._compared}
        columns = ", ".join(f"{text} AS {name}" for name, text in totals.items())
        rows = await self._rows(f"SELECT class, {columns}", "GROUP BY class")
        by_class = {
            row["class"]: {key: int(value or 0) for key, value in row.items()} for row in rows
        }
        return self._row_counts(by_class), {
            index: by_class.get(DIFFERING, {}).get(f"d{index}", 0) for index in self._compared
        }

    def _row_counts(self, by_class: Mapping[int, Mapping[str, int]]) -> RowCounts:
        def total(kind: int, name: str = "n") -> int:
            return by_class.get(kind, {}).get(name, 0)

        rows_a, rows_b = total(COUNTS, "rows_a"), total(COUNTS, "rows_b")
        if not self._plan.keys:
            more = total(DIFFERING, "more_a"), total(DIFFERING, "more_b")
            return RowCounts(rows_a, rows_b, 0, *more)
        return RowCounts(
            rows_a,
            rows_b,
            total(DIFFERING),
            total(ONLY_A),
            total(ONLY_B),
            total(DUPLICATE, "repeated_a"),
            total(DUPLICATE, "rows_a"),
            total(DUPLICATE, "repeated_b"),
            total(DUPLICATE, "rows_b"),
        )

    async def column(
        self, index: int, pair: ColumnPair, compared: int, mismatches: int
    ) -> ColumnResult:
        """The mismatches of a pair of columns, which has this index in the plan."""
        cells = pair.cells
        types = cells.a.sql, cells.b.sql
        pairs: tuple[ValuePair, ...] = ()
        gap = None
        if mismatches and self._plan.keys:
            pairs = await self._pairs(index)
            if cells.family in {"number", "float"}:
                gap = await self._largest_gap(index, cells.rule)
        return ColumnResult(
            pair.a, pair.b, *types, cells.rule.words(), compared, mismatches, gap, pairs
        )

    async def samples(
        self, limit: int, counts: RowCounts, mismatches: Mapping[int, int]
    ) -> Samples:
        """Up to `limit` rows of each class, in the order of their keys; mismatches are by pair."""
        if not limit:
            return Samples()
        if not self._plan.keys:
            return await self._multiset_samples(limit)
        unequal = [index for index in self._compared if mismatches[index]]
        rows = await self._of_class(DIFFERING, limit, unequal) if counts.differing else []
        differing = tuple(self._sample(row, unequal) for row in rows)
        classes = {
            ONLY_A: counts.only_in_a,
            ONLY_B: counts.only_in_b,
            DUPLICATE: counts.duplicate_keys_a + counts.duplicate_keys_b,
        }
        others = [
            tuple(self._counted(row) for row in await self._of_class(kind, limit)) if total else ()
            for kind, total in classes.items()
        ]
        return Samples(differing, *others)

    async def _pairs(self, index: int) -> tuple[ValuePair, ...]:
        a, b = f"a{index}", f"b{index}"
        rows = await self._rows(
            f"SELECT {_cut(a)} AS a, {_cut(b)} AS b, COUNT(*) AS n",
            f"WHERE d{index} GROUP BY {a}, {b} ORDER BY COUNT(*) DESC,"
            f" {a} NULLS FIRST, {b} NULLS FIRST LIMIT {self._top}",
        )
        return tuple(ValuePair(row["a"], row["b"], int(row["n"])) for row in rows)

    async def _largest_gap(self, index: int, rule: Rule) -> Decimal | None:
        """The largest difference: of the largest by binary floats, the exact one.

        It is that of the numbers after the rule's factor and sum; None if a rule divides or rounds.
        """
        if rule.divisor is not None or rule.round is not None:
            return None
        factor, plus = rule.factor or Decimal(1), rule.plus or Decimal(0)
        a = f"TRY_CAST(a{index} AS DOUBLE) * CAST('{factor:f}' AS DOUBLE)"
        a += f" + CAST('{plus:f}' AS DOUBLE)"
        gap = f"ABS({a} - TRY_CAST(b{index} AS DOUBLE))"
        rows = await self._rows(
            f"SELECT a{index} AS a, b{index} AS b",
            f"WHERE d{index} AND ISFINITE({gap}) ORDER BY {gap} DESC LIMIT {_CANDIDATES}",
        )
        gaps = [_gap(row["a"], row["b"], factor, plus) for row in rows]
        return max((each for each in gaps if each is not None), default=None)

    async def _of_class(
        self, kind: int, limit: int, shown: Sequence[int] = ()
    ) -> list[dict[str, Any]]:
        keys = [f"k{index}" for index in range(self._plan.keys)]
        names = ["class", "rows_a", "rows_b", *keys, *(f"d{index}" for index in shown)]
        test = f"WHERE class = {kind}"
        return await self._rows(_shown(names, shown), test, _ordered(keys, limit))

    async def _multiset_samples(self, limit: int) -> Samples:
        shown = _shown(["rows_a", "rows_b"], self._compared)
        order = _ordered([f"a{index}" for index in range(len(self._plan.pairs))], limit)

        async def only_in(more: str, less: str) -> tuple[CountedSample, ...]:
            test = f"WHERE class = {DIFFERING} AND rows_{more} > rows_{less}"
            rows = await self._rows(shown, test, order)
            every = len(self._plan.pairs)
            return tuple(
                CountedSample(self._named(row, "a", every), int(row["rows_a"]), int(row["rows_b"]))
                for row in rows
            )

        return Samples(only_in_a=await only_in("a", "b"), only_in_b=await only_in("b", "a"))

    def _sample(self, row: Mapping[str, Any], compared: Sequence[int]) -> RowSample:
        cells = {
            self._plan.pairs[index].a: (row[f"a{index}"], row[f"b{index}"])
            for index in compared
            if row[f"d{index}"]
        }
        return RowSample(self._named(row, "k", self._plan.keys), cells)

    def _counted(self, row: Mapping[str, Any]) -> CountedSample:
        kind, key = row["class"], self._named(row, "k", self._plan.keys)
        if kind == DUPLICATE:
            return CountedSample(key, int(row["rows_a"]), int(row["rows_b"]))
        return CountedSample(key, int(kind == ONLY_A), int(kind == ONLY_B))

    def _named(self, row: Mapping[str, Any], letter: str, count: int) -> dict[str, str | None]:
        """The cells of the first columns, by their names."""
        return {pair.a: row[f"{letter}{i}"] for i, pair in enumerate(self._plan.pairs[:count])}

    async def _rows(self, select: str, *clauses: str) -> list[dict[str, Any]]:
        text = f'{select} FROM "{self._table}" {" ".join(clauses)}'
        return await fetch(self._workspace, Statement(text, {}))


def _cut(cell: str) -> str:
    more = f"'… (' || CAST(LENGTH({cell}) - {MAX_SHOWN} AS TEXT) || ' more characters)'"
    return (
        f"CASE WHEN LENGTH({cell}) > {MAX_SHOWN} THEN LEFT({cell}, {MAX_SHOWN}) || {more}"
        f" ELSE {cell} END"
    )


def _shown(names: Sequence[str], cells: Sequence[int]) -> str:
    """Columns of the rows, and the cells of these pairs, long ones cut."""
    sides = (f"{side}{index}" for index in cells for side in "ab")
    return f"SELECT {', '.join([*names, *(f'{_cut(each)} AS {each}' for each in sides)])}"


def _ordered(names: Sequence[str], limit: int) -> str:
    """The first rows in the order of these texts, those that are numbers by their values."""
    keys = (f"TRY_CAST({name} AS DOUBLE) NULLS FIRST, {name} NULLS FIRST" for name in names)
    return f"ORDER BY {', '.join(keys)} LIMIT {limit}"


def in_order(texts: Iterable[exp.Expr]) -> Iterator[exp.Expr]:
    """Order rows by these texts, those that are numbers by their values."""
    for text in texts:
        number = filled("TRY_CAST(v AS DOUBLE)", "duckdb", v=text)
        yield exp.Ordered(this=number, nulls_first=True)
        yield exp.Ordered(this=text.copy(), nulls_first=True)


def _gap(a: str | None, b: str | None, factor: Decimal, plus: Decimal) -> Decimal | None:
    try:
        moved = _EXACT.fma(_number(a), factor, plus)
        return _EXACT.abs(_EXACT.subtract(moved, _number(b)))
    except (InvalidOperation, TypeError):
        return None


def _number(text: str | None) -> Decimal:
    return Decimal(text or "NaN")
