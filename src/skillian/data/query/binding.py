"""Sources bound to their databases: logical names as SQL, and two of them read in one state."""

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, NamedTuple, Self

from cachetools import TTLCache
from sqlglot import exp

from skillian.connectors.base import ColumnType, Connector, HoldsState, NoticesChanges, Table
from skillian.connectors.dialects import compile_sql, replaced
from skillian.data import sql
from skillian.data.declare.definitions import Dimension, Measure, Source
from skillian.data.declare.sources import Connections, SourceRegistry
from skillian.data.query.dimensions import DimensionBuilder
from skillian.data.query.queries import admitted_query, rows_of_query
from skillian.data.sql.admission import admit_expression
from skillian.data.sql.values import StatementEngine, python_rows
from skillian.errors import QueryError, UnknownNameError, nearest
from skillian.tasks import SingleFlight

Tables = Mapping[str, Table]
"""Tables by `schema.name`; those of the default schema first."""

_ROWS = "source"
_CONNECTIONS = 1000
_CATALOGUE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Term:
    """A logical name's value in one row: its SQL and its type."""

    name: str
    value: exp.Expr
    type: ColumnType


@dataclass(frozen=True, slots=True)
class MeasureTerm(Term):
    """A measure's value in one row, and how it is aggregated.

    Attributes:
        definition: The declared measure.
        code: The row's NaN or infinity as a number, if the type of the value cannot hold it.
        may_be_nan: Whether the value itself may be NaN.
        float_type: The type of the binary float that the value represents exactly, or empty.
    """

    definition: Measure
    code: exp.Expr | None = None
    may_be_nan: bool = False
    float_type: str = ""

    @property
    def has_code(self) -> bool:
        """Whether values may be NaN or infinite."""
        return self.code is not None or self.may_be_nan


@dataclass(frozen=True, slots=True)
class BoundSource:
    """A source whose table or query and columns are known to exist.

    With `first_rows`, statements read at most that many of its rows, in no particular order.
    `table` is what the catalogue says of its table, or of the columns of its query.
    """

    name: str
    definition: Source
    connector: Connector
    relation: exp.Expr
    columns: Mapping[str, ColumnType]
    table: Table
    first_rows: int | None = None

    def dimension(self, name: str, parameters: sql.BoundValues) -> Term:
        """The value of a dimension.

        Raises `UnknownNameError` for an undeclared name, and `QueryError` for a declaration that
        does not fit the column.
        """
        definition = self.definition.dimensions.get(name)
        if definition is None:
            raise UnknownNameError("dimension", name, self.definition.dimensions, self.name)
        column = self._column(definition.column, f"dimension {name!r}")
        builder = DimensionBuilder(definition, parameters)
        try:
            value, kind = builder.build(sql.column(column, _ROWS), self.columns[column])
        except QueryError as error:
            raise QueryError(f"dimension {name!r} of {self.name}: {error}") from None
        return Term(name, value, kind)

    async def measures(self, names: Iterable[str]) -> tuple[MeasureTerm, ...]:
        """The values of measures; the database determines the types of expressions.

        Raises as `dimension` does.
        """
        values = {name: self._measure_value(name) for name in names}
        if not values:
            return ()
        # Numbered, since a database may cut long names.
        numbered = [
            sql.named(value.copy(), f"v{index}") for index, value in enumerate(values.values())
        ]
        select = exp.Select(expressions=numbered)
        statement = compile_sql(self.rows(select), self.connector.dialect)
        types = await self.connector.describe(statement)
        return tuple(
            MeasureTerm(name, value, types[f"v{index}"], self.definition.measures[name])
            for index, (name, value) in enumerate(values.items())
        )

    def with_columns(self, names: Iterable[str]) -> Self:
        """The source with columns of these names, which need no declaration, as dimensions.

        A declared dimension of a name has precedence.
        """
        added = {
            name: Dimension.model_construct(column=name)
            for name in names
            if name not in self.definition.dimensions and self.column_of(name) is not None
        }
        dimensions = {**self.definition.dimensions, **added}
        measures = {k: v for k, v in self.definition.measures.items() if k not in added}
        update = {"dimensions": dimensions, "measures": measures}
        return replace(self, definition=self.definition.model_copy(update=update))

    def column_of(self, name: str | None) -> str | None:
        """The column that a declaration means; None if there is none."""
        return None if name is None else match_name(name, self.columns)

    async def read(self, select: exp.Select, parameters: sql.BoundValues) -> list[dict[str, Any]]:
        """The rows of a SELECT, within the limits of a query."""
        statement = compile_sql(select, self.connector.dialect)
        return python_rows(await self.connector.run(statement, parameters.values))

    def rows(self, select: exp.Select) -> exp.Select:
        """A SELECT of expressions with this source as its FROM."""
        if self.first_rows is None:
            return select.from_(self.relation.copy(), copy=False)
        names = dict.fromkeys(column.name for column in select.find_all(exp.Column))
        used: list[exp.Expr] = [sql.column(name, _ROWS) for name in names]
        used = used or [sql.named(sql.one(), "n")]
        first = exp.Select(expressions=used).from_(self.relation.copy(), copy=False)
        first = first.limit(self.first_rows, copy=False)
        return select.from_(first.subquery(sql.name(_ROWS), copy=False), copy=False)

    def _measure_value(self, name: str) -> exp.Expr:
        definition = self.definition.measures.get(name)
        if definition is None:
            raise UnknownNameError("measure", name, self.definition.measures, self.name)
        what = f"measure {name!r}"
        if definition.column is not None:
            return sql.column(self._column(definition.column, what), _ROWS)
        tree = admit_expression(definition.expression or "", self.connector.dialect)

        def quoted(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column):
                return sql.column(self._column(node.name, what), _ROWS)
            return node

        return replaced(tree, quoted)

    def _column(self, name: str, what: str) -> str:
        column = match_name(name, self.columns)
        if column is None:
            self.table.check_readable(name)
            near = ", ".join(nearest(name, self.columns)[:5])
            raise QueryError(f"{what} of {self.name}: there is no column {name!r}; nearest: {near}")
        return column


class Binder:
    """Binds the sources of a registry; catalogues of databases are cached for a minute."""

    def __init__(self, registry: SourceRegistry, connections: Connections) -> None:
        self._registry = registry
        self._connections = connections
        self._tables: TTLCache[str, Tables] = TTLCache(
            _CONNECTIONS, _CATALOGUE_SECONDS, timer=monotonic
        )
        self._loading: SingleFlight[Tables] = SingleFlight()

    async def bind(self, name: str) -> BoundSource:
        """A source bound to its database.

        Raises `SourceNotFoundError` for an undeclared name, and `QueryError` if the declared table,
        or a table of the declared query, does not exist.
        """
        definition = self._registry.get(name)
        connector = self._connections.get(definition.connection)
        try:
            return await _bound(
                name, definition, connector, await self._catalogue(definition.connection)
            )
        except QueryError:  # the table may be newer than the cached catalogue
            self._tables.pop(definition.connection, None)
            return await _bound(
                name, definition, connector, await self._catalogue(definition.connection)
            )

    async def _catalogue(self, connection: str) -> Tables:
        is_cached = not self._connections.get(connection).keeps_catalog
        tables = self._tables.get(connection) if is_cached else None
        if tables is None:
            tables = await self._loading.run(connection, lambda: self._load(connection))
            self._tables[connection] = tables
        return tables

    async def _load(self, connection: str) -> Tables:
        return by_name(await self._connections.get(connection).catalog())


async def _bound(
    name: str, definition: Source, connector: Connector, tables: Tables
) -> BoundSource:
    if definition.table is not None:
        table = find_table(f"source {name}", definition.table, tables)
        relation = sql.relation(table, _ROWS)
        return BoundSource(name, definition, connector, relation, table.columns, table)
    text = definition.query or ""
    query = admitted_query(text, connector)
    read = _tables_of(name, query, tables)
    rows, columns = await rows_of_query(query, text, connector, _ROWS)
    engine = next((table.engine for table in tables.values()), "")
    inferred = any(table.inferred for table in read)
    table = Table("", name, columns, engine=engine, inferred=inferred)
    return BoundSource(name, definition, connector, rows, columns, table)


def by_name(tables: Iterable[Table]) -> Tables:
    """The tables of a catalogue by `schema.name`."""
    return {f"{table.schema}.{table.name}": table for table in tables}


def find_table(where: str, name: str, tables: Tables) -> Table:
    """The table `name` or `schema.name`; the default schema has precedence.

    Raises `QueryError`, which starts with `where`, if it does not exist.
    """
    short: dict[str, Table] = {}
    for table in tables.values():
        short.setdefault(table.name, table)
    for known in (short, tables):
        match = match_name(name, known)
        if match is not None:
            return known[match]
    near = ", ".join(nearest(name, {*short})[:5]) or "none"
    # MySQL does not show which tables a user may not read.
    is_sure = any(table.engine != "mysql" for table in tables.values())
    doubt = "" if is_sure else ", or no right to read it"
    raise QueryError(f"{where}: there is no table {name!r} in its database{doubt}; nearest: {near}")


def _tables_of(source: str, query: exp.Select, tables: Tables) -> list[Table]:
    """The tables that a query reads; raises `QueryError` for one that does not exist."""
    names = [
        f"{table.db}.{table.name}" if table.db else table.name
        for table in query.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier) and not _is_of_with(table)  # nor a function
    ]
    return [find_table(f"source {source}", name, tables) for name in names]


def _is_of_with(table: exp.Table) -> bool:
    """Whether a name is that of a WITH clause which is visible where it stands."""
    inside: list[exp.Expr] = []
    node = table.parent
    while node is not None and not table.db:
        clause = node.args.get("with_") or exp.With()
        for cte in clause.expressions:
            is_own = any(cte is each for each in inside)
            if cte.alias == table.name and (clause.recursive or not is_own):
                return True
            if is_own:
                break
        inside.append(node)
        node = node.parent
    return False


def match_name(name: str, known: Iterable[str]) -> str | None:
    """The same known name, or the only one that differs just in case."""
    names = tuple(known)
    if name in names:
        return name
    alike = [candidate for candidate in names if candidate.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


@asynccontextmanager
async def one_state(a: BoundSource, b: BoundSource) -> AsyncGenerator[tuple[BoundSource, ...]]:
    """Yield both sources so that all statements of a source read one state of its tables.

    A database that both are in shows them the same state. Raises `QueryError` at the end if files
    have changed. ClickHouse, Spark and databases by a DB-API driver hold no state: each statement
    reads that of its start.
    """
    async with AsyncExitStack() as stack:
        opened: dict[int, Connector] = {}
        # In one order for all comparisons, so that no two hold what the other one waits for.
        for connector in sorted({a.connector, b.connector}, key=id):
            opened[id(connector)] = connector
            if isinstance(connector, HoldsState):
                opened[id(connector)] = await stack.enter_async_context(connector.one_state())
        await stack.enter_async_context(unchanged(a, b))
        yield tuple(replace(source, connector=opened[id(source.connector)]) for source in (a, b))


@asynccontextmanager
async def unchanged(a: BoundSource, b: BoundSource) -> AsyncGenerator[None]:
    """Raise `QueryError` at the end if files of a source have changed, which it names."""
    async with AsyncExitStack() as stack:
        for source in (a, b):
            if isinstance(source.connector, NoticesChanges):
                tables = _tables(source)
                await stack.enter_async_context(source.connector.unchanged(tables, source.name))
        yield


class SharedEngine(NamedTuple):
    """An engine that reads two sources, whose relations have the names that it knows."""

    engine: StatementEngine
    a: BoundSource
    b: BoundSource


async def shared_engine(a: BoundSource, b: BoundSource) -> SharedEngine | None:
    """The engine that reads both sources; None if their rows have to be copied.

    This is the database that both are in. Files and DuckDB databases share a DuckDB that reads both
    where they are. Raises `QueryError` for files that can no longer be read.
    """
    if a.connector is b.connector:
        return SharedEngine(a.connector, a, b)
    if a.connector.dialect != "duckdb" or b.connector.dialect != "duckdb":
        return None
    from skillian.connectors.duckdb.joint import JointEngine, Mountable  # noqa: PLC0415 - loads DuckDB

    if not isinstance(a.connector, Mountable) or not isinstance(b.connector, Mountable):
        return None
    # With a space, so that no schema is likely to have the same name, which would be ambiguous.
    names = ("side a", "side b")
    members = {
        name: (connector, _tables(source))
        for name, connector, source in zip(names, (a.connector, b.connector), (a, b), strict=True)
    }
    engine = JointEngine(members)
    if not await engine.is_possible():
        return None
    return SharedEngine(engine, *(_named(*each) for each in zip((a, b), names, strict=True)))


def _tables(source: BoundSource) -> Collection[str]:
    return {table.name for table in source.relation.find_all(exp.Table)} - _own(source)


def _own(source: BoundSource) -> set[str]:
    """The names that the source's query defines itself."""
    return {cte.alias for cte in source.relation.find_all(exp.CTE)}


def _named(source: BoundSource, catalogue: str) -> BoundSource:
    """The source with its tables named in this catalogue."""
    own = _own(source)

    def change(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Table) or (not node.db and node.name in own):
            return node
        table = node.copy()
        # Without a schema, the table is in the default schema of the catalogue.
        table.set("catalog" if node.db else "db", sql.name(catalogue))
        return table

    return replace(source, relation=replaced(source.relation, change))
