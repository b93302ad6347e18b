"""Several statements that read one state of a database."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import pytest
from tests.support.mysql import Database as MySQLDatabase
from tests.support.postgres import Database

from skillian.connectors import connect
from skillian.connectors.base import Connector, HoldsState
from skillian.errors import QueryError

MANY = {
    "postgres": "SELECT n FROM generate_series(1, 1000000) AS g (n)",
    "mysql": "SELECT seq AS n FROM seq_1_to_1000000",
}


@pytest.fixture(params=MANY)
def database(request: pytest.FixtureRequest) -> MySQLDatabase | Database:
    database: MySQLDatabase | Database = request.getfixturevalue(f"{request.param}_database")
    database.execute("CREATE TABLE t (n INT)")
    database.execute("INSERT INTO t VALUES (1)")
    return database


async def count(connector: Connector) -> int:
    async with aclosing(connector.stream("SELECT COUNT(*) AS n FROM t", {})) as batches:
        [number] = [row["n"] async for batch in batches for row in batch.to_pylist()]
    return int(number)


async def test_a_state_stays_after_a_statement_that_fails_or_is_left(
    database: MySQLDatabase | Database, tmp_path: Path
) -> None:
    connector = connect("db", database.url, tmp_path)
    assert isinstance(connector, HoldsState)
    async with connector.one_state() as state:
        assert await count(state) == 1
        database.execute("INSERT INTO t VALUES (2)")
        with pytest.raises(QueryError):
            await anext(state.stream("SELECT missing FROM t", {}))
        many = MANY[state.dialect]
        async with aclosing(state.stream(many, {})) as batches:
            assert (await anext(batches)).num_rows < 1_000_000
        assert await count(state) == 1
        assert await count(connector) == 2
    async with connector.one_state() as state:
        assert await count(state) == 2
        await connector.aclose()
        with pytest.raises(QueryError):
            await count(state)
    assert await count(connector) == 2
    await connector.aclose()
