"""All rows that differ, as one table: the class, the key, and the cells of both sides."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from typing import Any, NamedTuple

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
from sqlglot import exp

from skillian.connectors.base import ArrowBatch
from skillian.connectors.duckdb.workspace import Workspace
from skillian.data import sql
from skillian.data.sql.templates import filled
from skillian.data.tables.findings import fetch, in_order
from skillian.data.tables.results import TableResult
from skillian.data.tables.statement import COUNTS, DIFFERING, DUPLICATE, ONLY_A, ONLY_B, TablePlan
from skillian.data.tables.types import CellType

_arrow: Any = pa  # pyarrow carries no types
_CLASSES = {
    DIFFERING: "differs",
    ONLY_A: "only in a",
    ONLY_B: "only in b",
    DUPLICATE: "duplicate key",
}
_TYPES = {
    "integer": "BIGINT",
    "float": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
}


class _ResultColumn(NamedTuple):
    """A column of the table: its name, its value, and the type that the texts may be read as."""

    name: str
    value: exp.Expr
    kind: str = ""


class DifferingRows:
    """The rows that differ, as long as the comparison keeps them.

    The columns are `class` (`differs`, `only in a`, `only in b`, `duplicate key`), `differing`
    (the names of the columns that differ), `rows a` and `rows b` (how many rows each side has),
    those of the key, and for each compared column its cells, `amount a` and `amount b`. Of rows
    that are compared without a key, the columns are there once, and the class is `only in a` or
    `only in b` by which side has more of them.

    Args:
        workspace: The workspace.
        table: The table in it, with all cells of the rows.
        plan: What was compared.
        result: The result of the comparison.
    """

    def __init__(
        self, workspace: Workspace, table: str, plan: TablePlan, result: TableResult
    ) -> None:
        self.workspace = workspace
        self.table = table
        self.plan = plan
        self.result = result

    async def batches(self) -> AsyncGenerator[ArrowBatch]:
        """Yield the rows in the order of their classes and keys; without any, an empty batch.

        Numbers, dates and times have types of their own if all values of a column fit them;
        everything else is text.
        """
        columns = list(self._columns())
        unfit = await self._unfit(columns)
        values = [
            sql.named(each.value if each.name in unfit or not each.kind else _read(each), each.name)
            for each in columns
        ]
        select = exp.Select(expressions=values).from_(sql.table(self.table), copy=False)
        select = select.where(self._is_row(), copy=False).order_by(*self._order(), copy=False)
        statement = sql.prepare(select, self.workspace.dialect, {})
        count = 0
        async with aclosing(self.workspace.stream(statement.text, {})) as batches:
            async for batch in batches:
                count += 1
                yield batch
        if not count:
            fields = [(each.name, _arrow.string()) for each in columns]
            yield _arrow.RecordBatch.from_pylist([], schema=_arrow.schema(fields))

    async def _unfit(self, columns: list[_ResultColumn]) -> set[str]:
        """The columns with a value that is not of their type."""
        typed = [each for each in columns if each.kind]
        if not typed:
            return set()
        tests = [
            sql.named(
                filled(
                    "COUNT_IF(a IS NOT NULL AND b IS NULL)", "duckdb", a=each.value, b=_read(each)
                ),
                f"n{number}",
            )
            for number, each in enumerate(typed)
        ]
        select = exp.Select(expressions=tests).from_(sql.table(self.table), copy=False)
        [row] = await fetch(self.workspace, select.where(self._is_row(), copy=False))
        return {each.name for number, each in enumerate(typed) if row[f"n{number}"]}

    def _columns(self) -> Iterator[_ResultColumn]:
        plan = self.plan
        names = _Names()
        yield _ResultColumn(names.free("class"), self._class())
        if plan.keys:
            marked = [
                exp.case().when(self._cell(f"d{index}"), sql.text(pair.a), copy=False)
                for index, pair in enumerate(plan.pairs)
                if index >= plan.keys
            ]
            listed = exp.Anonymous(this="CONCAT_WS", expressions=[sql.text(", "), *marked])
            yield _ResultColumn(names.free("differing"), listed if marked else sql.text(""))
        for side, missing in (("a", ONLY_B), ("b", ONLY_A)):
            one = exp.case().when(sql.equals(self._cell("class"), missing), sql.zero(), copy=False)
            rows = exp.Coalesce(
                this=self._cell(f"rows_{side}"), expressions=[one.else_(sql.one(), copy=False)]
            )
            yield _ResultColumn(names.free(f"rows {side}"), rows)
        for index, pair in enumerate(plan.pairs[: plan.keys]):
            kind = _type((pair.cells.a, pair.cells.b))
            yield _ResultColumn(names.free(pair.a), self._cell(f"k{index}"), kind)
        for index, pair in enumerate(plan.pairs):
            a, b = pair.cells.a, pair.cells.b
            if not plan.keys:
                yield _ResultColumn(names.free(pair.a), self._cell(f"a{index}"), _type((a, b)))
            elif index >= plan.keys:
                yield _ResultColumn(names.free(f"{pair.a} a"), self._cell(f"a{index}"), _type((a,)))
                yield _ResultColumn(names.free(f"{pair.b} b"), self._cell(f"b{index}"), _type((b,)))

    def _class(self) -> exp.Expr:
        if not self.plan.keys:
            text = "CASE WHEN a > b THEN 'only in a' ELSE 'only in b' END"
            return filled(text, "duckdb", a=self._cell("rows_a"), b=self._cell("rows_b"))
        case = exp.case()
        for number, name in _CLASSES.items():
            case = case.when(sql.equals(self._cell("class"), number), sql.text(name), copy=False)
        return case

    def _order(self) -> Iterator[exp.Expr]:
        yield exp.Ordered(this=self._class() if not self.plan.keys else self._cell("class"))
        prefix, count = ("k", self.plan.keys) if self.plan.keys else ("a", len(self.plan.pairs))
        yield from in_order(self._cell(f"{prefix}{index}") for index in range(count))

    def _is_row(self) -> exp.Expr:
        return exp.NEQ(this=self._cell("class"), expression=exp.Literal.number(COUNTS))

    def _cell(self, name: str) -> exp.Expr:
        """A column of the table; its own columns may have the names of those of the result."""
        return sql.column(name, self.table)


Keep = Callable[[DifferingRows], Awaitable[None]]
"""Gets the rows that differ; when it returns, they are dropped."""


class _Names:
    """Names that are all different; a number follows one that is taken."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def free(self, name: str) -> str:
        number, free = 1, name
        while free.casefold() in self._taken:
            number += 1
            free = f"{name} {number}"
        self._taken.add(free.casefold())
        return free


def _read(column: _ResultColumn) -> exp.Expr:
    """The text of a column in its type; NULL for one that is not of it."""
    return exp.TryCast(this=column.value.copy(), to=exp.DataType.build(column.kind, "duckdb"))


def _type(cells: tuple[CellType, ...]) -> str:
    """The type that the texts of these cells may be read as; empty for none."""
    kinds = {each.kind for each in cells}
    if any(each.nanos for each in cells):
        return ""
    if kinds <= {"integer", "decimal"} and "decimal" in kinds:
        scales = [each.scale for each in cells if each.scale is not None]
        return f"DECIMAL(38, {max(scales)})" if len(scales) == len(cells) else ""
    return _TYPES.get(next(iter(kinds)), "") if len(kinds) == 1 else ""
