"""The databases of the contract, each with a new connector to it."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.support.clickhouse import Server, in_clickhouse, needs_clickhouse
from tests.support.mysql import DIGITS, MANY
from tests.support.waits import executing, soon

from skillian.connectors import connect
from skillian.connectors.duckdb.connector import DuckDBConnector
from skillian.connectors.files.connector import FilesConnector
from skillian.connectors.mysql.connector import MySQLConnector
from skillian.connectors.postgres.connector import PostgresConnector
from skillian.connectors.sqlite.connector import SQLiteConnector

# Hours of work that keeps no memory busy.
ENDLESS = """
SELECT COUNT(*) FROM range(100000000) AS a, range(100000000) AS b
WHERE (a.range * b.range) % 7 = 3
"""
NUMBERS = {
    "duckdb": "SELECT range AS n FROM range({})",
    "postgres": "SELECT generate_series(1, {}) AS n",
    "mysql": "SELECT seq AS n FROM seq_1_to_{}",
    "clickhouse": 'SELECT "number" AS n FROM "system"."numbers" LIMIT {}',
}
NEVER = {
    "duckdb": ENDLESS,
    "postgres": "SELECT pg_sleep(3600)",
    "mysql": f"{MANY} WHERE {' + '.join(f'd{n}.d' for n in range(12))} < 0",
    "clickhouse": 'SELECT SUM(sipHash64("number")) AS n FROM "system"."numbers"',
}


class Opened(NamedTuple):
    """A database: its dialect, a new connector to it, where it is, and what runs in its server."""

    url: str
    dialect: str
    make: Callable[[float], Any]
    place: str
    running: Callable[[], int] | None = None
    execute: Callable[[str], object] = print

    async def begun(self, task: asyncio.Task[Any]) -> None:
        """Wait until a statement runs."""
        await (executing(task) if self.running is None else soon(self.running))

    async def stopped(self) -> None:
        """Wait until none does; those of this process have ended with their task."""
        if running := self.running:
            await soon(lambda: not running())


async def drained(stream: Any) -> None:
    async for _ in stream:
        pass


def in_duckdb(_: pytest.FixtureRequest, folder: Path) -> Opened:
    path = folder / "x.duckdb"
    duckdb.connect(path).close()
    return Opened(
        f"duckdb:///{path}", "duckdb", lambda limit: DuckDBConnector(path, "x", limit), str(folder)
    )


def in_files(_: pytest.FixtureRequest, folder: Path) -> Opened:
    (folder / "a.csv").write_text("a\n1\n")
    url = f"files:///{folder}"
    return Opened(
        url, "duckdb", lambda limit: FilesConnector(folder, "x", timeout=limit), str(folder)
    )


def in_sqlite(_: pytest.FixtureRequest, folder: Path) -> Opened:
    path = folder / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a INT)")
    return Opened(
        f"sqlite:///{path}", "duckdb", lambda limit: SQLiteConnector(path, "x", limit), str(folder)
    )


def of_postgres(database: Any) -> Opened:
    options = {key: str(value) for key, value in conninfo_to_dict(database.url).items()}
    return Opened(
        database.url,
        "postgres",
        lambda limit: PostgresConnector("x", options, timeout=limit),
        str(database.server.folder),
        lambda: int(database.active()),
        database.execute,
    )


def of_mysql(database: Any) -> Opened:
    database.execute(DIGITS)
    others = "id <> CONNECTION_ID() AND info IS NOT NULL AND info NOT LIKE 'KILL%'"
    statement = f"SELECT id FROM information_schema.processlist WHERE db = '{database.name}'"  # noqa: S608
    return Opened(
        database.url,
        "mysql",
        lambda limit: MySQLConnector(
            MySQLConnector.login_of("x", database.url, Path()), "x", timeout=limit
        ),
        "localhost",
        lambda: len(database.execute(f"{statement} AND {others}")),
        database.execute,
    )


def in_postgres(request: pytest.FixtureRequest, _: Path) -> Opened:
    return of_postgres(request.getfixturevalue("postgres_database"))


def in_mysql(request: pytest.FixtureRequest, _: Path) -> Opened:
    return of_mysql(request.getfixturevalue("mysql_database"))


def in_a_clickhouse(_: pytest.FixtureRequest, folder: Path) -> Opened:
    url = in_clickhouse()
    address = url.split("/")[2]
    server = Server(int(address.partition(":")[2]))
    kind: Any = type(connect("x", url, folder))
    login = kind.login_of("x", url, folder)
    like = "query LIKE '%sipHash64%' AND query NOT LIKE '%processes%'"
    counted = f"SELECT count() FROM system.processes WHERE {like}"  # noqa: S608
    return Opened(
        url,
        "clickhouse",
        lambda limit: kind(login, "x", timeout=limit),
        address,
        lambda: int(server.run(counted)),
    )


LOCAL = (in_duckdb, in_files, in_sqlite)
SERVERS = (in_postgres, in_mysql)
ALL_SERVERS = (*SERVERS, pytest.param(in_a_clickhouse, marks=needs_clickhouse))
