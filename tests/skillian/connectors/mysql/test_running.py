"""How statements of MySQL and MariaDB run: bounded, in batches, stopped in the server."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.support.mysql import DIGITS, MANY, Database, running_mariadb
from tests.support.waits import SECONDS, cancelled, soon

from skillian.connectors import limits
from skillian.connectors.mysql.connector import MAX_CONNECTIONS, MySQLConnector, login_of
from skillian.connectors.mysql.session import BATCH_ROWS
from skillian.errors import QueryError

pytestmark = pytest.mark.mysql

ENDLESS = f"{MANY} WHERE {' + '.join(f'd{n}.d' for n in range(12))} < 0"
FOLDER = Path()


async def test_more_rows_than_the_budget_are_refused(
    connector: MySQLConnector, mysql_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ROW_BUDGET", 8)
    assert (await connector.run("SELECT * FROM digits", {})).num_rows == 8
    with pytest.raises(QueryError, match="larger than 8 rows"):
        await connector.run(MANY, {})
    await soon(lambda: not _running(mysql_database))


async def test_more_bytes_than_the_budget_are_refused(
    connector: MySQLConnector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BYTE_BUDGET", 1000)
    with pytest.raises(QueryError, match="narrow it with filters"):
        await connector.run("SELECT REPEAT('x', 2000) AS x", {})


async def test_a_stream_gives_all_rows_in_bounded_batches(connector: MySQLConnector) -> None:
    statement = (
        "SELECT a.d + 8 * b.d + 64 * c.d + 512 * d.d + 4096 * e.d AS n FROM digits AS a, "
        "digits AS b, digits AS c, digits AS d, digits AS e WHERE a.d >= :p0"
    )
    numbers: list[int] = []
    async for batch in connector.stream(statement, {"p0": 0}):
        assert batch.num_rows <= BATCH_ROWS
        numbers += [row["n"] for row in _rows(batch)]
    assert sorted(numbers) == list(range(8**5))


async def test_closing_a_stream_stops_its_statement(
    connector: MySQLConnector, mysql_database: Database
) -> None:
    async with aclosing(connector.stream(MANY, {})) as batches:
        assert (await anext(batches)).num_rows == BATCH_ROWS
        assert _running(mysql_database)
    await soon(lambda: not _running(mysql_database))
    assert not connector._streaming


async def test_cancelling_stops_the_statement_in_the_database(
    connector: MySQLConnector, mysql_database: Database
) -> None:
    task = asyncio.create_task(connector.run(ENDLESS, {}))
    await soon(lambda: _running(mysql_database))
    await cancelled(task)
    await soon(lambda: not _running(mysql_database))
    assert (await connector.run("SELECT 1 AS x", {})).to_pylist() == [{"x": 1}]


async def test_cancelling_a_stream_stops_it_and_no_other(
    connector: MySQLConnector, mysql_database: Database
) -> None:
    async def read() -> None:
        async for _ in connector.stream(ENDLESS, {}):
            pass

    other = asyncio.create_task(connector.run("SELECT SLEEP(3) AS x", {}))
    task = asyncio.create_task(read())
    await soon(lambda: len(_running(mysql_database)) == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await other).to_pylist() == [{"x": 0}]
    await soon(lambda: not _running(mysql_database))


async def test_a_statement_that_takes_too_long_is_stopped(mysql_database: Database) -> None:
    mysql_database.execute(DIGITS)
    connector = MySQLConnector(login_of(mysql_database.url, FOLDER), "books", timeout=0.3)
    with pytest.raises(QueryError, match=re.escape("longer than 0.3 s")):
        await connector.run(ENDLESS, {})
    await soon(lambda: not _running(mysql_database))
    assert (await connector.run("SELECT 1 AS x", {})).num_rows == 1
    await connector.aclose()


async def test_closing_stops_what_runs_and_may_be_done_twice(
    connector: MySQLConnector, mysql_database: Database
) -> None:
    task = asyncio.create_task(connector.run(ENDLESS, {}))
    async with aclosing(connector.stream(MANY, {})) as batches:
        await anext(batches)
        await soon(lambda: len(_running(mysql_database)) == 2)
        await connector.aclose()
        await connector.aclose()
        await soon(lambda: not _running(mysql_database))
        with pytest.raises(QueryError, match="stopped"):
            await task
        with pytest.raises(QueryError, match="stopped"):
            await anext(batches)
    assert (await connector.run("SELECT 1 AS x", {})).num_rows == 1


async def test_connections_are_few_and_used_again(
    connector: MySQLConnector, mysql_database: Database
) -> None:
    statement = "SELECT CONNECTION_ID() AS id, :p0 AS n"
    tables = await asyncio.gather(*(connector.run(statement, {"p0": n}) for n in range(50)))
    rows = [table.to_pylist()[0] for table in tables]
    assert [row["n"] for row in rows] == list(range(50))
    assert len({row["id"] for row in rows}) <= MAX_CONNECTIONS
    mysql_database.execute(f"KILL {rows[-1]['id']}")
    assert (await connector.run("SELECT 1 AS x", {})).num_rows == 1


async def test_a_server_that_dies_is_an_error_and_the_next_call_works() -> None:
    with running_mariadb() as server:
        server.execute("CREATE DATABASE books")
        server.execute(DIGITS, "books")
        connector = MySQLConnector.from_url("books", server.url("books"), FOLDER)
        await connector.run("SELECT 1", {})
        task = asyncio.create_task(connector.run(ENDLESS, {}))
        await soon(lambda: _running(Database(server, "books")))
        server.kill()
        with pytest.raises(QueryError, match="'books': the server ended the connection"):
            await task
        with pytest.raises(QueryError, match="'books': the server cannot be reached") as gone:
            await connector.run("SELECT 1", {})
        assert str(server.folder) not in str(gone.value)
        server.start()
        assert (await connector.run("SELECT 1 AS x", {})).to_pylist() == [{"x": 1}]
        await connector.aclose()


def test_an_endless_statement_does_not_hold_up_the_exit(mysql_database: Database) -> None:
    mysql_database.execute(DIGITS)
    script = f"""
import asyncio
from pathlib import Path
from skillian.connectors.mysql.connector import MySQLConnector
connector = MySQLConnector.from_url("x", {mysql_database.url!r}, Path())
loop = asyncio.new_event_loop()
task = loop.create_task(connector.run({ENDLESS!r}, {{}}))
loop.run_until_complete(asyncio.wait([task], timeout=0.5))
assert not task.done()
print("leaving", flush=True)
"""
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.stdout == "leaving\n"


PROCESSES = "SELECT id FROM information_schema.processlist"


def _running(database: Database) -> tuple[tuple[Any, ...], ...]:
    """Return the statements of this database that run, but this one and those that end others."""
    return database.execute(
        f"{PROCESSES} WHERE db = '{database.name}' AND id <> CONNECTION_ID() AND info IS NOT NULL"
        " AND info NOT LIKE 'KILL%'"
    )


def _rows(batch: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = batch.to_pylist()
    return rows
