"""Beacon: the lock by which a worker process shows that it is alive, and the runs of workers.

The lock is on a file next to a SQLite database, or belongs to a PostgreSQL session. A process that
dies, however it dies, holds no lock any more: the operating system or the server releases it. The
runs of a worker are read and put back in DBOS's own table, `workflow_status`.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import psycopg
from sqlalchemy import URL, make_url

from tinyagent.durable.database import client_options, server_options

# Advisory locks are numbers: those of executors are hashes with this seed.
_SEED = 7_446_990_162
_SWEEPER = 7_446_990_163

_DEAD = """
SELECT DISTINCT executor_id FROM dbos.workflow_status
WHERE status = 'PENDING' AND hashtextextended(executor_id, %s) NOT IN (
    SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
"""
# As DBOS recovers a workflow. Only a run that its executor still owns goes back: once another
# worker has taken it, the row names that one.
_PUT_BACK = """
UPDATE {table} SET status = 'ENQUEUED', owner_xid = NULL, started_at_epoch_ms = NULL,
    updated_at = {now}
WHERE status = 'PENDING' AND executor_id = {mark} AND workflow_uuid = {mark}
"""


class Beacon(Protocol):
    """The lock of this process, and a look at the locks and runs of others."""

    grace_seconds: float
    """How long a lock must be seen free: a living holder may have to take it again."""

    def hold(self) -> None:
        """Take the lock, or make sure that it is still held."""
        ...

    def dead(self) -> set[str]:
        """The executors that have running runs and hold no lock."""
        ...

    def owned(self, executor_id: str) -> set[tuple[str, str]]:
        """The running runs of an executor, each with the token of its claim."""
        ...

    def put_back(self, run_ids: Iterable[str], executor_id: str) -> None:
        """Put running runs of an executor back into their queues."""
        ...

    def close(self) -> None:
        """Release the lock."""
        ...


class FileBeacon:
    """A locked file in the folder `<database>-workers`."""

    grace_seconds = 0.0

    def __init__(self, database: Path, executor_id: str) -> None:
        self._database = database
        self._executor_id = executor_id
        self._folder = database.with_name(f"{database.name}-workers")
        self._held: int | None = None

    def hold(self) -> None:
        """Create the file and lock it."""
        if self._held is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._held = os.open(self._path(self._executor_id), os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.lockf(self._held, fcntl.LOCK_EX)

    def dead(self) -> set[str]:
        """Try the lock of each executor that has running runs."""
        rows = self._query("SELECT DISTINCT executor_id FROM workflow_status WHERE status = ?")
        others = {name for (name,) in rows} - {self._executor_id}
        return {name for name in others if self._is_free(name)}

    def owned(self, executor_id: str) -> set[tuple[str, str]]:
        """Read DBOS's table."""
        return set(
            self._query(
                "SELECT workflow_uuid, owner_xid FROM workflow_status"
                " WHERE status = ? AND executor_id = ?",
                executor_id,
            )
        )

    def put_back(self, run_ids: Iterable[str], executor_id: str) -> None:
        """Write to DBOS's table."""
        now = "CAST(strftime('%s', 'now') AS INTEGER) * 1000"
        statement = _PUT_BACK.format(table="workflow_status", now=now, mark="?")
        connection = sqlite3.connect(self._database, timeout=30)
        try:
            with connection:
                connection.executemany(statement, [(executor_id, run_id) for run_id in run_ids])
        finally:
            connection.close()

    def close(self) -> None:
        """Remove the file and its lock."""
        if self._held is not None:
            self._path(self._executor_id).unlink(missing_ok=True)
            os.close(self._held)
            self._held = None

    def _path(self, executor_id: str) -> Path:
        return self._folder / f"{quote(executor_id, safe='')}.lock"

    def _is_free(self, executor_id: str) -> bool:
        path = self._path(executor_id)
        try:
            descriptor = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return True
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        else:
            path.unlink(missing_ok=True)
            return True
        finally:
            os.close(descriptor)

    def _query(self, statement: str, *values: str) -> list[Any]:
        connection = sqlite3.connect(self._database, timeout=30)
        try:
            return connection.execute(statement, ("PENDING", *values)).fetchall()
        finally:
            connection.close()


class SessionBeacon:
    """An advisory lock of a PostgreSQL session, which ends with its connection."""

    # After a restart of the server all workers are without locks; each takes its own again within
    # a second or two.
    grace_seconds = 6.0

    def __init__(self, url: URL, executor_id: str) -> None:
        self._conninfo = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._executor_id = executor_id
        self._connection: psycopg.Connection[Any] | None = None
        self._sweeps = False

    def hold(self) -> None:
        """Connect and lock, unless the connection still works."""
        if self._connection is not None:
            try:
                self._connection.execute("SELECT 1")
            except psycopg.Error:
                self.close()
            else:
                return
        connection = psycopg.connect(self._conninfo, autocommit=True, **client_options())
        try:
            for name, value in server_options().items():
                connection.execute("SELECT set_config(%s, %s, false)", (name, str(value)))
            connection.execute(
                "SELECT pg_advisory_lock(hashtextextended(%s, %s))", (self._executor_id, _SEED)
            )
        except psycopg.Error:
            connection.close()
            raise
        self._connection = connection

    def dead(self) -> set[str]:
        """Compare the running runs with the locks; one worker does this for all."""
        if not self._sweeps:
            ((self._sweeps,),) = self._query("SELECT pg_try_advisory_lock(%s)", _SWEEPER)
        return {name for (name,) in self._query(_DEAD, _SEED)} if self._sweeps else set()

    def owned(self, executor_id: str) -> set[tuple[str, str]]:
        """Read DBOS's table."""
        return set(
            self._query(
                "SELECT workflow_uuid, owner_xid FROM dbos.workflow_status"
                " WHERE status = 'PENDING' AND executor_id = %s",
                executor_id,
            )
        )

    def put_back(self, run_ids: Iterable[str], executor_id: str) -> None:
        """Write to DBOS's table."""
        now = "CAST(extract(epoch FROM now()) * 1000 AS BIGINT)"
        statement = _PUT_BACK.format(table="dbos.workflow_status", now=now, mark="%s").encode()
        for run_id in run_ids:
            self._live_connection().execute(statement, (executor_id, run_id))

    def close(self) -> None:
        """End the session, and with it its locks."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._sweeps = False

    def _query(self, statement: str, *values: object) -> list[Any]:
        return self._live_connection().execute(statement.encode(), values or None).fetchall()

    def _live_connection(self) -> psycopg.Connection[Any]:
        if self._connection is None:
            raise psycopg.OperationalError("no connection")
        return self._connection


def beacon(url: str, executor_id: str) -> Beacon:
    """The beacon for a database."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return FileBeacon(Path(parsed.database or "").absolute(), executor_id)
    return SessionBeacon(parsed, executor_id)
