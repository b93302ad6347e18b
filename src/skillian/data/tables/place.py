"""Where rows are compared: in an engine that reads both sides, or staged in DuckDB."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from sqlglot import exp

from skillian.connectors.base import ColumnType, Connector
from skillian.connectors.dialects import filled
from skillian.connectors.duckdb.connector import EngineConnector
from skillian.connectors.duckdb.engine import Workspace
from skillian.connectors.duckdb.statement import column_type
from skillian.data import sql
from skillian.data.declare.rules import EXACT
from skillian.data.query.binding import BoundSource, SharedEngine, shared_engine
from skillian.data.query.filters import Condition, filtered_rows
from skillian.data.results.result import Proof
from skillian.data.sql import Statement, prepare
from skillian.data.sql.values import StatementEngine, fetch, fetch_tree
from skillian.data.tables.across.segments import Segments, SegmentSearch
from skillian.data.tables.cells import NATIVE, CellPair, exact_in_mysql
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.statement import (
    LoneColumn,
    TablePlan,
    TableSide,
    differences,
    has_repeated_keys,
)
from skillian.data.tables.types import (
    DIGITS,
    WRITTEN,
    CellKind,
    CellType,
    cell_type,
    transported,
    type_of_texts,
)
from skillian.errors import UnreadableColumnError
from skillian.tasks import Progress, phase, together

_MOST_CELLS = 1600
"""The most columns of what differs in PostgreSQL, three for a compared one; its limit is 1664."""


@dataclass(slots=True, eq=False)
class SideRows:
    """The rows of a source that the filters keep, where they are stored.

    Attributes:
        source: The source.
        where: The filters.
        parameters: Their values; both sides have the same, since one statement reads both.
        instead: Columns that are read as another value: as NULL if they have none, or a file's as
            texts or in the types of the other side.
        tests: What else the rows meet.
    """

    source: BoundSource
    where: Sequence[Condition]
    parameters: sql.BoundValues
    instead: Mapping[str, exp.Expr] = field(default_factory=dict[str, exp.Expr])
    tests: Sequence[exp.Expr] = ()

    @property
    def name(self) -> str:
        """The name of the source."""
        return self.source.name

    @property
    def connector(self) -> Connector:
        """The database."""
        return self.source.connector

    def type_of(self, column: str) -> CellType:
        """The type of a column's cells."""
        return cell_type(self.source.columns[column], self.connector.dialect)

    def value(self, column: str) -> exp.Expr:
        """The cell of a column."""
        value = self.instead.get(column)
        return sql.column(column, "source") if value is None else value.copy()

    def read_as(self, *, text: bool) -> list[str]:
        """The columns of a file that are read as texts; or its texts that are read as others."""
        casts = [item for item in self.instead.items() if isinstance(item[1].this, exp.Column)]
        return [name for name, cast in casts if cast.is_type(exp.DType.TEXT) == text]

    def rows(self, columns: Sequence[exp.Expr]) -> exp.Select:
        """A SELECT of these expressions."""
        select = filtered_rows(self.source, {}, self.where, self.parameters)
        select.set("expressions", list(columns))
        return select.where(*self.tests, copy=False) if self.tests else select

    async def has_values(self, column: str) -> bool:
        """Whether a cell of a column is not NULL; true if that cannot be read."""
        count = exp.Count(this=self.value(column))
        try:
            [row] = await self.fetch(self.rows([sql.named(count, "n")]))
        except UnreadableColumnError:
            return True
        return bool(row["n"])

    async def type_written(self, column: str, kind: CellKind) -> ColumnType | None:
        """The type of this kind that all texts of a file's column are written as; None without one.

        CSV has no other way to write a time, and JSON and workbooks often hold numbers as texts.
        """
        table, test = self.source.table, WRITTEN.get(kind)
        if test is None or not (table.inferred and table.engine == "files"):
            return None
        counts = {"others": f"COUNT_IF(NOT {test})", **DIGITS}
        columns = [
            sql.named(filled(count, "duckdb", v=self.value(column)), name)
            for name, count in counts.items()
        ]
        [row] = await self.fetch(self.rows(columns))
        name = "" if row["others"] else type_of_texts(kind, row["digits"], row["scale"])
        return column_type(name) if name else None

    async def first(self, cells: Mapping[str, CellType], limit: int) -> list[tuple[Any, ...]]:
        """The first rows, with the cells of these columns as they travel."""
        dialect = self.connector.dialect
        columns = [
            sql.named(transported(kind, self.value(name), dialect).value, f"c{number}")
            for number, (name, kind) in enumerate(cells.items())
        ]
        rows = await self.fetch(self.rows(columns).limit(limit, copy=False))
        return [tuple(row.values()) for row in rows]

    async def fetch(self, tree: exp.Expr) -> list[dict[str, Any]]:
        """Run a statement where the rows are stored, and return its few rows."""
        with self.reading(tree):
            return await fetch_tree(self.connector, tree, self.parameters.values)

    @contextmanager
    def reading(self, tree: exp.Expr) -> Generator[None]:
        """Name the column of the source in an error about a column of a statement's result."""
        try:
            yield
        except UnreadableColumnError as error:
            select = tree.find(exp.Select)
            values = [] if select is None else select.expressions
            names = {each.alias: each.find(exp.Column) for each in values}
            columns = {alias: column.name for alias, column in names.items() if column is not None}
            raise error.of(self.name, columns) from None


def null_of(kind: CellType, dialects: tuple[str, str]) -> exp.Expr:
    """The NULL in place of a column of one side that has the type of the other's."""
    is_copied = dialects[0] != dialects[1] or dialects[0] not in NATIVE
    if is_copied or '"NULL"' in kind.sql:
        return exp.Null()  # a copy gets the column's type; DuckDB cannot cast to its type of NULL
    return exp.cast(exp.Null(), exp.DataType.build(kind.sql, dialect=dialects[0], udt=True))


@dataclass(frozen=True, slots=True)
class StagedDifferences:
    """The rows that differ, staged in a table of a workspace."""

    plan: TablePlan
    workspace: Workspace
    table: str
    proof: Proof


class RowComparison:
    """One comparison of rows.

    Args:
        workspace: Where differences are staged, and both sides unless one database has both.
        sides: The rows of a and b.
        progress: Gets the name of a source and how many of its rows are staged.
        pairs: The columns, those of the key first.
        keys: How many columns the key has.
        lone: The names of the columns that only a and only b has, if rows that differ are staged
            with all of their cells; those of only one side then have the cells of these, too.
    """

    def __init__(
        self,
        workspace: Workspace,
        sides: tuple[SideRows, SideRows],
        progress: Progress | None,
        pairs: Sequence[ColumnPair],
        keys: int,
        *,
        lone: tuple[Sequence[str], Sequence[str]] | None,
    ) -> None:
        self._workspace = workspace
        self._stage = workspace
        self._held = AsyncExitStack()
        self._lone = lone if lone is not None and keys else ((), ())
        self.pairs = tuple(pairs)
        self._keys = keys
        self.sides = sides
        self._progress = progress
        self._whole = lone is not None
        self._tables: list[str] = []
        self.segments = Segments()

    async def run(self, started: str) -> StagedDifferences:
        """Compare, and stage the rows that differ; raises `QueryError`."""
        a, b = self.sides
        engine: StatementEngine
        place: Literal["database", "workspace"]
        shared = await shared_engine(a.source, b.source)
        if shared is not None and self._is_native(shared.engine.dialect):
            self.sides = replace(a, source=shared.a), replace(b, source=shared.b)
            plan, engine, queries = self._in_database(shared), shared.engine, dict[str, Statement]()
            place = "database"
            phase("joining in the database")
        else:
            phase("comparing checksums")
            await self._narrow()
            phase("reading")
            plan, queries = await self._staged()
            engine, place = self._workspace, "workspace"
            phase("joining")
        plan = replace(plan, repeats=await self._may_have_repeats(plan, engine))
        statement = self._prepared(differences(plan), engine)
        table = await self._stored(plan, statement, engine)
        await self._workspace.drop(*self._tables)  # both sides
        self._tables = [table]
        proof = Proof(statement.text, queries, started, place=place, dialect=plan.dialect)
        return StagedDifferences(plan, self._stage, table, proof)

    async def _stored(self, plan: TablePlan, statement: Statement, engine: StatementEngine) -> str:
        """Stage what differs: beside both sides if it is not kept, and their engine can."""
        if not self._whole and isinstance(engine, EngineConnector):
            beside = await self._held.enter_async_context(engine.staging())
            if beside is not None:
                self._stage = beside
                return await beside.store(plan.columns(), statement.text, statement.parameters)
        batches = engine.stream(statement.text, statement.parameters)
        # One row has the counts.
        return await self._workspace.stage(
            plan.columns(), batches, lambda rows: phase("staging what differs", rows - 1)
        )

    async def drop(self) -> None:
        """Drop what is staged."""
        await self._stage.drop(*self._tables)
        await self._held.aclose()

    def _is_native(self, dialect: str) -> bool:
        """Whether the database of both sides can compare their rows."""
        cells = 3 * len(self.pairs) + sum(map(len, self._lone))
        if dialect == "postgres" and cells > _MOST_CELLS:
            return False
        if dialect != "mysql":
            return dialect in NATIVE
        pairs = self.pairs[: self._keys]
        by_primary_key = self._is_unique() and all(
            len(side.source.table.primary_key) == self._keys for side in self.sides
        )
        return by_primary_key and all(
            exact_in_mysql(pair.cells, is_key=pair in pairs) for pair in self.pairs
        )

    def _in_database(self, shared: SharedEngine) -> TablePlan:
        a, b = (
            TableSide(tuple(side.value((pair.a, pair.b)[index]) for pair in self.pairs), side.rows)
            for index, side in enumerate(self.sides)
        )
        dialect = shared.engine.dialect
        unique, required = self._is_unique(), self._required()
        return TablePlan(
            *(self.pairs, self._keys, a, b, dialect),
            unique=unique,
            required=required,
            whole=self._whole,
            lone=tuple(
                LoneColumn(name, index, side.type_of(name), side.value(name))
                for index, side in enumerate(self.sides)
                for name in self._lone[index]
            ),
        )

    def _is_unique(self) -> bool:
        """Whether primary keys guarantee that no key is repeated on either side."""
        return self._is_unique_on(0) and self._is_unique_on(1)

    def _is_unique_on(self, index: int) -> bool:
        """Whether a primary key guarantees that no key is repeated on a side."""
        pairs, table = self.pairs[: self._keys], self.sides[index].source.table
        if any(pair.cells.rule != EXACT for pair in pairs):
            return False
        key = frozenset(table.primary_key)
        names = {(pair.a, pair.b)[index] for pair in pairs}
        return bool(key) and names.issuperset(key) and table.required_key == key

    def _required(self) -> frozenset[int]:
        """The columns of the key, by index, that primary keys keep from being NULL."""
        never_null = [side.source.table.required_key for side in self.sides]
        return frozenset(
            index
            for index, pair in enumerate(self.pairs[: self._keys])
            if pair.cells.rule == EXACT and pair.a in never_null[0] and pair.b in never_null[1]
        )

    async def _narrow(self) -> None:
        """Leave out the rows in ranges of the key that are equal on both sides."""
        a, b = self.sides
        unique = self._is_unique_on(0), self._is_unique_on(1)
        search = SegmentSearch(self.pairs, self._keys, (a, b), unique=unique)
        self.segments = await search.run()
        if self.segments.ranges is not None:
            self.sides = replace(a, tests=search.tests(0)), replace(b, tests=search.tests(1))

    async def _staged(self) -> tuple[TablePlan, dict[str, Statement]]:
        loaded = await together(*(self._load(index) for index in (0, 1)))
        pairs = tuple(
            replace(pair, cells=CellPair(one, other, pair.cells.family, pair.cells.rule))
            for pair, one, other in zip(self.pairs, loaded[0].types, loaded[1].types, strict=False)
        )
        values = tuple(sql.column(f"c{index}", "source") for index in range(len(pairs)))
        a, b = (TableSide(values, partial(_staged_rows, each.table)) for each in loaded)
        queries = {side.name: each.query for side, each in zip(self.sides, loaded, strict=True)}
        lone = tuple(
            LoneColumn(name, index, kind, sql.column(f"c{number}", "source"))
            for index, names in enumerate(self._lone)
            for number, (name, kind) in enumerate(
                zip(names, loaded[index].types[len(pairs) :], strict=True), len(pairs)
            )
        )
        plan = TablePlan(pairs, self._keys, a, b, "duckdb", unique=self._is_unique())
        equal_rows = self.segments.equal_rows
        return replace(plan, equal_rows=equal_rows, whole=self._whole, lone=lone), queries

    async def _load(self, index: int) -> _Loaded:
        """Stage the compared columns of a side, and those that only it has."""
        side = self.sides[index]
        dialect = side.connector.dialect
        kinds = [pair.on(index) for pair in self.pairs]
        kinds += [(name, side.type_of(name)) for name in self._lone[index]]
        columns = [transported(kind, side.value(name), dialect) for name, kind in kinds]
        named = [sql.named(each.value, f"c{number}") for number, each in enumerate(columns)]
        tree = side.rows(named)
        query = prepare(tree, dialect, side.parameters.values)
        stored = {f"c{number}": each.stored for number, each in enumerate(columns)}
        report = None if self._progress is None else partial(self._progress, side.name)
        batches = side.connector.stream(query.text, query.parameters)
        with side.reading(tree):
            table = await self._workspace.stage(stored, batches, report)
        self._tables.append(table)
        return _Loaded(table, tuple(each.type for each in columns), query)

    async def _may_have_repeats(self, plan: TablePlan, engine: StatementEngine) -> bool:
        if not plan.keys or plan.unique:
            return False
        if plan.dialect != "duckdb":
            return True
        [row] = await fetch(engine, self._prepared(has_repeated_keys(plan), engine))
        return bool(row["repeated"])

    def _prepared(self, tree: exp.Expr, engine: StatementEngine) -> Statement:
        return prepare(tree, engine.dialect, self.sides[0].parameters.values)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A staged side: its table, the types of its columns, and the statement that fetched it."""

    table: str
    types: tuple[CellType, ...]
    query: Statement


def _staged_rows(table: str, columns: Sequence[exp.Expr]) -> exp.Select:
    relation = exp.alias_(sql.table(table), sql.name("source"), table=True)
    return exp.Select(expressions=list(columns)).from_(relation, copy=False)
