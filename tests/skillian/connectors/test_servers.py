"""What every connector to a server keeps: one state, few connections, and an error without one."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.skillian.connectors.databases import (
    ALL_SERVERS,
    NEVER,
    NUMBERS,
    SERVERS,
    Opened,
    drained,
    in_postgres,
    of_mysql,
    of_postgres,
)
from tests.support.mysql import running_mariadb
from tests.support.postgres import running_postgres
from tests.support.waits import soon

from skillian.connectors import connect
from skillian.connectors.base import HoldsState
from skillian.connectors.mysql.connector import MySQLConnector
from skillian.connectors.postgres.session import PostgresSession
from skillian.errors import QueryError

of_each_server = pytest.mark.parametrize("opened", SERVERS, indirect=True)


async def count(connector: Any) -> int:
    async with aclosing(connector.stream("SELECT COUNT(*) AS n FROM t", {})) as batches:
        [number] = [row["n"] async for batch in batches for row in batch.to_pylist()]
    return int(number)


@of_each_server
async def test_a_state_stays_after_a_statement_that_fails_or_is_left(
    opened: Opened, connector: Any
) -> None:
    holds: Any = connector
    assert isinstance(connector, HoldsState)
    opened.execute("CREATE TABLE t (n INT)")
    async with connector.one_state() as state:
        assert await count(state) == 0
        opened.execute("INSERT INTO t VALUES (2)")
        with pytest.raises(QueryError, match=r"^connection 'x': .*missing.*\Z"):
            await anext(state.stream("SELECT missing FROM t", {}))
        async with aclosing(state.stream(NUMBERS[opened.dialect].format(10**6), {})) as batches:
            assert (await anext(batches)).num_rows < 10**6
        assert await count(state) == 0
        assert await count(connector) == 1
    async with connector.one_state() as state:
        assert await count(state) == 1
        await holds.aclose()
        with pytest.raises(QueryError):
            await count(state)
    assert await count(connector) == 1


# A statement that tells its connection, and one that ends it.
CONNECTION = {
    "postgres": (
        "SELECT CAST(%(p0)s AS int) AS n, pg_backend_pid() AS id",
        "SELECT pg_terminate_backend({}, 5000)",
    ),
    "mysql": ("SELECT :p0 AS n, CONNECTION_ID() AS id", "KILL {}"),
}


@of_each_server
async def test_connections_are_few_used_again_and_replaced(opened: Opened, connector: Any) -> None:
    statement, end = CONNECTION[opened.dialect]
    tables = await asyncio.gather(*(connector.run(statement, {"p0": n}) for n in range(50)))
    rows = [table.to_pylist()[0] for table in tables]
    assert [row["n"] for row in rows] == [*range(50)]
    connections = {row["id"] for row in rows}
    assert len(connections) <= MySQLConnector.connections
    [again] = (await connector.run(statement, {"p0": 1})).to_pylist()
    assert again["id"] in connections
    for each in connections:
        opened.execute(end.format(each))
    assert (await connector.run("SELECT 1 AS x", {})).num_rows == 1


@pytest.mark.parametrize(
    ("running", "opened_of"), [(running_postgres, of_postgres), (running_mariadb, of_mysql)]
)
async def test_a_server_that_dies_is_an_error_and_the_next_call_works(
    running: Any, opened_of: Any
) -> None:
    with running() as server, server.database() as database:
        opened = opened_of(database)
        connector = opened.make(60)
        stream = connector.stream(NUMBERS[opened.dialect].format(10**8), {})
        await anext(stream)
        task = asyncio.create_task(connector.run(NEVER[opened.dialect], {}))
        await soon(lambda: opened.running() == 2)
        server.kill()
        for left in (task, drained(stream)):
            with pytest.raises(QueryError, match="'x': the server ended the connection"):
                await left
        with pytest.raises(QueryError, match="'x': the server cannot be reached") as gone:
            await connector.run("SELECT 1", {})
        assert str(server.folder) not in str(gone.value)
        server.start()
        assert (await connector.run("SELECT 1 AS x", {})).num_rows == 1
        await connector.aclose()


# URLs, or another login or database of the server that runs, and what is said of them.
REFUSED: dict[str, tuple[tuple[str | dict[str, str], str], ...]] = {
    "postgres": (
        ({"login": "scott:tiger"}, "check user and password"),
        ({"login": "scott"}, "needs a password"),
        ({"database": "tiger_db"}, "no such database"),
        ("postgresql://scott:tiger@/db?host=/tiger/run", "check that it runs"),
        ("postgresql://scott:tiger@127.0.0.1:1/db", "check that it runs"),
        ("postgresql://scott:tiger@nowhere.invalid/db", "no such host"),
    ),
    "mysql": (
        ({"login": "scott:tiger"}, "check user and password"),
        ({"database": "tiger_db"}, "there is no such database"),
        ("mysql://scott@127.0.0.1:1/x", "the server cannot be reached"),
        ("mysql://scott@/x?unix_socket=tiger.sock", "the server cannot be reached"),
    ),
    "clickhouse": (
        ({"login": "scott:tiger"}, "check user and password"),
        ({"database": "tiger_db"}, "there is no such database"),
        ("clickhouse://scott:tiger@127.0.0.1:9/db", "the server cannot be reached"),
    ),
}


def changed(url: str, login: str = "", database: str = "") -> str:
    """The URL with another login or database."""
    parts = urlsplit(url)
    netloc = f"{login}@{parts.netloc.rpartition('@')[2]}" if login else parts.netloc
    return parts._replace(netloc=netloc, path=database or parts.path).geturl()


@pytest.mark.parametrize("opened", ALL_SERVERS, indirect=True)
async def test_a_refused_connection_says_what_to_check_and_no_secret(
    opened: Opened, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    for given, message in REFUSED[opened.dialect]:
        url = given if isinstance(given, str) else changed(opened.url, **given)
        connector: Any = connect("books", url, Path())
        for call in (connector.catalog(), connector.run("SELECT 1", {})):
            with pytest.raises(QueryError, match=f"^connection 'books': .*{message}") as refused:
                await call
            secrets = ("scott", "tiger", "127.0.0.1", "nowhere", opened.place)
            assert not any(secret in str(refused.value) for secret in secrets)
            assert refused.value.__cause__ is None
        await connector.aclose()
    assert "tiger" not in caplog.text + capfd.readouterr().err


# Values that Arrow has no place for, and what is said of them; and some at the edge.
NO_PLACE = {
    "postgres": {
        "DATE '10000-01-01'": "outside the years 1 to 9999; declare `type: text`",
        "TIMESTAMP '0044-03-15 BC'": "outside the years 1 to 9999",
        "DATE 'infinity'": "outside the years 1 to 9999",
        "CAST('NaN' AS numeric(17, 2))": "NaN",
        "CAST(1e37 AS numeric(50, 2))": "precision",
    },
    "mysql": {f"CAST('{'9' * 37}.99' AS DECIMAL(65, 2))": "is not a valid decimal"},
    "clickhouse": {
        "unhex('ff41')": "UTF",
        f"CAST('{'9' * 38}' AS Decimal(76, 0)) * 2": "",
        "toInt256('170141183460469231731687303715884105728')": "",
        "CAST('2024-01-31 10:00:00.000000001' AS DateTime64(9))": "",
    },
}
AT_THE_EDGE = {
    "postgres": "CAST(-1e35 AS numeric(50, 2))",
    "mysql": f"CAST('-{'9' * 36}.99' AS DECIMAL(65, 2))",
    "clickhouse": f"CAST('{'9' * 38}' AS Decimal(76, 0))",
}


@pytest.mark.parametrize("opened", ALL_SERVERS, indirect=True)
async def test_a_value_without_a_place_is_named(opened: Opened, connector: Any) -> None:
    for value, message in NO_PLACE[opened.dialect].items():
        with pytest.raises(QueryError, match=f"'x'.*{message}"):
            await connector.run(f"SELECT {value} AS x", {})
    edge = f"SELECT {AT_THE_EDGE[opened.dialect]} AS x"
    assert (await connector.run(edge, {})).to_pylist()[0]["x"]


Call = Callable[[PostgresSession], None]


def watched(slow: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], Event, Event]:
    """How calls of sessions begin and end; `slow` sets an event, and waits for the other one."""
    calls: list[str] = []
    waits, go = Event(), Event()

    def noting(name: str, call: Call) -> Call:
        def noted(session: PostgresSession) -> None:
            calls.append(f"{name} begins")
            if name == slow:
                waits.set()
                assert go.wait(60)
            call(session)
            calls.append(f"{name} ends")

        return noted

    for name in ("end_statement", "stop"):
        monkeypatch.setattr(PostgresSession, name, noting(name, getattr(PostgresSession, name)))
    monkeypatch.setattr(PostgresSession, "kill", lambda _: go.set())
    return calls, waits, go


in_one_server = pytest.mark.parametrize("opened", [in_postgres], indirect=True)


@in_one_server
async def test_no_session_goes_on_while_others_are_closed(
    connector: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = [connector.stream(NUMBERS["postgres"].format(10**7), {}) for _ in range(3)]
    for stream in streams:
        await anext(stream)
    calls, waits, go = watched("stop", monkeypatch)
    closing = asyncio.create_task(connector.aclose())
    assert await asyncio.to_thread(waits.wait, 60)
    for stream in streams:
        with pytest.raises(QueryError, match="'x': the statement was stopped"):
            await anext(stream)
    go.set()
    await closing
    assert calls.count("stop ends") == 3


@in_one_server
@pytest.mark.parametrize("end", ["aclose", "cancel"])
async def test_a_session_is_closed_after_its_statement_has_ended(
    connector: Any, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    calls, waits, _ = watched("end_statement", monkeypatch)

    async def left() -> None:
        async with connector.one_state() as state, aclosing(state.stream("SELECT 1", {})) as rows:
            await anext(rows)

    leaving = asyncio.create_task(left())
    assert await asyncio.to_thread(waits.wait, 60)
    if end == "aclose":
        await connector.aclose()
    else:
        leaving.cancel()
    await asyncio.wait([leaving])
    assert calls[1:3] == ["end_statement ends", "stop begins"]
