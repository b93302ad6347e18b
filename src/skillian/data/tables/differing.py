"""All rows that differ, as one table: the class, the key, and the cells of both sides."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, cast

from sqlglot import exp

from skillian.connectors.base import ArrowBatch, ColumnType, Kind
from skillian.connectors.dialects import call
from skillian.data import sql
from skillian.data.comparison.page import (
    ROW_ID,
    Page,
    PageColumns,
    PageOrders,
    PageRow,
    PageValue,
    ValueChange,
    rank,
)
from skillian.data.sql import Statement
from skillian.data.sql.values import Record, fetch
from skillian.data.subjects import ROW_CLASSES, ROWS, RowClass
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.findings import MAX_SHOWN, in_order
from skillian.data.tables.place import StagedDifferences
from skillian.data.tables.statement import COUNTS, DIFFERING, DUPLICATE, ONLY_A, ONLY_B
from skillian.data.tables.types import ANY_DECIMAL, decimals_of, lengths_of, types_of
from skillian.data.tables.why.results import Why

_NUMBERS = dict(zip((DIFFERING, ONLY_A, ONLY_B, DUPLICATE), ROW_CLASSES, strict=True))
_SIDES = {"only_in_a": 0, "only_in_b": 1}
_TEXT = ColumnType("text", "VARCHAR")
_WHOLE = sql.DUCKDB_TYPES["integer"]
_DATED = frozenset(sql.DUCKDB_TYPES[kind] for kind in ("date", "timestamp", "timestamptz"))
_FINE = frozenset({"TIMESTAMP_NS", "TIMESTAMPTZ_NS"})
_PLANNED = 50  # columns whose lengths are read at once: planning time grows with their square
_NUMBER_KINDS = frozenset({"integer", "decimal", "float"})


@dataclass(frozen=True, slots=True)
class DifferingCell(Record):
    """A column of a row that differs: its value on both sides, and whether these differ."""

    a: object
    b: object
    differs: bool


@dataclass(frozen=True, slots=True)
class DifferingRow(PageRow):
    """A row that differs, or one that only one side has.

    A key that is repeated stands for several rows, and has no `cells`. `own` has the cells of a row
    of one side in the columns that only this side has.
    """

    status: RowClass
    cells: Mapping[str, DifferingCell]
    own: Mapping[str, object]

    @property
    def changes(self) -> Sequence[ValueChange]:
        """The cells that differ."""
        differing = ((name, cell) for name, cell in self.cells.items() if cell.differs)
        return [ValueChange(name, cell.a, cell.b) for name, cell in differing]

    @property
    def sizes(self) -> Mapping[str, Decimal]:
        """The number of rows of a repeated key, or of a row without a key; cells have no size."""
        if self.status == "duplicate":
            return {"": Decimal(max(self.rows_a, self.rows_b))}
        return {} if self.differing else {"": Decimal(abs(self.rows_b - self.rows_a))}


class _Cells(NamedTuple):
    """A column of the staged table: the text, and the types that it may be read as, best first."""

    text: str
    types: Sequence[str]


class _Compared(NamedTuple):
    """A compared column: its names, its position in the plan, and its cells on both sides."""

    pair: ColumnPair
    position: int
    a: _Cells
    b: _Cells


class DifferingRows:
    """The rows that differ, as long as the comparison keeps them.

    Of rows that are compared without a key, all columns are the key, and the class is `only_in_a`
    or `only_in_b` by which side has more of them.

    Attributes:
        table: The table of the workspace with all cells of the rows.
        why: What explains them, once that was asked.
    """

    subject: ClassVar = ROWS

    def __init__(self, staged: StagedDifferences) -> None:
        self.table = staged.table
        self.workspace = staged.workspace
        self.plan = plan = staged.plan
        self.why: Why | None = None
        prefix, keys = ("k", plan.pairs[: plan.keys]) if plan.keys else ("a", plan.pairs)
        self._keys = [
            (pair.a, _Cells(f"{prefix}{index}", types_of(pair.cells.a, pair.cells.b)))
            for index, pair in enumerate(keys)
        ]
        self._values = [
            _Compared(
                pair,
                index,
                _Cells(f"a{index}", types_of(pair.cells.a)),
                _Cells(f"b{index}", types_of(pair.cells.b)),
            )
            for index, pair in enumerate(plan.pairs)
            if 0 < plan.keys <= index
        ]
        self._lone = [
            _Cells(f"x{number}", types_of(each.type)) for number, each in enumerate(plan.lone)
        ]
        self._chosen: Mapping[str, str] | None = None

    @property
    def tables(self) -> Sequence[str]:
        """Its table in the workspace."""
        return (self.table,)

    async def page(self, page: Page, orders: PageOrders) -> tuple[int, tuple[DifferingRow, ...]]:
        """How many rows all pages of this kind have, and those of a page.

        Without an order, it is that of their classes and keys.

        Raises:
            InvalidInputError: An order or a condition of the page is invalid.
            UnknownNameError: It names a column that was not compared.
        """
        rows, columns = await self._rows(), await self.columns()
        total, found = await orders.read(page, rows, columns, self._order())
        return total, tuple(self._row(row) for row in found)

    async def total(self) -> int:
        """The number of rows, without reading their cells."""
        [row] = await self.ask("COUNT(*) AS total", f"WHERE class <> {COUNTS}")
        return int(row["total"])

    async def ask(
        self, columns: str, *clauses: str, values: Mapping[str, object] = MappingProxyType({})
    ) -> list[dict[str, Any]]:
        """The few rows of a SELECT over the table, in the SQL of DuckDB, with bound values."""
        text = f'SELECT {columns} FROM "{self.table}" {" ".join(clauses)}'  # noqa: S608 - our own names
        return await fetch(self.workspace, Statement(text, values))

    async def batches(self, page: Page | None = None) -> AsyncGenerator[ArrowBatch]:
        """Yield all rows of a page, or all there are; raises as `page`.

        The columns are `class` in words, `differing` (the names of the columns that differ),
        `rows a` and `rows b`, those of the key, for each compared column its cells, such as
        `amount a` and `amount b`, and for each column that only one side has its cells of the rows
        that only this side has. Numbers, dates and times have types of their own if all values of
        a column fit them; everything else is text. Without any row, an empty batch has the columns.
        """
        page = page or Page(tuple(ROW_CLASSES))
        parameters = sql.BoundValues()
        select = page.of(await self._rows(), await self.columns(), parameters, self._order())
        select.set("expressions", list(self._output()))
        statement = sql.prepare(select, self.workspace.dialect, parameters.values)
        count = 0
        async with aclosing(self.workspace.stream(statement.text, statement.parameters)) as found:
            async for batch in found:
                count += 1
                yield batch
        if not count:
            from skillian.connectors.arrow import empty_batch  # noqa: PLC0415 - slow to load

            empty = sql.prepare(select.limit(0), self.workspace.dialect, parameters.values)
            rows: Any = await self.workspace.run(empty.text, empty.parameters)
            yield empty_batch(rows.schema)

    async def columns(self) -> PageColumns:
        """What pages can be ordered and filtered by."""
        types = await self._types()
        return PageColumns(
            [(name, _column_type(cells, types)) for name, cells in self._keys],
            [
                PageValue(
                    each.pair.a,
                    _column_type(each.a, types),
                    _column_type(each.b, types),
                    _gap_type(each, types),
                )
                for each in self._values
            ],
            tuple(ROW_CLASSES),
            ("column", "column"),
        )

    async def _rows(self) -> exp.Select:
        """All rows with the columns that pages are read from, and `d_0` …, whether cells differ."""
        types = await self._types()
        columns = [f"{self._class} AS status", f"rowid AS {ROW_ID}"]
        for side, missing in (("a", ONLY_B), ("b", ONLY_A)):
            one = f"CASE WHEN class = {missing} THEN 0 ELSE 1 END"
            columns.append(f"COALESCE(rows_{side}, {one}) AS rows_{side}")
        for number, (_, cells) in enumerate(self._keys):
            columns.append(f"{_value(cells, types)} AS key_{number}")
        for number, each in enumerate(self._values):
            a, b = _value(each.a, types), _value(each.b, types)
            columns += [f"{a} AS a_{number}", f"{b} AS b_{number}"]
            if (gap := _gap_type(each, types)) is not None:
                columns.append(f"{_GAP.format(a=a, b=b, kind=gap.sql)} AS gap_{number}")
            columns.append(f"d{each.position} AS d_{number}")
        for number, cells in enumerate(self._lone):
            columns.append(f"{_value(cells, types)} AS x_{number}")
        text = f'SELECT {", ".join(columns)} FROM "{self.table}" WHERE class <> {COUNTS}'  # noqa: S608 - our own names
        # As it is: to parse it takes seconds for thousands of columns.
        rows = exp.Subquery(this=exp.Var(this=text), alias=exp.TableAlias(this=sql.name("page")))
        return exp.Select(expressions=[exp.Star()]).from_(rows, copy=False)

    def _order(self) -> list[exp.Expr]:
        keys = (exp.cast(sql.bare(f"key_{index}"), "TEXT") for index in range(len(self._keys)))
        return [exp.Ordered(this=rank(ROW_CLASSES)), *in_order(keys)]

    def _output(self) -> Iterator[exp.Expr]:
        free = partial(_free, taken=set[str]())
        case = exp.case()
        for status, words in ROW_CLASSES.items():
            case = case.when(sql.is_text(sql.bare("status"), status), sql.text(words), copy=False)
        yield sql.named(case, free("class"))
        if self.plan.keys:
            marked = [
                exp.case().when(sql.bare(f"d_{number}"), sql.text(each.pair.a), copy=False)
                for number, each in enumerate(self._values)
            ]
            listed = call("CONCAT_WS", sql.text(", "), *marked)
            yield sql.named(listed if marked else sql.text(""), free("differing"))
        for side in "ab":
            yield sql.named(sql.bare(f"rows_{side}"), free(f"rows {side}"))
        for number, (name, _) in enumerate(self._keys):
            yield sql.named(sql.bare(f"key_{number}"), free(name))
        for number, each in enumerate(self._values):
            for side, name in (("a", each.pair.a), ("b", each.pair.b)):
                yield sql.named(sql.bare(f"{side}_{number}"), free(f"{name} {side}"))
        for number, column in enumerate(self.plan.lone):
            side = "ab"[column.side]
            yield sql.named(sql.bare(f"x_{number}"), free(f"{column.name} {side}"))

    def _row(self, row: Mapping[str, Any]) -> DifferingRow:
        cells = {
            each.pair.a: DifferingCell(
                _shown(row[f"a_{number}"], each.a),
                _shown(row[f"b_{number}"], each.b),
                bool(row[f"d_{number}"]),
            )
            for number, each in enumerate(self._values)
            if row["status"] != "duplicate"
        }
        key = {
            name: _shown(row[f"key_{number}"], cells)
            for number, (name, cells) in enumerate(self._keys)
        }
        side = _SIDES.get(row["status"])
        own = {
            column.name: _shown(row[f"x_{number}"], self._lone[number])
            for number, column in enumerate(self.plan.lone)
            if column.side == side
        }
        return DifferingRow(key, row["status"], int(row["rows_a"]), int(row["rows_b"]), cells, own)

    async def _types(self) -> Mapping[str, str]:
        """The best type that all texts of each column are values of; empty for texts."""
        if self._chosen is None:
            cells = [each for _, each in self._keys]
            cells += [cell for each in self._values for cell in (each.a, each.b)]
            cells += self._lone
            chosen = dict.fromkeys((each.text for each in cells), "")
            sized = await self._sized([each for each in cells if each.types == ANY_DECIMAL])
            left = [(each, sized.get(each.text, each.types)) for each in cells]
            left = [(each, kinds) for each, kinds in left if kinds]
            while left:
                # The time that DuckDB plans other aggregates for grows with their square.
                tests = [
                    f"COUNT({each.text}) - COUNT({_fits(each, kinds[0])}) AS {each.text}"
                    for each, kinds in left
                ]
                [unfit] = await self.ask(", ".join(tests))
                chosen |= {each.text: kinds[0] for each, kinds in left if not unfit[each.text]}
                left = [(each, kinds[1:]) for each, kinds in left if unfit[each.text]]
                left = [(each, kinds) for each, kinds in left if kinds]
            self._chosen = chosen
        return self._chosen

    async def _sized(self, columns: Sequence[_Cells]) -> Mapping[str, Sequence[str]]:
        """The types of numbers without a limit: those that hold the digits of all their texts."""
        found: dict[str, Any] = {}
        for start in range(0, len(columns), _PLANNED):
            part = columns[start : start + _PLANNED]
            lengths = [lengths_of(each.text) for each in part]
            [row] = await self.ask(", ".join(lengths))
            found |= row
        return {each.text: decimals_of(each.text, found) for each in columns}

    @property
    def _class(self) -> str:
        """The class of a row."""
        if not self.plan.keys:
            return "CASE WHEN rows_a > rows_b THEN 'only_in_a' ELSE 'only_in_b' END"
        cases = (f"WHEN {number} THEN '{name}'" for number, name in _NUMBERS.items())
        return f"CASE class {' '.join(cases)} END"


# Infinities are equal, and have no difference.
_GAP = "TRY(CASE WHEN {a} = {b} THEN 0 ELSE CAST({b} AS {kind}) - CAST({a} AS {kind}) END)"


def _free(name: str, taken: set[str]) -> str:
    """A name that is not taken, and then is; a number follows one that was."""
    number, free = 1, name
    while free.casefold() in taken:
        number += 1
        free = f"{name} {number}"
    taken.add(free.casefold())
    return free


def _shown(value: object, cells: _Cells) -> object:
    """A value for people: a long text is cut."""
    if isinstance(value, Decimal) and cells.types[0] == _WHOLE:  # which is too long for 64 bits
        return int(value)
    if not isinstance(value, str) or len(value) <= MAX_SHOWN:
        return value
    return f"{value[:MAX_SHOWN]}… ({len(value) - MAX_SHOWN} more characters)"


def _fits(cells: _Cells, kind: str) -> str:
    """An expression that is NULL unless a text is a value of a type.

    A time that the type would round is not, nor a date in a year that Python does not have.
    """
    read = f"TRY_CAST({cells.text} AS {kind})"
    if kind != cells.types[-1] and cells.types[-1] in _FINE:
        read = f"CASE WHEN CAST({read} AS TEXT) = {cells.text} THEN {read} END"
    return f"CASE WHEN YEAR({read}) BETWEEN 1 AND 9999 THEN 1 END" if kind in _DATED else read


def _value(cells: _Cells, types: Mapping[str, str]) -> str:
    """The text in its type."""
    kind = types[cells.text]
    return f"TRY_CAST({cells.text} AS {kind})" if kind else cells.text


def _gap_type(compared: _Compared, types: Mapping[str, str]) -> ColumnType | None:
    """The type of b - a; None if a cell is not a number."""
    sides = [_column_type(each, types) for each in (compared.a, compared.b)]
    kinds = {each.kind for each in sides}
    if not kinds <= _NUMBER_KINDS:
        return None
    if "float" in kinds:
        return ColumnType("float", "DOUBLE")
    scale = max(each.scale for each in sides)
    return ColumnType("decimal", f"DECIMAL({sql.MAX_DIGITS}, {scale})", scale)


def _column_type(cells: _Cells, types: Mapping[str, str]) -> ColumnType:
    name = types[cells.text]
    if not name:
        return _TEXT
    kind = next((kind for kind, each in sql.DUCKDB_TYPES.items() if each == cells.types[0]), "")
    scale = int(name.rstrip(")").rpartition(",")[2]) if name.startswith("DECIMAL") else 0
    return ColumnType(cast("Kind", kind or "decimal"), name, scale)
