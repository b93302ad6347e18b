from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text

from skillian.storage import StoreUrlError, open_store
from skillian.storage.errors import StoreUnavailable
from skillian.storage.schema import MIGRATIONS, metadata, migrate
from skillian.storage.store import connect

_OPEN = """
import asyncio, sys
from skillian.storage import open_store
async def main():
    sys.stdin.readline()
    async with open_store(sys.argv[1]) as store:
        await store.create("me")
asyncio.run(main())
"""


async def test_the_migrations_make_the_tables_that_statements_use(url: str) -> None:
    def columns(connection: Connection) -> dict[str, set[str]]:
        seen = inspect(connection)
        return {
            table: {column["name"] for column in seen.get_columns(table)}
            for table in metadata.tables
        }

    async with open_store(url):
        database = connect(url)
        rows = await database.read(columns)
        await database.aclose()
    assert rows == {table.name: {*table.columns.keys()} for table in metadata.tables.values()}


def test_processes_that_start_at_once_apply_each_step_once(url: str) -> None:
    children = [
        subprocess.Popen([sys.executable, "-c", _OPEN, url], stdin=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    for child in children:
        child.communicate()
    assert [child.returncode for child in children] == [0, 0]
    assert asyncio.run(_count(url)) == 2


async def _count(url: str) -> int:
    async with open_store(url) as store:
        return await store.count("me")


async def test_a_failing_migration_leaves_nothing_and_can_be_fixed(url: str) -> None:
    def applied(connection: Connection) -> object:
        return connection.scalar(text("SELECT max(number) FROM skillian_migrations"))

    broken = (*MIGRATIONS, ("CREATE TABLE skillian_more (a INTEGER)", "CREATE TABLE nonsense"))
    corrected = (*MIGRATIONS, ("CREATE TABLE skillian_more (a INTEGER)",))
    database = connect(url)
    await database.open()
    with pytest.raises(StoreUnavailable):
        await migrate(database, broken)
    assert await database.read(applied) == len(MIGRATIONS)
    await migrate(database, corrected)
    await migrate(database, corrected)
    assert await database.read(applied) == len(corrected)
    await database.aclose()
    with pytest.raises(StoreUrlError, match="newer version of skillian"):
        async with open_store(url):
            pass


async def test_the_files_are_private(tmp_path: Path) -> None:
    async with open_store(f"sqlite:///{tmp_path}/sessions.db") as store:
        await store.create("me")
        modes = _modes(tmp_path)
    assert modes == {f"sessions.db{end}": 0o600 for end in ("", "-wal", "-shm")}


def _modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
