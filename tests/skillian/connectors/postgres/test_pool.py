import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.support.postgres import FOLDER, MANY, Database, Server, rows_of, running_postgres
from tests.support.waits import SECONDS, soon, until

from skillian.connectors.postgres import connector as connector_module
from skillian.connectors.postgres import pool
from skillian.connectors.postgres.connector import PostgresConnector
from skillian.errors import QueryError

ENDLESS = "SELECT pg_sleep(3600)"


def options(database: Database) -> dict[str, str]:
    return {key: str(value) for key, value in conninfo_to_dict(database.url).items()}


async def test_a_server_that_has_stopped_answering_is_given_up(
    postgres_connector: PostgresConnector,
    postgres_database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [row] = await rows_of(postgres_connector, "SELECT pg_backend_pid() AS pid")
    os.kill(row["pid"], signal.SIGSTOP)
    try:
        with monkeypatch.context() as impatient:
            impatient.setattr(connector_module, "_GRACE_SECONDS", -29.9)
            with pytest.raises(QueryError, match="the server does not answer"):
                await postgres_connector.run("SELECT 1", {})
    finally:
        os.kill(row["pid"], signal.SIGCONT)
    assert await rows_of(postgres_connector, "SELECT 1 AS x") == [{"x": 1}]


@pytest.fixture
def mortal_server() -> Generator[Server]:
    with running_postgres() as server:
        yield server


async def test_cancelling_at_any_moment_leaves_the_connector_working(
    postgres_connector: PostgresConnector, postgres_database: Database
) -> None:
    statement = "SELECT n FROM generate_series(1, 100000) AS n"
    for steps in range(60):
        task = asyncio.create_task(_run(postgres_connector, statement))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or task.result() is None
    assert await rows_of(postgres_connector, "SELECT 1 AS x") == [{"x": 1}]
    assert postgres_database.active() == 0


async def test_many_statements_at_once_share_a_few_connections(
    postgres_connector: PostgresConnector, postgres_database: Database
) -> None:
    statement = "SELECT CAST(%(p0)s AS int) AS x, pg_backend_pid() AS pid"
    results = await asyncio.gather(
        *(rows_of(postgres_connector, statement, p0=n) for n in range(50))
    )
    assert [row["x"] for [row] in results] == list(range(50))
    assert len({row["pid"] for [row] in results}) <= pool.MAX_CONNECTIONS
    again = await rows_of(postgres_connector, statement, p0=1)
    assert again[0]["pid"] in {row["pid"] for [row] in results}


async def test_nobody_waits_for_ever_for_a_connection(postgres_database: Database) -> None:
    connector = PostgresConnector("books", options(postgres_database), timeout=0.5)
    held = [connector.stream(ENDLESS, {}) for _ in range(pool.MAX_CONNECTIONS)]
    tasks = [asyncio.ensure_future(anext(aiter(stream))) for stream in held]
    await soon(lambda: postgres_database.active() == pool.MAX_CONNECTIONS)
    with pytest.raises(QueryError, match="all 8 of its connections are busy"):
        await connector.run("SELECT 1", {})
    await connector.aclose()
    await asyncio.wait(tasks)
    assert {type(task.exception()) for task in tasks} == {QueryError}


async def test_a_connection_that_the_server_has_closed_is_replaced(
    postgres_connector: PostgresConnector, postgres_database: Database
) -> None:
    await postgres_connector.run("SELECT 1", {})
    postgres_database.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    assert await rows_of(postgres_connector, "SELECT 1 AS x") == [{"x": 1}]


async def test_a_server_that_dies_in_the_middle_is_a_query_error(mortal_server: Server) -> None:
    with mortal_server.database() as database:
        connector = PostgresConnector.from_url("books", database.url, FOLDER)
        await connector.run("SELECT 1", {})
        task = asyncio.create_task(_run(connector, ENDLESS))
        stream = connector.stream(MANY, {})
        await anext(aiter(stream))
        await soon(lambda: database.active() == 2)
        mortal_server.kill()
        with pytest.raises(QueryError, match="ended the connection") as ended:
            await task
        assert str(mortal_server.folder) not in str(ended.value)
        with pytest.raises(QueryError, match="ended the connection"):
            async for _ in stream:
                pass
        with pytest.raises(QueryError, match="cannot be reached"):
            await connector.run("SELECT 1", {})
        mortal_server.start()
        assert await rows_of(connector, "SELECT 1 AS x") == [{"x": 1}]
        await connector.aclose()


def test_the_server_of_the_tests_ends_with_its_owner(postgres_server: Server) -> None:
    script = """
import os, signal
from tests.support.postgres import running_postgres
with running_postgres() as server:
    with server.database():
        print(server.folder, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    folder = Path(done.stdout.strip())
    assert folder.name.startswith("pg-")
    until(lambda: not folder.exists())
    assert not _running_in(folder)


def _running_in(folder: Path) -> list[str]:
    texts: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            texts.append(path.read_bytes().decode())
    return [command for command in texts if str(folder) in command]


async def _run(connector: PostgresConnector, statement: str) -> None:
    await connector.run(statement, {})


async def test_who_holds_a_state_still_gets_a_connection(
    postgres_connector: PostgresConnector,
) -> None:
    async def one() -> None:
        async with postgres_connector.one_state() as state:
            await asyncio.sleep(0.05)  # until as many as possible have theirs
            await state.run("SELECT 1", {})

    async with asyncio.timeout(20):  # a statement waits 30 s for a connection
        await asyncio.gather(*(one() for _ in range(2 * pool.MAX_CONNECTIONS)))
