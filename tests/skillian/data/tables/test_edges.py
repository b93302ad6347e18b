"""Cells at the edges of types, in every pair of engines: equal, different, or not compared.

All cells of a pair of engines are columns of one row, which is compared both ways.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

import duckdb
import pytest
from _pytest.mark import ParameterSet
from tests.skillian.data.tables.comparing import compared
from tests.skillian.data.tables.edge_cases import CASES
from tests.support.clickhouse import in_clickhouse, needs_clickhouse
from tests.support.mysql import Server as MySQLServer
from tests.support.postgres import Database as PostgresDatabase
from tests.support.postgres import Server as PostgresServer

from skillian.data.declare.rules import Rule, Rules

Put = Callable[[str, Sequence[str]], str]


@pytest.fixture(scope="module")
def put(
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: PostgresServer,
    mysql_server: MySQLServer,
) -> Iterator[Put]:
    """Store a row of cells in a table of its own; returns the table's address."""
    folder, numbers = tmp_path_factory.mktemp("edges"), count()
    with postgres_server.database() as postgres, mysql_server.database() as mysql:

        def stored(engine: str, cells: Sequence[str]) -> str:
            path = folder / f"t{next(numbers)}"
            typed = [cell.partition(" | ") for cell in cells]
            kinds = ", ".join(f"v{n} {kind}" for n, (kind, *_) in enumerate(typed))
            row = f"VALUES (1, {', '.join(value for *_, value in typed)})"
            select = "SELECT 1 AS k, " + ", ".join(
                f"{cell} AS v{n}" for n, cell in enumerate(cells)
            )
            match engine:
                case "postgres":
                    postgres.execute(f"CREATE TABLE {path.name} AS {select}")
                    return f"{postgres.url}#{path.name}"
                case "mysql":
                    mysql.execute(f"CREATE TABLE {path.name} (k INT, {kinds})")
                    mysql.execute(f"INSERT INTO {path.name} {row}")
                    return f"{mysql.url}#{path.name}"
                case "csv":
                    names = ",".join(["k", *(f"v{n}" for n in range(len(cells)))])
                    content = f"{names}\n1,{','.join(cells)}\n"
                    path.with_suffix(".csv").write_text(content, encoding="utf-8")
                    return f"{path}.csv"
                case "duckdb" | "parquet":
                    return _in_duckdb(engine, path, select)
                case _:
                    return _in_others(engine, path, f"t (k INT, {kinds})", f"INSERT INTO t {row}")

        yield stored


def _in_duckdb(engine: str, path: Path, select: str) -> str:
    if engine == "parquet":
        duckdb.execute(f"COPY ({select}) TO '{path}.parquet'")
        return f"{path}.parquet"
    with duckdb.connect(path) as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute(f"CREATE TABLE t AS {select}")
    return f"duckdb:///{path}#t"


def _in_others(engine: str, path: Path, table: str, insert: str) -> str:
    if engine == "sqlite":
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(f"CREATE TABLE {table}; {insert}")
        return f"sqlite:///{path}#t"
    return in_clickhouse(f"CREATE TABLE {table} ENGINE = MergeTree ORDER BY tuple()", insert) + "#t"


def marked(pair: tuple[str, str]) -> ParameterSet:
    """A pair of engines; those with ClickHouse run where it is installed."""
    marks = [needs_clickhouse] if "clickhouse" in pair else []
    return pytest.param(pair, marks=marks, id="-".join(pair))


@pytest.mark.parametrize("pair", [marked(pair) for pair in CASES])
def test_pairs_of_cells(put: Put, pair: tuple[str, str]) -> None:
    cases = CASES[pair]
    a = put(pair[0], [case[0] for case in cases])
    b = put(pair[1], [case[1] for case in cases])
    rules = {f"v{n}": Rule.model_validate(case[3]) for n, case in enumerate(cases) if len(case) > 3}
    for one, other in ((a, b), (b, a)):
        result = compared(one, other, key=("k",), rules=Rules(columns=rules))
        mismatches = {column.a: column.mismatches for column in result.columns}
        refused = {each.column for each in result.not_compared}
        wrong = [
            case
            for n, case in enumerate(cases)
            if (mismatches.get(f"v{n}"), f"v{n}" in refused)
            != ((None, True) if case[2] is None else (int(not case[2]), False))
        ]
        assert not wrong


def test_a_number_without_a_limit_is_filtered(postgres_database: PostgresDatabase) -> None:
    postgres_database.execute(
        "CREATE TABLE a AS SELECT n AS k, 1e-40::numeric + n AS v FROM generate_series(1, 3) AS n;"
        "CREATE TABLE b AS SELECT k, v * 2 AS v FROM a"
    )
    url = postgres_database.url
    rows = compared(f"{url}#a", f"{url}#b", key=("k",), filters={"v": {"gt": "2"}}).rows.to_dict()
    assert (rows["a"], rows["b"]) == (2, 3)
