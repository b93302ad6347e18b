"""Tables in real databases, filled by their own drivers."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import duckdb
import psycopg
import pymysql
from tests.support.clickhouse import in_clickhouse

from skillian.connectors.mysql.connector import MySQLConnector

DUCKDB = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "decimal": "DECIMAL({precision}, {scale})",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "float": "DOUBLE",
    "single": "REAL",
}
POSTGRES = {**DUCKDB, "text": "TEXT", "float": "DOUBLE PRECISION"}
CLICKHOUSE = {
    "text": "Nullable(String)",
    "integer": "Nullable(Int64)",
    "decimal": "Nullable(Decimal({precision}, {scale}))",
    "boolean": "Nullable(Bool)",
    "date": "Nullable(Date32)",
    "timestamp": "Nullable(DateTime64(6))",
    "float": "Nullable(Float64)",
    "single": "Nullable(Float32)",
}
MYSQL = {**DUCKDB, "text": "VARCHAR(200)", "timestamp": "DATETIME(6)"}


@dataclass(frozen=True)
class Column:
    """A column: `kind` is text, integer, decimal, boolean, date or timestamp."""

    name: str
    kind: str = "text"
    scale: int = 2
    precision: int = 24


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)


class Place(Protocol):
    """One kind of database; `suffix` is what a table's name in it ends with."""

    suffix: str

    def put(self, tables: Sequence[Table]) -> str:
        """Create the tables, alone in their database, and return its URL."""
        ...


class _Folders:
    """A new empty folder each time; the one before goes."""

    suffix = ""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count()

    def renewed(self) -> Path:
        number = next(self._numbers)
        shutil.rmtree(self._folder / f"{number - 1}", ignore_errors=True)
        found = self._folder / f"{number}"
        found.mkdir()
        return found


class DuckDBPlace(_Folders):
    def put(self, tables: Sequence[Table]) -> str:
        path = self.renewed() / "tables.duckdb"
        with duckdb.connect(path) as connection:
            for statement, values in _statements(tables, DUCKDB):
                connection.execute(statement, values)
        return f"duckdb:///{path}"


class SQLitePlace(_Folders):
    """An SQLite file for each set of tables; it holds decimals of up to 15 digits."""

    def put(self, tables: Sequence[Table]) -> str:
        path = self.renewed() / "tables.sqlite"
        with closing(sqlite3.connect(path)) as connection, connection:
            for statement, values in _statements(tables, DUCKDB):
                connection.execute(statement, [_as_sqlite(value) for value in values])
        return f"sqlite:///{path}"


class CSVPlace(_Folders):
    """A folder of CSV files for each set of tables; a text is quoted, no value is not."""

    suffix = ".csv"

    def put(self, tables: Sequence[Table]) -> str:
        folder = self.renewed()
        for table in tables:
            with (folder / f"{table.name}.csv").open("w", encoding="utf-8", newline="") as file:
                for row in (tuple(column.name for column in table.columns), *table.rows):
                    file.write(",".join(_as_csv(value) for value in row) + "\n")
        return f"files:///{folder}"


class ClickHousePlace:
    suffix = ""

    def put(self, tables: Sequence[Table]) -> str:
        statements: list[str] = []
        for table in map(_escaped, tables):
            created = _created(table, CLICKHOUSE, "`")
            statements += [f"{created} ENGINE = MergeTree ORDER BY tuple()", *_inserted(table)]
        return in_clickhouse(*statements)


class ServerPlace:
    """A database of a server, by a connection of its driver; its tables are dropped for others."""

    suffix = ""

    def __init__(self, url: str, connection: Any, types: Mapping[str, str], quote: str) -> None:
        self._url = url
        self._connection = connection
        self._types = types
        self._quote = quote
        self._there: list[str] = []
        self.close = connection.close

    def put(self, tables: Sequence[Table]) -> str:
        with self._connection.cursor() as cursor:
            for name in self._there:
                cursor.execute(f"DROP TABLE {_quoted(name, self._quote)}")
            self._there = [table.name for table in tables]
            for statement, values in _statements(tables, self._types, self._quote, "%s"):
                cursor.execute(statement, values or None)
        return self._url


def in_postgres(url: str) -> ServerPlace:
    return ServerPlace(url, psycopg.connect(url, autocommit=True), POSTGRES, '"')


def in_mysql(url: str) -> ServerPlace:
    login = MySQLConnector.login_of("x", url, Path.cwd())
    connection = pymysql.connect(**login, autocommit=True, charset="utf8mb4")
    return ServerPlace(url, connection, MYSQL, "`")


def _statements(
    tables: Sequence[Table], types: Mapping[str, str], quote: str = '"', mark: str = "?"
) -> Iterator[tuple[str, list[Any]]]:
    """Give the statements that make and fill tables, each with its values."""
    for table in tables:
        yield _created(table, types, quote), []
        if table.rows:
            row = f"({', '.join([mark] * len(table.columns))})"
            rows = ", ".join([row] * len(table.rows))
            name = _quoted(table.name, quote)
            if mark == "%s":
                name = name.replace("%", "%%")
            values = [value for cells in table.rows for value in cells]
            yield f"INSERT INTO {name} VALUES {rows}", values  # noqa: S608 - names are quoted, values bound


def _escaped(table: Table) -> Table:
    """Return the table with names as ClickHouse reads them between quotes."""
    columns = [replace(each, name=each.name.replace("\\", "\\\\")) for each in table.columns]
    return replace(table, name=table.name.replace("\\", "\\\\"), columns=tuple(columns))


def _inserted(table: Table) -> Iterator[str]:
    """Give the statement that fills a table of ClickHouse, its values as literals."""
    if table.rows:
        rows = ", ".join(f"({', '.join(map(_as_clickhouse, row))})" for row in table.rows)
        yield f"INSERT INTO {_quoted(table.name, '`')} VALUES {rows}"  # noqa: S608 - quoted


def _created(table: Table, types: Mapping[str, str], quote: str) -> str:
    columns = ", ".join(
        f"{_quoted(each.name, quote)} {types[each.kind].format(**vars(each))}"
        for each in table.columns
    )
    return f"CREATE TABLE {_quoted(table.name, quote)} ({columns})"


def _quoted(name: str, quote: str) -> str:
    return f"{quote}{name.replace(quote, quote * 2)}{quote}"


def _as_sqlite(value: Any) -> Any:
    return str(value) if isinstance(value, date | datetime | Decimal) else value


def _as_clickhouse(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool | int | float):
        return str(value).lower()
    text = str(value).replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\0")
    return f"'{text}'"


def _as_csv(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case str():
            return _quoted(value, '"')
        case _:
            return str(value)
