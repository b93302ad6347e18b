"""A folder of files, or one of them: CSV, TSV, Parquet and Excel as tables, by their names."""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Self

import duckdb
from sqlglot import exp

from skillian.connectors import excel
from skillian.connectors.base import ArrowBatch, ArrowTable, ColumnType, Table
from skillian.connectors.csv_columns import csv_select, csv_types, file_pattern
from skillian.connectors.csv_lines import read_format
from skillian.connectors.duckdb import path_of
from skillian.connectors.duckdb_engine import (
    STREAM_TIMEOUT_SECONDS,
    TIMEOUT_SECONDS,
    DuckDBEngine,
    Setup,
)
from skillian.connectors.duckdb_statement import Cursor
from skillian.connectors.duckdb_types import column_type
from skillian.connectors.unreadable import Unreadable
from skillian.errors import QueryError

SUFFIXES = frozenset({".csv", ".tsv", ".parquet"}) | excel.SUFFIXES

_SCHEMA = "main"
_UNREADABLE = "its files cannot be read; check that they are there and may be read"
_OWN_BY_EXCEL = "~$"
_MAX_DIGITS = 38


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it was last read: by its stamp one sees that it has changed."""

    stamp: tuple[int, int, int]
    tables: tuple[Table, ...]


class FilesConnector:
    """A `Connector` to the files of one folder, or to a single file.

    CSV and Parquet are read where they are, by each statement; Excel once, until it changes.

    Args:
        place: The folder, or the file.
        name: The connection's name in the configuration; messages use it in place of the path.
        timeout: How many seconds a statement may run.
    """

    dialect = "duckdb"
    keeps_catalog = True

    def __init__(self, place: Path, name: str, timeout: float = TIMEOUT_SECONDS) -> None:
        self._place = place.absolute()
        self._name = name
        self._is_file = place.suffix.lower() in SUFFIXES and not place.is_dir()
        let_in = "allowed_paths" if self._is_file else "allowed_directories"
        # As a path and as the pattern for it: DuckDB looks up both of what it reads.
        real = exp.Literal.string(os.path.realpath(place))
        listed = exp.Array(expressions=[real, file_pattern(place)])
        setup = Setup(self._place, _UNREADABLE, f"SET {let_in} = {listed.sql('duckdb')}")
        self._engine = DuckDBEngine(name, setup, timeout)
        self._files: dict[Path, _File] = {}
        self._looking = asyncio.Lock()

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """Return the connector for `files:///path`; the path may also be that of one file."""
        return cls(path_of(url, folder), name)

    async def catalog(self) -> tuple[Table, ...]:
        """Return the tables; the columns of one that cannot be read raise `QueryError`."""
        await self._look()
        return tuple(table for file in self._files.values() for table in file.tables)

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """Return the columns a SELECT without parameters would give, without running it."""
        await self._look(statement)
        return await self._engine.describe(statement)

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters and return its rows, within the budgets."""
        await self._look(statement)
        return await self._engine.run(statement, parameters)

    async def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and give its rows in batches; closing the iterator ends it."""
        await self._look(statement)
        async with aclosing(self._engine.stream(statement, parameters)) as batches:
            async for batch in batches:
                yield batch

    async def aclose(self) -> None:
        """Interrupt what runs and let the files go; a later statement reads them again."""
        await self._engine.aclose()
        self._files.clear()

    async def _look(self, statement: str = "") -> None:
        """Take notice of files that are new, changed or gone; refuse one that cannot be read."""
        async with self._looking:
            try:
                await self._engine.call(self._renew, STREAM_TIMEOUT_SECONDS)
            except OSError:
                raise QueryError(f"connection {self._name!r}: {_UNREADABLE}") from None
            # DuckDB would look for a file of that name itself, and guess the types.
            for table in (table for file in self._files.values() for table in file.tables):
                named = _relation(table.name).sql("duckdb").casefold() in statement.casefold()
                if named and isinstance(table.columns, Unreadable):
                    table.columns.refuse()

    def _renew(self, cursor: Cursor) -> None:
        stamps = {self._place: _stamp(self._place)} if self._is_file else _listed(self._place)
        for path, file in tuple(self._files.items()):
            if stamps.get(path) != file.stamp:
                _drop(cursor, path, self._files.pop(path).tables)
        for path, stamp in stamps.items():
            if path not in self._files:
                self._files[path] = _File(stamp, self._tables(cursor, path))

    def _tables(self, cursor: Cursor, path: Path) -> tuple[Table, ...]:
        try:
            self._check(path)
            return tuple(_read(cursor, path))
        except QueryError as error:
            why = str(error)
        except OSError:
            why = f"{path.name}: it cannot be read; check that it may be"
        return (Table(_SCHEMA, path.name, Unreadable(f"connection {self._name!r}: {why}")),)

    def _check(self, path: Path) -> None:
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self._place)):
            raise QueryError(f"{path.name}: it leads out of its folder, which is not followed")
        if not S_ISREG(path.stat().st_mode):
            raise QueryError(f"{path.name}: it is not a file")
        alike = [
            file.name
            for file in self._files
            if file != path and file.name.casefold() == path.name.casefold()
        ]
        if alike:
            raise QueryError(f"{path.name}: only case tells it from {alike[0]}; rename one")


def _listed(folder: Path) -> dict[Path, tuple[int, int, int]]:
    """Return the files that are tables, in the order of their names, with their stamps."""
    stamps: dict[Path, tuple[int, int, int]] = {}
    for path in sorted(folder.iterdir()):
        named = path.suffix.lower() in SUFFIXES and path.name.isprintable()
        if named and not path.name.startswith((".", _OWN_BY_EXCEL)):
            with suppress(OSError):  # gone a moment ago, or a link to nothing
                stamps[path] = _stamp(path)
    return stamps


def _stamp(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read(cursor: Cursor, path: Path) -> Iterator[Table]:
    """Make the file's tables; raises `QueryError` naming the file for one that is damaged."""
    suffix = path.suffix.lower()
    if suffix in excel.SUFFIXES:
        for name, rows in excel.read_workbook(path):
            cursor.register("sheet", rows)
            yield _made(cursor, "TABLE", name, exp.select("*").from_("sheet"))
            cursor.unregister("sheet")
    elif suffix == ".parquet":
        yield _made(cursor, "VIEW", path.name, _parquet(cursor, path))
    else:
        form = read_format(path)
        select = csv_select(path, form, csv_types(cursor, path, form))
        yield _made(cursor, "VIEW", path.name, select)


def _parquet(cursor: Cursor, path: Path) -> exp.Select:
    own = exp.EQ(this=exp.var("hive_partitioning"), expression=exp.false())
    function = exp.Anonymous(this="READ_PARQUET", expressions=[file_pattern(path), own])
    select = exp.select("*").from_(exp.Table(this=function))
    # DuckDB would read them as binary floats.
    wide = [
        exp.alias_(_refused(path, name, f"decimal({precision},{scale})"), name, quoted=True)
        for name, precision, scale in _wide_decimals(cursor, path)
    ]
    if wide:
        select.set("expressions", [exp.Star(replace=wide)])
    return select


def _wide_decimals(cursor: Cursor, path: Path) -> list[tuple[str, int, int]]:
    schema = exp.Table(this=exp.Anonymous(this="PARQUET_SCHEMA", expressions=[file_pattern(path)]))
    columns = exp.select("name", "precision", "scale").from_(schema)
    try:
        rows = cursor.execute(columns.where(f"precision > {_MAX_DIGITS}").sql("duckdb")).fetchall()
    except duckdb.Error:  # reading it says what is wrong with it
        return []
    return [(str(name), int(precision), int(scale)) for name, precision, scale in rows]


def _refused(path: Path, name: str, kind: str) -> exp.Expr:
    told = (
        f"{path.name}: column {name!r} is {kind}, of which only {_MAX_DIGITS} digits can be read;"
        f" write it as a decimal of at most {_MAX_DIGITS} digits, or as text"
    )
    error = exp.Anonymous(this="ERROR", expressions=[exp.Literal.string(told)])
    return exp.cast(error, "TEXT")


def _made(cursor: Cursor, kind: str, name: str, select: exp.Select) -> Table:
    made = exp.Create(this=_relation(name), kind=kind, replace=True, expression=select)
    try:
        cursor.execute(made.sql("duckdb"))
    except (duckdb.InvalidInputException, duckdb.IOException):
        raise QueryError(f"{name}: it is damaged, or not what its name says") from None
    rows = cursor.sql(exp.select("*").from_(_relation(name)).sql("duckdb"))
    types = (column_type(str(kind)) for kind in rows.types)
    return Table(_SCHEMA, name, dict(zip(rows.columns, types, strict=True)))


def _drop(cursor: Cursor, path: Path, tables: tuple[Table, ...]) -> None:
    kind = "TABLE" if path.suffix.lower() in excel.SUFFIXES else "VIEW"
    for table in tables:
        cursor.execute(f"DROP {kind} IF EXISTS {_relation(table.name).sql('duckdb')}")


def _relation(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))
