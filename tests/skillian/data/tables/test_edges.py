"""Cells at the edges of types, in every pair of engines: equal, different, or not compared."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import duckdb
import pytest
from _pytest.mark import ParameterSet
from tests.skillian.data.tables.edge_cases import CASES, Case
from tests.skillian.data.tables.test_types import compared
from tests.support.clickhouse import in_clickhouse, needs_clickhouse
from tests.support.mysql import Server as MySQLServer
from tests.support.postgres import Server as PostgresServer

Put = Callable[[str, str], str]


@pytest.fixture(scope="module")
def put(
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: PostgresServer,
    mysql_server: MySQLServer,
) -> Iterator[Put]:
    """Store a cell in a table of its own; returns the table's address."""
    folder, numbers = tmp_path_factory.mktemp("edges"), count()
    with postgres_server.database() as postgres, mysql_server.database() as mysql:

        def stored(engine: str, cell: str) -> str:
            path = folder / f"t{next(numbers)}"
            kind, _, value = cell.partition(" | ")
            columns, row = f"(k INT, v {kind})", f"VALUES (1, {value})"
            match engine:
                case "postgres":
                    postgres.execute(f"CREATE TABLE {path.name} AS SELECT 1 AS k, {cell} AS v")
                    return f"{postgres.url}#{path.name}"
                case "mysql":
                    mysql.execute(
                        f"CREATE TABLE {path.name} {columns}; INSERT INTO {path.name} {row}"
                    )
                    return f"{mysql.url}#{path.name}"
                case _:
                    return _in_file(engine, cell, path, columns, row)

        yield stored


def _in_file(engine: str, cell: str, path: Path, columns: str, row: str) -> str:
    match engine:
        case "duckdb":
            with duckdb.connect(path) as database:
                database.execute("SET TimeZone = 'UTC'")
                database.execute(f"CREATE TABLE t AS SELECT 1 AS k, {cell} AS v")
            return f"duckdb:///{path}#t"
        case "parquet":
            with duckdb.connect() as database:
                database.execute(f"COPY (SELECT 1 AS k, {cell} AS v) TO '{path}.parquet'")
            return f"{path}.parquet"
        case "sqlite":
            with closing(sqlite3.connect(path)) as connection:
                connection.executescript(f"CREATE TABLE t {columns}; INSERT INTO t {row}")
            return f"sqlite:///{path}#t"
        case "csv":
            path.with_suffix(".csv").write_text(f"k,v\n1,{cell}\n", encoding="utf-8")
            return f"{path}.csv"
        case _:
            table = f"CREATE TABLE t {columns} ENGINE = MergeTree ORDER BY tuple()"
            return f"{in_clickhouse(table, f'INSERT INTO t {row}')}#t"


def marked(case: Case) -> ParameterSet:
    """A case; those with ClickHouse run where it is installed."""
    marks = [needs_clickhouse] if "clickhouse" in case else []
    return pytest.param(case, marks=marks, id=f"{case[0]} {case[1]}, {case[2]} {case[3]}"[:90])


@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_a_pair_of_cells(put: Put, case: Case) -> None:
    engine_a, cell_a, engine_b, cell_b, equal = case
    a, b = put(engine_a, cell_a), put(engine_b, cell_b)
    for result in (compared(a, b, {}), compared(b, a, {})):
        assert bool(result.not_compared) == (equal is None), result.not_compared
        assert [column.mismatches for column in result.columns] == (
            [] if equal is None else [int(not equal)]
        )
