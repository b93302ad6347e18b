"""How statements of MySQL and MariaDB run: bounded, in batches, stopped in the server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.mysql import DIGITS, MANY, Database, running_mariadb
from tests.support.waits import soon

from skillian.connectors.mysql.connector import MAX_CONNECTIONS, MySQLConnector
from skillian.errors import QueryError

pytestmark = pytest.mark.mysql

ENDLESS = f"{MANY} WHERE {' + '.join(f'd{n}.d' for n in range(12))} < 0"
FOLDER = Path()


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


PROCESSES = "SELECT id FROM information_schema.processlist"


def _running(database: Database) -> tuple[tuple[Any, ...], ...]:
    """Return the statements of this database that run, but this one and those that end others."""
    return database.execute(
        f"{PROCESSES} WHERE db = '{database.name}' AND id <> CONNECTION_ID() AND info IS NOT NULL"
        " AND info NOT LIKE 'KILL%'"
    )
