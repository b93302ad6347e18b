import asyncio
import os
import signal

import pytest
from tests.skillian.connectors.databases import of_postgres
from tests.support.postgres import Database, rows_of
from tests.support.waits import soon

from skillian.connectors.postgres import connector as connector_module
from skillian.connectors.postgres import pool
from skillian.connectors.postgres.connector import PostgresConnector
from skillian.errors import QueryError

ENDLESS = "SELECT pg_sleep(3600)"


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


async def test_cancelling_at_any_moment_leaves_the_connector_working(
    postgres_connector: PostgresConnector, postgres_database: Database
) -> None:
    statement = "SELECT n FROM generate_series(1, 100000) AS n"
    for steps in range(60):
        task = asyncio.create_task(postgres_connector.run(statement, {}))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or task.result().num_rows
    assert await rows_of(postgres_connector, "SELECT 1 AS x") == [{"x": 1}]
    assert postgres_database.active() == 0


async def test_nobody_waits_for_ever_for_a_connection(postgres_database: Database) -> None:
    connector = of_postgres(postgres_database).make(0.5)
    held = [connector.stream(ENDLESS, {}) for _ in range(pool.MAX_CONNECTIONS)]
    tasks = [asyncio.ensure_future(anext(aiter(stream))) for stream in held]
    await soon(lambda: postgres_database.active() == pool.MAX_CONNECTIONS)
    with pytest.raises(QueryError, match="all 8 of its connections are busy"):
        await connector.run("SELECT 1", {})
    await connector.aclose()
    await asyncio.wait(tasks)
    assert {type(task.exception()) for task in tasks} == {QueryError}


async def test_who_holds_a_state_still_gets_a_connection(
    postgres_connector: PostgresConnector,
) -> None:
    async def one() -> None:
        async with postgres_connector.one_state() as state:
            await asyncio.sleep(0.05)  # until as many as possible have theirs
            await state.run("SELECT 1", {})

    async with asyncio.timeout(20):  # a statement waits 30 s for a connection
        await asyncio.gather(*(one() for _ in range(2 * pool.MAX_CONNECTIONS)))
