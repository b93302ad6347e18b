"""Rates: a number that differs by another factor for each value of another column."""

from __future__ import annotations

from skillian.data.sql import Statement
from skillian.data.sql.values import fetch
from skillian.data.tables.differing import DifferingRows
from skillian.data.tables.statement import DIFFERING
from skillian.data.tables.why.guesses import Guess, guessed
from skillian.data.tables.why.results import Cause, in_rows, of_rule

_LEAST = 8
_MOST_VALUES = 20
_NAMED = 4
_SHARE = 0.9
_LONGEST = 100
_FAMILIES = frozenset({"text", "number", "boolean"})
_SAMPLE = 2000


class Rates:
    """Looks for rates among rows that differ."""

    def __init__(self, rows: DifferingRows) -> None:
        self._rows = rows
        self._plan = rows.plan

    async def of_column(self, index: int) -> list[Cause]:
        """The rule of a column in the rows with each value of another column.

        Those of the most rows are first; there are none if there are not several rules.
        """
        best: tuple[float, int] = _SHARE, -1
        for position, pair in enumerate(self._plan.pairs):
            if position != index and pair.cells.family in _FAMILIES:
                share = await self._share(index, position)
                if share > best[0]:
                    best = share, position
        if best[1] < 0:
            return []
        name, other = self._plan.pairs[index].a, self._plan.pairs[best[1]].a
        rates = [
            (value, of_rule(name, guess, count))
            for value, count in await self._values(index, best[1])
            if (guess := await self._guess(index, best[1], value)) is not None
        ]
        several = len({rate.option for _, rate in rates}) > 1
        return [in_rows(rate, other, (value,)) for value, rate in rates] if several else []

    def _cells(self, index: int, position: int) -> str:
        """The pairs of numbers `a` and `b` that differ, with the value `v` of the other column."""
        value = f"k{position}" if position < self._plan.keys else f"a{position}"
        same = "" if position < self._plan.keys else f" AND NOT d{position}"
        return (
            f'(SELECT a{index} AS a, b{index} AS b, {value} AS v FROM "{self._rows.table}"'  # noqa: S608 - our own names
            f" WHERE class = {DIFFERING} AND d{index}{same}) AS cells"
        )

    async def _share(self, index: int, position: int) -> float:
        """The share of the numbers that are near the usual ratio of their value; 0 for no rates."""
        text = _SHARES.format(cells=self._cells(index, position))
        [row] = await fetch(self._rows.workspace, Statement(text, {}))
        if not row["total"] or not 1 < int(row["groups"] or 0) <= _MOST_VALUES:
            return 0.0
        return int(row["near"] or 0) / int(row["total"])

    async def _values(self, index: int, position: int) -> list[tuple[str, int]]:
        text = (
            f"SELECT v, COUNT(*) AS n FROM {self._cells(index, position)} WHERE v IS NOT NULL"  # noqa: S608 - as above
            f" GROUP BY v ORDER BY n DESC, v LIMIT {_NAMED}"
        )
        found = await fetch(self._rows.workspace, Statement(text, {}))
        return [
            (row["v"], int(row["n"]))
            for row in found
            if int(row["n"]) >= _LEAST and len(row["v"]) <= _LONGEST
        ]

    async def _guess(self, index: int, position: int, value: str) -> Guess | None:
        """The rule of a factor for the rows with a value."""
        cells, workspace = self._cells(index, position), self._rows.workspace
        text = f"SELECT a, b FROM {cells} WHERE v = $value LIMIT {_SAMPLE}"  # noqa: S608 - as above
        guesses = await guessed(workspace, text, self._plan.pairs[index], {"value": value})
        of_factors = (
            each
            for each in guesses
            if each.rule.factor is not None or each.rule.divisor is not None
        )
        return next(of_factors, None)


_SHARES = """
SELECT COUNT(*) AS total, COUNT(DISTINCT v) AS groups,
    COUNT_IF(ABS(ratio / NULLIF(usual, 0) - 1) < 0.01) AS near
FROM (
    SELECT v, ratio, MEDIAN(ratio) OVER (PARTITION BY v) AS usual
    FROM (
        SELECT v, TRY_CAST(b AS DOUBLE) / NULLIF(TRY_CAST(a AS DOUBLE), 0) AS ratio FROM {cells}
    ) AS ratios
) AS medians
"""
