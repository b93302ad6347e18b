"""What tinyagent uses of DBOS beyond its documented API: a table, and one attribute.

If one of these fails after an upgrade, look at `beacon.py` and `DurableRuns.drain`.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from dbos._dbos import _get_dbos_instance  # pyright: ignore[reportPrivateUsage] - compared with it
from psycopg.rows import DictRow, dict_row
from tests.support.durable_runs import empty_database, opened, turns
from tests.support.postgres import Database

from tinyagent import ReactAgent
from tinyagent.durable import DurableRuns
from tinyagent.durable.beacon import beacon

CLAIMED = (
    "UPDATE {} SET status = 'PENDING', owner_xid = 'x', executor_id = 'dead',"
    " started_at_epoch_ms = 1 WHERE workflow_uuid IN ('ours', 'theirs')"
)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return empty_database(tmp_path)
    found: Database = request.getfixturevalue("postgres_database")
    return found.url


async def test_a_run_is_put_back_as_dbos_puts_it_back(database: str) -> None:
    async with opened(database, {"clerk": ReactAgent(turns("Done."), [])}) as runs:
        for run_id in ("ours", "theirs"):
            await runs.start("clerk", "go", run_id=run_id, queue="nobody")
        rows = _Rows(database)
        rows.claim()
        held = beacon(database, "mine")
        held.hold()
        held.put_back(["ours"], "another")
        assert rows.row("ours")["status"] == "PENDING"
        held.put_back(["ours"], "dead")
        held.close()
        private: Any = _get_dbos_instance()
        private._sys_db.reenqueue_for_recovery("theirs", ["dead"], "recovered")
        ours, theirs = rows.row("ours"), rows.row("theirs")
    own = {"workflow_uuid", "updated_at", "created_at", "creator_xid"}
    differing = {name for name in ours if name not in own and ours[name] != theirs[name]}
    assert differing == set()
    assert ours["status"] == "ENQUEUED"
    assert abs(int(ours["updated_at"]) - int(theirs["updated_at"])) < 60_000


async def test_a_drained_process_stops_the_threads_that_take_runs(tmp_path: Path) -> None:
    async with DurableRuns(empty_database(tmp_path), {}) as runs:
        stops = runs._dbos.background_thread_stop_events
        assert stops
        assert not any(stop.is_set() for stop in stops)
        await runs.drain()
        assert all(stop.is_set() for stop in stops)


class _Rows:
    """DBOS's rows of runs."""

    def __init__(self, url: str) -> None:
        self._url = url

    def claim(self) -> None:
        """Write the rows as a dead worker leaves them."""
        if self._url.startswith("sqlite"):
            with closing(self._file()) as file, file:
                file.execute(CLAIMED.format("workflow_status"))
            return
        with psycopg.connect(self._url) as connection:
            connection.execute(CLAIMED.format("dbos.workflow_status").encode())

    def row(self, run_id: str) -> dict[str, Any]:
        """The row of a run, by column."""
        if self._url.startswith("sqlite"):
            with closing(self._file()) as file:
                query = "SELECT * FROM workflow_status WHERE workflow_uuid = ?"
                return dict(file.execute(query, (run_id,)).fetchone())
        with psycopg.Connection[DictRow].connect(self._url, row_factory=dict_row) as connection:
            query = "SELECT * FROM dbos.workflow_status WHERE workflow_uuid = %s"
            row = connection.execute(query, (run_id,)).fetchone()
            assert row is not None
            return row

    def _file(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._url.removeprefix("sqlite:///"), timeout=30)
        connection.row_factory = sqlite3.Row
        return connection
