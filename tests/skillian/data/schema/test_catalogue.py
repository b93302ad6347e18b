"""What each database's catalogue says of a column besides its type."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import duckdb
from tests.support.mysql import Database as MySQLDatabase
from tests.support.postgres import Database as PostgresDatabase

from skillian.connectors import connect
from skillian.connectors.base import Declaration, Table


async def catalogue(url: str) -> dict[str, Table]:
    connector = connect("books", url, Path())
    try:
        return {table.name: table for table in await connector.catalog()}
    finally:
        await connector.aclose()


def lacking(table: Table, names: Iterable[str]) -> list[bool | None]:
    """Return whether each column may be NULL."""
    return [table.declared[name].nullable for name in names]


async def test_duckdb(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "x.duckdb") as connection:
        connection.execute(
            "CREATE TABLE t (a INTEGER, b VARCHAR NOT NULL, c DATE, PRIMARY KEY (c, a));"
            "CREATE VIEW v AS SELECT * FROM t; CREATE TABLE plain (x INTEGER)"
        )
    tables = await catalogue(f"duckdb:///{tmp_path / 'x.duckdb'}")
    assert (tables["t"].engine, tables["t"].primary_key) == ("duckdb", ("c", "a"))
    assert lacking(tables["t"], "abc") == [False, False, False]
    assert lacking(tables["v"], "abc") == [None, None, None]
    assert (tables["plain"].primary_key, lacking(tables["plain"], "x")) == ((), [True])


async def test_postgres(postgres_database: PostgresDatabase) -> None:
    postgres_database.execute(
        "CREATE DOMAIN whole AS numeric(10, 2) NOT NULL; CREATE DOMAIN positive AS whole;"
        "CREATE TYPE letters AS ENUM ('y', 'it''s');"
        'CREATE TABLE t (a int, b positive, c letters, d varchar(5) COLLATE "C", e text,'
        " PRIMARY KEY (d, a)); CREATE VIEW v AS SELECT * FROM t"
    )
    table = (await catalogue(postgres_database.url))["t"]
    assert (table.engine, table.primary_key) == ("postgres", ("d", "a"))
    assert lacking(table, "abcde") == [False, False, True, False, True]
    assert [table.declared[name].type for name in "abcd"] == [
        *("integer", "numeric(10,2)", "enum('y', 'it''s')", "character varying(5)")
    ]
    assert table.declared["d"].collation == "C"
    assert table.declared["a"].collation == ""
    assert table.declared["e"].collation
    view = (await catalogue(postgres_database.url))["v"]
    assert (view.primary_key, lacking(view, "ae")) == ((), [None, None])


async def test_mysql(mysql_database: MySQLDatabase) -> None:
    mysql_database.execute(
        "CREATE TABLE t (a INT UNSIGNED, b VARCHAR(5) NOT NULL COLLATE latin1_bin, c DATETIME(3),"
        " PRIMARY KEY (b, a))"
    )
    table = (await catalogue(mysql_database.url))["t"]
    assert (table.engine, table.primary_key) == ("mysql", ("b", "a"))
    assert lacking(table, "abc") == [False, False, True]
    assert table.declared["b"].collation == "latin1_bin"
    assert [table.columns[name].sql for name in "bc"] == ["varchar(5)", "datetime(3)"]
    mysql_database.execute("CREATE TABLE u (`a``b` JSON, plain LONGTEXT COLLATE utf8mb4_bin)")
    table = (await catalogue(mysql_database.url))["u"]
    kinds = {name: (kind.kind, kind.sql) for name, kind in table.columns.items()}
    assert kinds == {"a`b": ("text", "json"), "plain": ("text", "longtext")}


async def test_sqlite(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as connection:
        connection.executescript(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR(5) NOT NULL, c);"
            "CREATE TABLE loose (a TEXT, b TEXT, PRIMARY KEY (b, a));"
            "CREATE VIEW v AS SELECT * FROM t"
        )
    tables = await catalogue(f"sqlite:///{tmp_path / 'x.sqlite'}")
    assert tables["t"].declared == {
        "a": Declaration("INTEGER", nullable=False, key=1),
        "b": Declaration("VARCHAR(5)", nullable=False),
        "c": Declaration("", nullable=True),
    }
    # SQLite allows NULL in any other primary key.
    assert (tables["loose"].primary_key, lacking(tables["loose"], "ab")) == (
        *(("b", "a"), [True, True]),
    )
    assert lacking(tables["v"], "ab") == [None, None]


async def test_only_parquet_states_its_types(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    duckdb.execute(f"COPY (SELECT 1 AS x) TO '{tmp_path / 'b.parquet'}'")
    tables = await catalogue(f"files:///{tmp_path}")
    assert {name: table.inferred for name, table in tables.items()} == {
        "a.csv": True,
        "b.parquet": False,
    }
    assert {table.engine for table in tables.values()} == {"files"}
