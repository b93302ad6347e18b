"""Beacon: the lock by which a process that runs runs shows that it lives.

A file beside an SQLite database, or a PostgreSQL session. Whoever dies, however it dies, holds no
lock any more: the operating system or the server lets go of it.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
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


class Beacon(Protocol):
    """The lock of this process, and a look at those of the others."""

    grace_seconds: float
    """How long a lock must be seen free: a living holder may have to take it anew."""

    def hold(self) -> None:
        """Take the lock, or make sure that it is still held."""
        ...

    def dead(self) -> set[str]:
        """The executors that have runs under way and hold no lock."""
        ...

    def owned(self) -> set[tuple[str, str]]:
        """The runs under way on this executor, each with the token of its claim."""
        ...

    def close(self) -> None:
        """Give the lock back."""
        ...


class FileBeacon:
    """A locked file in the folder `<database>-workers`; it asks SQLite."""

    grace_seconds = 0.0

    def __init__(self, database: Path, executor_id: str) -> None:
        self._database = database
        self._executor_id = executor_id
        self._folder = database.with_name(f"{database.name}-workers")
        self._held: int | None = None

    def hold(self) -> None:
        """Make the file and lock it."""
        if self._held is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._held = os.open(self._path(self._executor_id), os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.lockf(self._held, fcntl.LOCK_EX)

    def dead(self) -> set[str]:
        """Try the lock of each executor that has runs under way."""
        rows = self._query("SELECT DISTINCT executor_id FROM workflow_status WHERE status = ?")
        others = {name for (name,) in rows} - {self._executor_id}
        return {name for name in others if self._is_free(name)}

    def owned(self) -> set[tuple[str, str]]:
        """Ask the database."""
        return set(
            self._query(
                "SELECT workflow_uuid, owner_xid FROM workflow_status"
                " WHERE status = ? AND executor_id = ?",
                self._executor_id,
            )
        )

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

    # A server that comes back finds all workers without their locks; each takes its own within
    # a second or two.
    grace_seconds = 6.0

    def __init__(self, url: URL, executor_id: str) -> None:
        self._conninfo = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._executor_id = executor_id
        self._connection: psycopg.Connection[Any] | None = None
        self._sweeps = False

    def hold(self) -> None:
        """Connect and lock, unless the connection still stands."""
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
        """Compare the runs under way with the locks; one worker does it for all."""
        if not self._sweeps:
            ((self._sweeps,),) = self._query("SELECT pg_try_advisory_lock(%s)", _SWEEPER)
        return {name for (name,) in self._query(_DEAD, _SEED)} if self._sweeps else set()

    def owned(self) -> set[tuple[str, str]]:
        """Ask the database."""
        return set(
            self._query(
                "SELECT workflow_uuid, owner_xid FROM dbos.workflow_status"
                " WHERE status = 'PENDING' AND executor_id = %s",
                self._executor_id,
            )
        )

    def close(self) -> None:
        """End the session and with it its locks."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._sweeps = False

    def _query(self, statement: str, *values: object) -> list[Any]:
        if self._connection is None:
            raise psycopg.OperationalError("no connection")
        return self._connection.execute(statement.encode(), values or None).fetchall()


def beacon(url: str, executor_id: str) -> Beacon:
    """The beacon for a database."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return FileBeacon(Path(parsed.database or "").absolute(), executor_id)
    return SessionBeacon(parsed, executor_id)
