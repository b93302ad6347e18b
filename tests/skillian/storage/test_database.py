from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from tests.support.postgres import PASSWORD, SUPERUSER, Database, running_postgres

from skillian.storage import SessionStore, StoreUnavailable, StoreUrlError, open_store


@pytest.mark.parametrize(
    "url",
    [
        "",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///x.db?mode=ro",
        "mysql://me:secret@host/db",
        "nonsense",
        "a://[",
    ],
)
async def test_another_url_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(StoreUrlError, match="sqlite:///FILE") as refused:
        async with open_store(url):
            pass
    assert "secret" not in str(refused.value)


async def test_a_file_that_cannot_be_created_is_reported_without_its_path(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="No such file or directory") as refused:
        async with open_store(f"sqlite:///{tmp_path}/nowhere/sessions.db"):
            pass
    assert str(tmp_path) not in str(refused.value)


async def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("Dear diary, " * 500)
    with pytest.raises(StoreUnavailable):
        async with open_store(f"sqlite:///{file}"):
            pass
    assert file.read_text() == "Dear diary, " * 500


async def test_a_wrong_password_is_not_repeated(
    postgres_database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    url = postgres_database.url_for("nobody", PASSWORD)
    with pytest.raises(StoreUnavailable) as refused:
        async with open_store(url):
            pass
    assert PASSWORD not in str(refused.value) + caplog.text


async def test_a_server_that_comes_back_is_used_again() -> None:
    with running_postgres() as server:
        async with open_store(server.url()) as store:
            Database(server, SUPERUSER).execute("CHECKPOINT")  # it may lose the rest
            server.kill()
            with pytest.raises(StoreUnavailable):
                await store.ping()
            server.start()
            await store.ping()


async def test_a_server_that_stands_still_is_given_up(
    postgres_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(postgres_database.url) as store:
        pids: list[int] = []

        def frozen(connection: Connection) -> None:
            pids.append(int(connection.scalar(text("SELECT pg_backend_pid()")) or 0))
            os.kill(pids[0], signal.SIGSTOP)
            connection.execute(text("SELECT 1"))

        with monkeypatch.context() as impatient:
            impatient.setattr("skillian.storage.database._GRACE_SECONDS", -9.8)
            try:
                with pytest.raises(StoreUnavailable):
                    await store._database.read(frozen)
            finally:
                os.kill(pids[0], signal.SIGCONT)
        await store.ping()


async def test_a_statement_that_takes_too_long_is_stopped(
    postgres_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(postgres_database.url) as store:
        endless = text("SELECT pg_sleep(3600)")
        monkeypatch.setattr("skillian.storage.database._STATEMENT_SECONDS", 0.1)
        monkeypatch.setattr("skillian.storage.database._GRACE_SECONDS", 60.0)
        with pytest.raises(StoreUnavailable):
            await store._database.read(lambda connection: connection.execute(endless))
        assert postgres_database.active() == 0


async def test_a_write_is_whole_although_its_caller_is_cancelled(store: SessionStore) -> None:
    database = store._database
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(connection: Connection) -> None:
        for number in range(3):
            loop.call_soon_threadsafe(begun.set)
            values = {"key": str(number)}
            connection.execute(
                text("INSERT INTO skillian_comparisons VALUES (:key, '{}', '2999')"), values
            )

    writing = asyncio.create_task(database.write(work))
    await begun.wait()
    writing.cancel()
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    for number in range(3):
        assert await store.comparisons.find(str(number)) == {}
