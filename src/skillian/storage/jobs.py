"""Jobs: work in the background, known to all processes at one database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from skillian.storage.database import Database, as_text
from skillian.storage.leases import LEASE_SECONDS, Leases
from skillian.storage.schema import jobs

INTERRUPTED = "The server that worked on it has ended; ask again."
LIVE = ("queued", "running")
"""The states of a job that has not ended."""


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job.

    `state` is `"queued"`, `"running"`, `"completed"`, `"error"`, `"cancelled"` or `"interrupted"`.
    `result` is that of a completed job, `error` says why one failed. Times are UTC in ISO 8601.
    """

    id: str
    owner: str
    title: str
    state: str
    progress: str
    result: str
    error: str
    created: str
    updated: str

    @property
    def has_ended(self) -> bool:
        """Whether it is neither queued nor running."""
        return self.state not in LIVE


class JobStore:
    """The jobs in the session store's database.

    A process that works on jobs renews their leases; a job whose lease has run out is interrupted.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._leases = Leases(LEASE_SECONDS)

    async def add(self, owner: str, title: str, most: int) -> JobRecord | None:
        """A new job, queued; None if `most` of the owner's jobs are queued already."""

        def work(connection: Connection) -> JobRecord | None:
            now = self._database.now(connection)
            queued = select(func.count()).where(
                jobs.c.owner == owner, jobs.c.state == "queued", jobs.c.lease_until >= as_text(now)
            )
            if int(connection.scalar(queued) or 0) >= most:
                return None
            times = {"created": as_text(now), "updated": as_text(now), "lease_until": _lease(now)}
            texts = dict.fromkeys(("progress", "result", "error"), "")
            row = {"id": uuid4().hex, "owner": owner, "title": title, "state": "queued"}
            connection.execute(insert(jobs), row | texts | times)
            return JobRecord(
                row["id"], owner, title, "queued", "", "", "", times["created"], times["updated"]
            )

        return await self._database.write(work)

    async def get(self, owner: str, job_id: str) -> JobRecord | None:
        """The owner's job of this id, if there is one."""

        def work(connection: Connection) -> JobRecord | None:
            query = select(jobs).where(jobs.c.id == job_id, jobs.c.owner == owner)
            row = connection.execute(query).one_or_none()
            return None if row is None else self._record(row, self._database.now(connection))

        return await self._database.read(work)

    async def list(self, owner: str, limit: int) -> Sequence[JobRecord]:
        """The owner's jobs, newest first."""

        def work(connection: Connection) -> Sequence[JobRecord]:
            query = select(jobs).where(jobs.c.owner == owner).limit(limit)
            rows = connection.execute(query.order_by(jobs.c.created.desc(), jobs.c.id))
            now = self._database.now(connection)
            return [self._record(row, now) for row in rows]

        return await self._database.read(work)

    async def update(self, job_id: str, **values: str) -> bool:
        """Change a job and renew its lease; False if it has ended.

        Args:
            job_id: The job.
            values: Columns with their new values: `state`, `progress`, `result`, `error`.
        """

        def work(connection: Connection) -> bool:
            now = self._database.now(connection)
            changed = update(jobs).where(jobs.c.id == job_id, *_is_live(now))
            changed = changed.values(**values, updated=as_text(now), lease_until=_lease(now))
            return connection.execute(changed).rowcount == 1

        return await self._database.write(work)

    async def keep(self, progress: Mapping[str, str]) -> Collection[str]:
        """Renew the leases of jobs and store their progress; returns those that have not ended.

        Args:
            progress: How far each job is, by its id.
        """

        def work(connection: Connection) -> Collection[str]:
            now = self._database.now(connection)
            live: set[str] = set()
            for job_id, text in progress.items():
                renewal = update(jobs).where(jobs.c.id == job_id, *_is_live(now))
                renewal = renewal.values(progress=text, lease_until=_lease(now))
                if connection.execute(renewal).rowcount:
                    live.add(job_id)
            return live

        return await self._database.write(work, lasting=False)

    async def purge(self, older_than: timedelta) -> int:
        """Delete jobs that ended longer ago than this; returns their number."""

        def work(connection: Connection) -> int:
            now = self._database.now(connection)
            before = as_text(now - older_than)
            ended = delete(jobs).where(jobs.c.updated < before, jobs.c.lease_until < before)
            return connection.execute(ended).rowcount

        return await self._database.write(work)

    def _record(self, row: Row[Any], now: datetime) -> JobRecord:
        state, error, updated = row.state, row.error, row.updated
        if state in LIVE and self._leases.has_ended(row.id, row.lease_until, now):
            state, error, updated = "interrupted", INTERRUPTED, row.lease_until
        texts = row.progress, row.result, error
        return JobRecord(row.id, row.owner, row.title, state, *texts, row.created, updated)


def _is_live(now: datetime) -> tuple[Any, ...]:
    return jobs.c.state.in_(LIVE), jobs.c.lease_until >= as_text(now)


def _lease(now: datetime) -> str:
    return as_text(now + timedelta(seconds=LEASE_SECONDS))
