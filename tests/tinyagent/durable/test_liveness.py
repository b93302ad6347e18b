"""Who lives and who does not: real processes, real locks, real kills."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url
from tests.support.postgres import Database, Server, running_postgres
from tests.support.waits import SECONDS, soon, until

from tinyagent import ReactAgent, ScriptedModel
from tinyagent.core.errors import ConfigurationError
from tinyagent.durable import DurableRuns
from tinyagent.durable.beacon import Beacon, FileBeacon, SessionBeacon, beacon
from tinyagent.durable.liveness import Liveness, _Sightings

HOLD = """
import sys
from tinyagent.durable.beacon import beacon
held = beacon(sys.argv[1], sys.argv[2])
held.hold()
print("held", flush=True)
sys.stdin.read()
held.close()
"""
TABLE = "workflow_status (workflow_uuid TEXT, status TEXT, executor_id TEXT, owner_xid TEXT)"
ROWS = (
    "VALUES ('r1', 'PENDING', 'one', 'x1'), ('r2', 'PENDING', 'two', 'x2'),"
    " ('r3', 'SUCCESS', 'three', 'x3')"
)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with a run under way on each of the executors "one" and "two"."""
    if request.param == "sqlite":
        connection = sqlite3.connect(tmp_path / "runs.db")
        connection.execute(f"CREATE TABLE {TABLE}")
        connection.execute(f"INSERT INTO workflow_status {ROWS}")
        connection.commit()
        connection.close()
        return f"sqlite:///{tmp_path / 'runs.db'}"
    database: Database = request.getfixturevalue("postgres_database")
    database.execute(
        f"CREATE SCHEMA dbos; CREATE TABLE dbos.{TABLE};INSERT INTO dbos.workflow_status {ROWS}"
    )
    return database.url


@contextmanager
def holder(url: str, executor_id: str) -> Generator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, url, executor_id]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


@contextmanager
def lit(url: str, executor_id: str) -> Generator[Beacon]:
    held = beacon(url, executor_id)
    held.hold()
    try:
        yield held
    finally:
        held.close()


def test_a_killed_process_is_dead_and_a_living_one_is_not(url: str) -> None:
    with ExitStack() as stack:
        one = stack.enter_context(holder(url, "one"))
        stack.enter_context(holder(url, "two"))
        mine = stack.enter_context(lit(url, "mine"))
        assert mine.dead() == set()
        one.kill()
        until(lambda: mine.dead() == {"one"})
        # It stays dead until its runs are another's.
        assert mine.dead() == {"one"}


def test_a_process_that_has_ended_well_is_gone_too(url: str) -> None:
    with holder(url, "one") as one, holder(url, "two"), lit(url, "mine") as mine:
        one.communicate("")
        assert one.returncode == 0
        until(lambda: mine.dead() == {"one"})


def test_its_own_runs_are_not_taken_for_a_dead_ones(url: str) -> None:
    with holder(url, "two"), lit(url, "one") as mine:
        mine.hold()
        assert mine.dead() == set()
        assert mine.owned("one") == {("r1", "x1")}


def test_one_worker_looks_for_dead_ones_until_it_ends(postgres_database: Database) -> None:
    postgres_database.execute(
        f"CREATE SCHEMA dbos; CREATE TABLE dbos.{TABLE}; INSERT INTO dbos.workflow_status {ROWS}"
    )
    url = postgres_database.url
    with lit(url, "second") as second:
        with lit(url, "first") as first:
            assert first.dead() == {"one", "two"}
            assert second.dead() == set()
        until(lambda: second.dead() == {"one", "two"})


def test_a_lock_is_taken_again_after_the_server_was_away(tmp_path: Path) -> None:
    with running_postgres() as server:
        first, second = (
            SessionBeacon(make_url(server.url()), name) for name in ("first", "second")
        )
        first.hold()
        second.hold()
        server.stop()
        for held in (first, second):
            with pytest.raises(psycopg.Error):
                held.hold()
        server.start()
        first.hold()
        second.hold()
        assert len(_locks(server)) == 2
        first.close()
        second.close()


def test_a_session_that_lost_its_connection_looks_at_nothing() -> None:
    with pytest.raises(psycopg.OperationalError):
        SessionBeacon(make_url("postgresql://nobody@127.0.0.1:1/none"), "one").dead()


@pytest.mark.parametrize("name", ["../runs.db", "a/b", ".."], ids=["outside", "below", "parent"])
def test_an_id_is_never_taken_for_a_path(tmp_path: Path, name: str) -> None:
    file = tmp_path / "runs.db"
    with sqlite3.connect(file) as connection:
        connection.execute(f"CREATE TABLE {TABLE}")
        connection.execute("INSERT INTO workflow_status VALUES ('r', 'PENDING', ?, 'x')", (name,))
    connection.close()
    held = FileBeacon(file, "mine")
    held.hold()
    assert held.dead() == {name}
    held.close()
    assert file.exists()


def test_a_sighting_lasts_or_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("tinyagent.durable.liveness.time.monotonic", lambda: now)
    seen: _Sightings[str] = _Sightings(5.0)
    assert seen.lasting({"a", "b"}) == []
    now = 104.0
    assert seen.lasting({"a"}) == []  # b came back
    now = 105.0
    assert seen.lasting({"a", "b"}) == ["a"]
    assert seen.lasting({"b"}) == []
    seen.forget()
    now = 110.0
    assert seen.lasting({"b"}) == []


@pytest.mark.timeout(120)
async def test_a_run_whose_claim_was_lost_goes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_ORPHAN_SECONDS", "_ORPHAN_LOOKS_SECONDS"):
        monkeypatch.setattr(f"tinyagent.durable.liveness.{name}", 0.2)
    has_looked, put_back = threading.Event(), Liveness.put_back

    def put_back_later(*arguments: Any) -> None:
        has_looked.wait(SECONDS)
        put_back(*arguments)

    monkeypatch.setattr(Liveness, "put_back", put_back_later)
    file = tmp_path / "runs.sqlite"
    agents = {"clerk": ReactAgent(ScriptedModel(["Done."]))}
    async with DurableRuns(f"sqlite:///{file}", agents) as runs:
        await runs.start("clerk", "go", run_id="r", queue="nobody")
        # As a claim leaves it whose answer was lost with the connection.
        claimed = "UPDATE workflow_status SET status = 'PENDING', owner_xid = 'x', executor_id = ?"
        connection = sqlite3.connect(file, timeout=30, isolation_level=None)
        connection.execute(claimed, (runs.executor_id,))
        assert (await runs.get("r")).state == "running"
        has_looked.set()
        status = "SELECT status FROM workflow_status"
        await soon(lambda: connection.execute(status).fetchone() == ("ENQUEUED",))
        connection.close()
        assert (await runs.get("r")).state == "queued"


def test_an_unreachable_database_is_reported_without_its_address() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Liveness("postgresql://me:secret@127.0.0.1:1/runs", "one").start()
    assert "secret" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)


def _locks(server: Server) -> Sequence[object]:
    with psycopg.connect(server.url()) as connection:
        return connection.execute(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted"
        ).fetchall()
