"""Values that the rows of a difference have in common, and filters that leave these rows out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from skillian.connectors.dialects import filled
from skillian.data import sql
from skillian.data.sql.rows import fetch_tree
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.differing import DifferingRows
from skillian.data.tables.statement import DIFFERING, ONLY_A, ONLY_B
from skillian.data.tables.why.results import Fact

_LEAST = 8
_MOST_VALUES = 3
_SHARE = 0.9
_HALF = 0.5
_OTHERS = 20
_SHOWN = 100
_EDGE = 200
_ORDERED = {"number": "DOUBLE", "date": "DATE", "timestamp": "TIMESTAMP"}


@dataclass(frozen=True, slots=True)
class InCommon:
    """Rows of a difference that have values of a column in common.

    Attributes:
        subject: The column that differs; or `only in a`, `only in b`.
        column: The column with the values.
        test: The filter that leaves them out, in the filter language.
        options: The same as options of the command line, without quotes.
        words: What they have in common.
        facts: Each value.
    """

    subject: str
    column: str
    test: Mapping[str, Any]
    options: tuple[str, ...]
    words: str
    facts: tuple[Fact, ...] = ()


class SharedValues:
    """Looks for values that rows of a difference share.

    Args:
        rows: The rows that differ.
    """

    def __init__(self, rows: DifferingRows) -> None:
        self._rows = rows
        self._plan = rows.plan

    async def of_class(self, name: str) -> list[InCommon]:
        """Of the rows of `only in a` or `only in b`, those of the fewest values first."""
        number = ONLY_A if name == "only in a" else ONLY_B
        test = sql.equals(sql.bare("class"), number)
        return await self._of(name, test, "a" if number == ONLY_A else "b", None)

    async def of_column(self, index: int) -> list[InCommon]:
        """The same of the rows in which a column differs."""
        test = exp.And(
            this=sql.equals(sql.bare("class"), DIFFERING), expression=sql.bare(f"d{index}")
        )
        return await self._of(self._plan.pairs[index].a, test, "a", index)

    async def _of(
        self, subject: str, test: exp.Expr, side: str, differing: int | None
    ) -> list[InCommon]:
        total = await self._count(test)
        if total < _LEAST:
            return []
        found: list[tuple[tuple[bool, int, float], InCommon]] = []
        for position, pair in enumerate(self._plan.pairs):
            if position == differing:
                continue
            name = f"k{position}" if position < self._plan.keys else f"{side}{position}"
            async for rarity, shared in self._in(subject, test, total, sql.bare(name), pair):
                found.append(((not shared.facts, len(shared.facts), rarity), shared))
        return [shared for _, shared in sorted(found, key=lambda each: each[0])]

    async def _in(
        self, subject: str, test: exp.Expr, total: int, value: exp.Expr, pair: ColumnPair
    ) -> AsyncIterator[tuple[float, InCommon]]:
        """Yield what the rows share in a column, and in which share of the others it occurs."""
        top = await self._top(test, value, total)
        if top:
            values = [str(row["value"]) for row in top]
            same = exp.In(this=value.copy(), expressions=[sql.text(each) for each in values])
            rarity = await self._elsewhere(test, same)
            if rarity is not None:
                yield (
                    rarity,
                    InCommon(
                        subject,
                        pair.a,
                        {"ne": values},
                        tuple(f"{pair.a}!={each}" for each in values),
                        f"{pair.a} = {' or '.join(values)}",
                        tuple(
                            Fact(subject, pair.a, str(row["value"]), int(row["n"]), total)
                            for row in top
                        ),
                    ),
                )
            return
        if pair.cells.family in _ORDERED and subject.startswith("only in "):
            kind = _ORDERED[pair.cells.family]
            for is_low in (True, False):
                bound = await self._bound(test, value, kind, total, is_low=is_low)
                template = f"TRY_CAST(v AS {kind}) {'>=' if is_low else '<='} TRY_CAST(x AS {kind})"
                beyond = filled(template, "duckdb", v=value, x=sql.text(bound))
                rarity = await self._elsewhere(test, beyond)
                if rarity is not None:
                    words = ("lt", "<", ">=") if is_low else ("gt", ">", "<=")
                    yield (
                        rarity,
                        InCommon(
                            subject,
                            pair.a,
                            {words[0]: bound},
                            (f"{pair.a}{words[1]}{bound}",),
                            f"{pair.a} {words[2]} {bound}",
                        ),
                    )

    async def _count(self, test: exp.Expr) -> int:
        columns: list[exp.Expr] = [sql.named(exp.Count(this=exp.Star()), "n")]
        [row] = await self._fetch(columns, test)
        return int(row["n"])

    async def _top(self, test: exp.Expr, value: exp.Expr, total: int) -> list[dict[str, Any]]:
        """The fewest values that nearly all of the rows have; none if there are too many."""
        columns: list[exp.Expr] = [
            sql.named(value.copy(), "value"),
            sql.named(exp.Count(this=exp.Star()), "n"),
        ]
        select = exp.Select(expressions=columns).from_(sql.table(self._rows.table), copy=False)
        select.where(test.copy(), copy=False).group_by(value.copy(), copy=False)
        select.order_by(exp.Ordered(this=sql.bare("n"), desc=True), copy=False)
        select.order_by(sql.bare("value"), copy=False).limit(_MOST_VALUES, copy=False)
        rows = await fetch_tree(self._rows.workspace, select)
        return next(_few(rows, total), None) or []

    async def _bound(
        self, test: exp.Expr, value: exp.Expr, kind: str, total: int, *, is_low: bool
    ) -> str:
        """The end of the values' range, without a few that lie far from the others."""
        typed = exp.TryCast(this=value.copy(), to=exp.DataType.build(kind, dialect="duckdb"))
        place = "CAST(v AS DOUBLE)" if kind == "DOUBLE" else "CAST(EPOCH_US(v) AS DOUBLE)"
        columns: list[exp.Expr] = [
            sql.named(value.copy(), "value"),
            sql.named(filled(place, "duckdb", v=typed), "place"),
        ]
        select = exp.Select(expressions=columns).from_(sql.table(self._rows.table), copy=False)
        select.where(test.copy(), sql.negated(sql.is_null(typed)), copy=False)
        select.order_by(exp.Ordered(this=sql.bare("place"), desc=not is_low), copy=False)
        select.limit(min(_EDGE, total // 10 + 2), copy=False)
        rows = await fetch_tree(self._rows.workspace, select)
        if not rows:
            return ""
        gaps = [
            abs(float(rows[index]["place"]) - float(rows[index - 1]["place"]))
            for index in range(1, len(rows))
        ]
        usual = sorted(gaps)[len(gaps) // 2] if gaps else 0
        widest = max(range(len(gaps)), key=gaps.__getitem__, default=0)
        start = widest + 1 if gaps and gaps[widest] > 10 * max(usual, 1e-9) else 0
        return str(rows[start]["value"])

    async def _elsewhere(self, test: exp.Expr, shared: exp.Expr) -> float | None:
        """The share of other kept rows for which it holds; None if it holds for most of them."""
        others = exp.And(
            this=sql.negated(exp.Paren(this=test.copy())),
            expression=exp.In(
                this=sql.bare("class"),
                expressions=[exp.Literal.number(each) for each in (DIFFERING, ONLY_A, ONLY_B)],
            ),
        )
        columns: list[exp.Expr] = [
            sql.named(exp.Count(this=exp.Star()), "n"),
            sql.named(filled("COUNT_IF(v)", "duckdb", v=shared), "same"),
        ]
        [row] = await self._fetch(columns, others)
        if int(row["n"]) < _OTHERS:
            return 0.0
        share = int(row["same"]) / int(row["n"])
        return share if share < _HALF else None

    async def _fetch(self, columns: list[exp.Expr], test: exp.Expr) -> list[dict[str, Any]]:
        select = exp.Select(expressions=list(columns))
        select.from_(sql.table(self._rows.table), copy=False).where(test.copy(), copy=False)
        return await fetch_tree(self._rows.workspace, select)


def _few(rows: list[dict[str, Any]], total: int) -> Iterator[list[dict[str, Any]]]:
    for count in range(1, len(rows) + 1):
        first = rows[:count]
        fits = all(row["value"] is not None and len(row["value"]) <= _SHOWN for row in first)
        enough = all(int(row["n"]) >= _LEAST for row in first)
        if fits and enough and sum(int(row["n"]) for row in first) >= _SHARE * total:
            yield first
