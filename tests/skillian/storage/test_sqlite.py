"""Writes that come together share a transaction; each still succeeds or fails by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from sqlalchemy import Connection, event, make_url, text

from skillian.storage import StoreUnavailable
from skillian.storage.sqlite import SqliteDatabase


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[SqliteDatabase]:
    opened = SqliteDatabase(make_url(f"sqlite:///{tmp_path / 's.db'}"))
    await opened.open()
    await opened.write(make)
    yield opened
    await opened.aclose()


def make(connection: Connection) -> None:
    connection.execute(text("CREATE TABLE t (number INTEGER PRIMARY KEY)"))


async def added(database: SqliteDatabase, number: int, *, lasting: bool = False) -> int:
    def work(connection: Connection) -> int:
        connection.execute(text("INSERT INTO t VALUES (:number)"), {"number": number})
        if number < 0:
            raise KeyError(number)
        return number

    return await database.write(work, lasting=lasting)


async def numbers(database: SqliteDatabase) -> list[int]:
    return await database.read(lambda connection: list(connection.scalars(text("SELECT * FROM t"))))


async def test_many_writes_take_few_transactions(database: SqliteDatabase) -> None:
    commits: list[Connection] = []
    event.listen(database._engine, "commit", commits.append)
    told = await asyncio.gather(*(added(database, number) for number in range(50)))
    assert told == list(range(50)) == await numbers(database)
    assert len(commits) <= 3  # and one of the reading


async def test_one_that_must_last_makes_all_of_its_transaction_last(
    database: SqliteDatabase,
) -> None:
    said: list[str] = []
    event.listen(
        database._engine, "before_cursor_execute", lambda *args: said.append(args[2]), named=False
    )
    await asyncio.gather(*(added(database, number, lasting=number == 7) for number in range(9)))
    pragmas = [line for line in said if "synchronous" in line]
    assert pragmas[-1] == "PRAGMA synchronous = FULL"


async def test_what_fails_fails_alone(database: SqliteDatabase) -> None:
    writes = [added(database, number) for number in (1, 2, -3, 4, 4, 5)]
    told = await asyncio.gather(*writes, return_exceptions=True)
    assert [one for one in told if isinstance(one, int)] == [1, 2, 4, 5]
    assert isinstance(told[2], KeyError)
    assert isinstance(told[4], StoreUnavailable)  # there is a 4
    assert await numbers(database) == [1, 2, 4, 5]


async def test_a_cancelled_caller_holds_nobody_up(database: SqliteDatabase) -> None:
    tasks = [asyncio.create_task(added(database, number)) for number in range(5)]
    await asyncio.sleep(0)
    tasks[2].cancel()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(told[2], asyncio.CancelledError)
    assert [one for one in told if isinstance(one, int)] == [0, 1, 3, 4]


async def test_closing_waits_for_what_is_to_be_written(tmp_path: Path) -> None:
    url = make_url(f"sqlite:///{tmp_path / 's.db'}")
    first = SqliteDatabase(url)
    await first.open()
    await first.write(make)
    tasks = [asyncio.create_task(added(first, number)) for number in range(9)]
    for _ in range(3):
        await asyncio.sleep(0)
    assert len(first._waiting) == 8  # one is under way
    await first.aclose()
    assert await asyncio.gather(*tasks) == list(range(9))
    with pytest.raises(RuntimeError):
        await added(first, 10)
    again = SqliteDatabase(url)
    assert await numbers(again) == list(range(9))
    await again.aclose()
