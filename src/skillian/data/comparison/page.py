"""A page of what a comparison found: which classes and values, and in which order.

Orders are kept, so that pages far down do not sort again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

from pydantic import BaseModel, ConfigDict
from sqlglot import exp

from skillian.connectors.base import ColumnType
from skillian.connectors.duckdb.engine import Workspace
from skillian.data import sql
from skillian.data.query.filters import check_size, condition_sql, parse_filter
from skillian.data.sql.values import MAX_TEXT, Record, fetch_tree
from skillian.data.subjects import Subject
from skillian.errors import InvalidInputError, UnknownNameError, quoted
from skillian.tasks import SingleFlight

ROW_ID = "row_id"
"""The column of a relation that pages are read from with the `rowid` of its table."""
_ID, _PLACE = "id", "place"
_MOST = 4

Column = Literal["key", "a", "b", "gap", "size", "status", "rows_a", "rows_b"]
"""A column of a page: `size` is |b - a|; `key` refers to a part of the key, a value to its name."""

_OF_VALUE = ("a", "b", "gap", "size")
_COUNT = ColumnType("integer", "BIGINT")
_CONTAINS = "contains"
# DuckDB takes the dot of this one letter away: a search for it would find each i.
_FOLDED = "LOWER(REPLACE(CAST({} AS TEXT), '\u0130', 'i\u0307'))"


class _ColumnChoice(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    column: Column
    of: str = ""


class Order(_ColumnChoice):
    """Order by a column; rows without a value in it are last."""

    descending: bool = False


class ColumnFilter(_ColumnChoice):
    """The condition for a column's value, in the filter language.

    A key, and a value that is a text, may also be filtered by `{"contains": text}`, which ignores
    case.
    """

    filter: Any


class PageValue(NamedTuple):
    """A value that both sides have: a measure of a group, or a column of a row.

    Attributes:
        name: Its name.
        a: Its type in a.
        b: Its type in b.
        gap: The type of b - a; None if it is not a number on both sides.
    """

    name: str
    a: ColumnType
    b: ColumnType
    gap: ColumnType | None

    def type_of(self, column: Column) -> ColumnType:
        """The type of one of its columns; raises `InvalidInputError` without a gap."""
        kind = {"a": self.a, "b": self.b}.get(column, self.gap)
        if kind is None:
            raise InvalidInputError(f"{quoted(self.name)} has no gap, because it is not a number")
        return kind


@dataclass(frozen=True, slots=True)
class PageColumns:
    """The columns of a relation that pages are read from.

    These are `status`, `rows_a`, `rows_b`, `key_0` …, and `a_0`, `b_0` … with `gap_0` … for each
    value that has one.

    Attributes:
        keys: The names and types of the parts of the key.
        values: The values of both sides.
        statuses: The classes, in their order.
        kinds: What the parts of the key and the values are called in messages.
    """

    keys: Sequence[tuple[str, ColumnType]]
    values: Sequence[PageValue]
    statuses: Sequence[str]
    kinds: tuple[str, str] = ("dimension", "measure")

    def key_of(self, name: str) -> int:
        """The index of a part of the key; raises `UnknownNameError`."""
        return position(self.kinds[0], name, [each for each, _ in self.keys])

    def value_of(self, choice: _ColumnChoice) -> int:
        """The index of a value; raises `UnknownNameError`, or `InvalidInputError` without a gap."""
        index = position(self.kinds[1], choice.of, [each.name for each in self.values])
        self.values[index].type_of(choice.column)
        return index


@dataclass(frozen=True, slots=True)
class Page:
    """A selection of what a comparison found.

    Attributes:
        statuses: The classes.
        offset: How many to leave out before it.
        limit: How many; None for all.
        order: In which order; None for that of the kind of comparison.
        where: Conditions that must all hold.
        search: Texts of which the key or a value must contain one, whatever its case.
        uneven: Whether it also has groups that match and whose numbers of rows differ.
    """

    statuses: tuple[str, ...]
    offset: int = 0
    limit: int | None = None
    order: Order | None = None
    where: tuple[ColumnFilter, ...] = ()
    search: tuple[str, ...] = ()
    uneven: bool = False

    def of_subject(self, subject: Subject) -> Page:
        """This page, of all classes that differ if it names none.

        Raises:
            InvalidInputError: It names a class that is not known.
        """
        known = subject.classes
        for each in self.statuses:
            if each not in known:
                raise InvalidInputError(f"unknown class {quoted(each)}; use: {', '.join(known)}")
        statuses = self.statuses or subject.finding_classes(minor=True)
        return replace(self, statuses=tuple(dict.fromkeys(statuses)))

    def of(
        self,
        select: exp.Select,
        columns: PageColumns,
        parameters: sql.BoundValues,
        first: Sequence[exp.Expr],
    ) -> exp.Select:
        """Restrict a SELECT of all rows to this page; the values of its conditions are bound.

        If the page states no order, it is `first`.

        Raises:
            InvalidInputError: An order or a condition is invalid.
            UnknownNameError: It names a column that does not exist.
        """
        check_size(test.filter for test in self.where)
        classes = [sql.is_text(sql.bare("status"), each) for each in self.statuses]
        if self.uneven:
            classes.append(exp.NEQ(this=sql.bare("rows_a"), expression=sql.bare("rows_b")))
        conditions = [sql.any_of(classes)]
        conditions += [_tested(test, columns, parameters) for test in self.where]
        if self.search:
            conditions.append(_searched(self.search, columns, parameters))
        order = first if self.order is None else _ordered(self.order, columns)
        select.where(*conditions, copy=False)
        if order:
            select.order_by(*order, copy=False)
        if self.limit is not None:
            select.limit(self.limit, copy=False).offset(self.offset, copy=False)
        return select

    def counted(
        self, select: exp.Select, columns: PageColumns, parameters: sql.BoundValues
    ) -> exp.Select:
        """The SELECT that counts the rows on all pages of this kind; raises as `of`."""
        everything = replace(self, offset=0, limit=None, order=None)
        counted = everything.of(select, columns, parameters, ())
        counted.set("expressions", [sql.named(exp.Count(this=exp.Star()), "total")])
        return counted


class _Made(NamedTuple):
    table: str
    total: int


class PageOrders:
    """The orders of the pages of one table; the last few that were asked for are kept.

    Args:
        workspace: Where the table is.
        tables: The tables that are dropped with the comparison; orders are added to them.
    """

    def __init__(self, workspace: Workspace, tables: list[str]) -> None:
        self._workspace = workspace
        self._tables = tables
        self._made: dict[str, _Made] = {}
        self._making = SingleFlight[_Made]()

    async def read(
        self, page: Page, rows: exp.Select, columns: PageColumns, first: Sequence[exp.Expr]
    ) -> tuple[int, Sequence[Mapping[str, Any]]]:
        """How many rows all pages of this kind have, and those of a page.

        Args:
            page: The page.
            rows: The SELECT of all rows; it has a column `row_id`.
            columns: Its other columns.
            first: The order if the page states none.

        Raises:
            ToolError: As `Page.of` does, or the workspace has no space.
        """
        whole, values = replace(page, offset=0, limit=None), sql.BoundValues()
        tree, name = whole.of(rows, columns, values, first), repr(whole)
        made = self._made.pop(name, None)
        if made is None:
            work = partial(self._make, tree.copy(), values)
            made = await self._making.run(name, work)
        self._made[name] = made
        while len(self._made) > _MOST:
            oldest = self._made.pop(next(iter(self._made)))
            self._tables.remove(oldest.table)
            await self._workspace.drop(oldest.table)
        for clause in ("where", "order"):
            tree.set(clause, None)
        same = exp.EQ(this=sql.bare(ROW_ID), expression=sql.bare(_ID))
        tree.join(sql.table(made.table), on=same, copy=False)
        last = made.total if page.limit is None else page.offset + page.limit
        low, high = exp.Literal.number(page.offset + 1), exp.Literal.number(last)
        tree.where(exp.Between(this=sql.bare(_PLACE), low=low, high=high), copy=False)
        tree.order_by(sql.bare(_PLACE), copy=False)
        return made.total, await fetch_tree(self._workspace, tree)

    async def _make(self, tree: exp.Select, values: sql.BoundValues) -> _Made:
        place = exp.Window(this=exp.RowNumber(), order=tree.args["order"])
        tree.set("order", None)
        tree.set("expressions", [sql.named(sql.bare(ROW_ID), _ID), sql.named(place, _PLACE)])
        statement = sql.prepare(tree, self._workspace.dialect, values.values)
        table = await self._workspace.create(statement.text, statement.parameters)
        self._tables.append(table)
        counted = sql.select([sql.named(exp.Count(this=exp.Star()), "total")], table)
        [row] = await fetch_tree(self._workspace, counted)
        return _Made(table, int(row["total"]))


class ValueChange(NamedTuple):
    """A value that differs: its name, both sides, and the signed b - a of a measure."""

    name: str
    a: object
    b: object
    gap: Decimal | None = None


@dataclass(frozen=True, slots=True)
class PageRow(Record, ABC):
    """A group or a row on a page."""

    key: Mapping[str, object]
    status: str
    rows_a: int
    rows_b: int

    @property
    def differing(self) -> Sequence[str]:
        """The names of what differs, where both sides have it."""
        return [each.name for each in self.changes] if self.rows_a and self.rows_b else ()

    @property
    @abstractmethod
    def sizes(self) -> Mapping[str, Decimal]:
        """The sizes of its differences, by the names of what differs; "" is the whole row."""

    @property
    @abstractmethod
    def changes(self) -> Sequence[ValueChange]:
        """Its differences."""


RowT_co = TypeVar("RowT_co", bound=PageRow, covariant=True)


@dataclass(frozen=True, slots=True)
class ComparisonRows(Record, Generic[RowT_co]):
    """A page of groups or rows; `total` is how many there are on all pages."""

    cache_key: str
    statuses: tuple[str, ...]
    offset: int
    total: int
    rows: Sequence[RowT_co]


def _ordered(order: Order, columns: PageColumns) -> list[exp.Expr]:
    value = rank(columns.statuses) if order.column == "status" else _value(order, columns)
    first = exp.Ordered(this=value, desc=order.descending, nulls_first=False)
    keys = (sql.bare(f"key_{index}") for index in range(len(columns.keys)))
    return [first, *(exp.Ordered(this=key, nulls_first=False) for key in keys)]


def rank(statuses: Iterable[str]) -> exp.Expr:
    """The place of a row's class among these."""
    case = exp.case()
    for number, status in enumerate(statuses):
        test = sql.is_text(sql.bare("status"), status)
        case = case.when(test, exp.Literal.number(number), copy=False)
    return case


def _value(choice: _ColumnChoice, columns: PageColumns) -> exp.Expr:
    if choice.column == "key":
        return sql.bare(f"key_{columns.key_of(choice.of)}")
    if choice.column not in _OF_VALUE:
        return sql.bare(choice.column)
    index = columns.value_of(choice)
    if choice.column == "size":
        return exp.Abs(this=sql.bare(f"gap_{index}"))
    return sql.bare(f"{choice.column}_{index}")


def position(kind: str, name: str, names: Sequence[str]) -> int:
    """The index of a name; raises `UnknownNameError`."""
    if name not in names:
        raise UnknownNameError(kind, name, names, "this comparison")
    return names.index(name)


def _tested(test: ColumnFilter, columns: PageColumns, parameters: sql.BoundValues) -> exp.Expr:
    value = _value(test, columns)
    if test.column == "status":
        raise InvalidInputError("use `status`, not a filter, to select classes")
    if test.column == "key":
        name, kind = test.of, columns.keys[columns.key_of(test.of)][1]
    elif test.column in _OF_VALUE:
        kind = columns.values[columns.value_of(test)].type_of(test.column)
        name = f"{test.column} of {test.of}"
    else:
        name, kind = test.column, _COUNT
    part = _contained(test.filter)
    if part is not None and (test.column == "key" or kind.kind == "text"):
        return _contains(value, part, parameters)
    conditions = parse_filter(name, test.filter, kind)
    return sql.all_of(condition_sql(each, value, kind, parameters) for each in conditions)


def _searched(texts: Sequence[str], columns: PageColumns, parameters: sql.BoundValues) -> exp.Expr:
    names = [f"key_{index}" for index in range(len(columns.keys))]
    names += [f"{side}_{index}" for index in range(len(columns.values)) for side in "ab"]
    return sql.any_of(
        _contains(sql.bare(name), text, parameters) for text in texts for name in names
    )


def _contains(value: exp.Expr, text: str, parameters: sql.BoundValues) -> exp.Expr:
    if len(text) > MAX_TEXT:
        raise InvalidInputError(f"'contains' takes at most {MAX_TEXT} characters")
    found = f"STR_POSITION({_FOLDED.format('v')}, {_FOLDED.format('part')}) > 0"
    return sql.template(found, v=value, part=parameters.bind(text))


def _contained(test: object) -> str | None:
    """The text of `{"contains": text}`; None for other filters."""
    if not isinstance(test, Mapping):
        return None
    operators = cast("Mapping[object, object]", test)
    part = operators.get(_CONTAINS)
    return part if isinstance(part, str) and len(operators) == 1 else None
