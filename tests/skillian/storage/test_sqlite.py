"""Writes that come together share a transaction; each still succeeds or fails alone."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Awaitable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, make_url, text

from skillian.storage import StoreUnavailable
from skillian.storage.database import SqliteDatabase
from skillian.storage.errors import StoreBusy


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
    results = await asyncio.gather(*(added(database, number) for number in range(50)))
    assert results == list(range(50)) == await numbers(database)
    assert len(commits) <= 3  # and one of the reading


async def test_a_lasting_write_makes_its_whole_transaction_lasting(
    database: SqliteDatabase,
) -> None:
    said: list[str] = []
    event.listen(
        database._engine, "before_cursor_execute", lambda *args: said.append(args[2]), named=False
    )
    await asyncio.gather(*(added(database, number, lasting=number == 7) for number in range(9)))
    pragmas = [line for line in said if "synchronous" in line]
    assert pragmas[-1] == "PRAGMA synchronous = FULL"


async def test_a_failing_write_fails_alone(database: SqliteDatabase) -> None:
    writes = [added(database, number) for number in (1, 2, -3, 4, 4, 5)]
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [one for one in results if isinstance(one, int)] == [1, 2, 4, 5]
    assert isinstance(results[2], KeyError)
    assert isinstance(results[4], StoreUnavailable)  # there is a 4
    assert await numbers(database) == [1, 2, 4, 5]


async def test_a_cancelled_caller_delays_no_other(database: SqliteDatabase) -> None:
    tasks = [asyncio.create_task(added(database, number)) for number in range(5)]
    await asyncio.sleep(0)
    tasks[2].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[2], asyncio.CancelledError)
    assert [one for one in results if isinstance(one, int)] == [0, 1, 3, 4]


async def test_closing_waits_for_pending_writes(tmp_path: Path) -> None:
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


async def refused(work: Awaitable[object]) -> StoreUnavailable:
    with pytest.raises(StoreUnavailable) as failure:
        await work
    return failure.value


@pytest.mark.parametrize("change", ["deleted", "replaced"])
async def test_a_deleted_file_is_noticed_before_anything_is_lost(
    database: SqliteDatabase, tmp_path: Path, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert await added(database, 1) == 1
    file = tmp_path / "s.db"
    file.rename(tmp_path / "elsewhere.db")
    if change == "replaced":
        file.touch()
    await refused(added(database, 2))
    await refused(numbers(database))
    assert "its file was deleted or replaced: restart skillian" in caplog.text
    assert file.exists() == (change == "replaced")


@pytest.mark.parametrize("name", ["s.db", "s.db-wal"])
async def test_a_file_deleted_during_a_write_is_noticed(
    database: SqliteDatabase, tmp_path: Path, name: str
) -> None:
    def work(connection: Connection) -> None:
        connection.execute(text("INSERT INTO t VALUES (1)"))
        (tmp_path / name).unlink()

    await refused(database.write(work))


async def test_a_locked_file_is_waited_for_once(
    database: SqliteDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []
    transaction = database._transaction

    def counted(work: Any, kind: Any) -> Any:
        tried.append(work)
        return transaction(work, kind)

    monkeypatch.setattr(database, "_transaction", counted)
    with closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        results = await asyncio.gather(
            *(added(database, number) for number in range(20)), return_exceptions=True
        )
        assert {type(one) for one in results} == {StoreBusy}
        assert len(tried) == 2  # the first, and all that came while it waited
        other.execute("ROLLBACK")
    assert await added(database, 100) == 100
