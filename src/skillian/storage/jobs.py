"""Jobs: work in the background, known to all processes at one database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Row, and_, delete, func, insert, not_, or_, select, update

from skillian.storage.database import Database, as_text
from skillian.storage.leases import LEASE_SECONDS, Leases
from skillian.storage.schema import jobs, saved

INTERRUPTED = "The server that worked on it has ended; ask again."
MAX_ENDED = 1000
"""How many jobs of an owner are kept."""
LIVE = ("queued", "running")
"""The states of a job that has not ended."""


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job.

    `state` is `"queued"`, `"running"`, `"completed"`, `"error"`, `"cancelled"` or `"interrupted"`.
    `result` is that of a completed job, `error` says why one failed. `question` is what it
    compares, as JSON, `verdict` that of its result, and `saved` the id of the saved comparison that
    it runs; each may be empty. Times are UTC in ISO 8601.
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
    question: str = ""
    verdict: str = ""
    saved: str = ""

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

    async def add(
        self, owner: str, title: str, most: int, question: str = "", saved: str = ""
    ) -> JobRecord | None:
        """A new job, queued; None if `most` of the owner's jobs are queued already.

        Args:
            owner: Who asks.
            title: The title.
            most: How many of the owner's jobs may be queued.
            question: What it compares, as JSON.
            saved: The id of the saved comparison that it runs.
        """

        def work(connection: Connection) -> JobRecord | None:
            now = self._database.now(connection)
            queued = select(func.count()).where(
                jobs.c.owner == owner, jobs.c.state == "queued", jobs.c.lease_until >= as_text(now)
            )
            if int(connection.scalar(queued) or 0) >= most:
                return None
            times = {"created": as_text(now), "updated": as_text(now), "lease_until": _lease(now)}
            texts = dict.fromkeys(("progress", "result", "error", "verdict"), "")
            texts |= {"question": question, "saved": saved}
            row = {"id": uuid4().hex, "owner": owner, "title": title, "state": "queued"}
            connection.execute(insert(jobs), row | texts | times)
            del times["lease_until"]
            return JobRecord(**row, **times, **texts)

        return await self._database.write(work)

    async def get(self, owner: str, job_id: str) -> JobRecord | None:
        """The owner's job of this id, if there is one."""

        def work(connection: Connection) -> JobRecord | None:
            query = select(jobs).where(jobs.c.id == job_id, jobs.c.owner == owner)
            row = connection.execute(query).one_or_none()
            return None if row is None else self._record(row, self._database.now(connection))

        return await self._database.read(work)

    async def list(self, owner: str, limit: int) -> Sequence[JobRecord]:
        """The owner's jobs, and others' that run a saved comparison of the owner; newest first."""
        own = select(saved.c.id).where(saved.c.owner == owner)

        def work(connection: Connection) -> Sequence[JobRecord]:
            query = select(jobs).where(or_(jobs.c.owner == owner, jobs.c.saved.in_(own)))
            query = query.limit(limit)
            rows = connection.execute(query.order_by(jobs.c.created.desc(), jobs.c.id))
            now = self._database.now(connection)
            return [self._record(row, now) for row in rows]

        return await self._database.read(work)

    async def update(self, job_id: str, **values: str) -> bool:
        """Change a job and renew its lease; False if it has ended.

        Args:
            job_id: The job.
            values: Columns with their new values: `state`, `progress`, `result`, `error`,
                `verdict`.
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

    async def purge(self, older_than: timedelta | None) -> int:
        """Delete jobs that ended longer ago than this, and those beyond `MAX_ENDED` of an owner.

        Args:
            older_than: How long ago; None stands for any time.

        Returns:
            How many were deleted.
        """
        newest = func.row_number().over(
            partition_by=jobs.c.owner, order_by=(jobs.c.created.desc(), jobs.c.id)
        )
        numbered = select(jobs.c.id, newest.label("number")).subquery()
        surplus = select(numbered.c.id).where(numbered.c.number > MAX_ENDED)

        def work(connection: Connection) -> int:
            now = self._database.now(connection)
            ended = delete(jobs).where(jobs.c.lease_until < as_text(now))
            count = connection.execute(ended.where(jobs.c.id.in_(surplus))).rowcount
            if older_than is not None:
                before = as_text(now - older_than)
                old = delete(jobs).where(jobs.c.updated < before, jobs.c.lease_until < before)
                count += connection.execute(old).rowcount
            return count

        return await self._database.write(work)

    async def asking(self, text: str) -> Sequence[JobRecord]:
        """The jobs of all owners with this text in their question, such as the id of a file."""
        query = select(jobs).where(jobs.c.question.contains(text, autoescape=True))

        def work(connection: Connection) -> Sequence[JobRecord]:
            now = self._database.now(connection)
            return [self._record(row, now) for row in connection.execute(query)]

        return await self._database.read(work)

    async def forget(self, ids: Collection[str] = (), saved_id: str = "") -> None:
        """Delete those of these ids, or of a saved comparison, that have ended."""
        chosen = jobs.c.saved == saved_id if saved_id else jobs.c.id.in_(ids)

        def work(connection: Connection) -> None:
            is_live = and_(*_is_live(self._database.now(connection)))
            connection.execute(delete(jobs).where(chosen, not_(is_live)))

        await self._database.write(work)

    def _record(self, row: Row[Any], now: datetime) -> JobRecord:
        state, error, updated = row.state, row.error, row.updated
        if state in LIVE and self._leases.has_ended(row.id, row.lease_until, now):
            state, error, updated = "interrupted", INTERRUPTED, row.lease_until
        texts = row.progress, row.result, error
        more = row.question, row.verdict, row.saved
        times = row.created, updated
        return JobRecord(row.id, row.owner, row.title, state, *texts, *times, *more)


def _is_live(now: datetime) -> tuple[Any, ...]:
    return jobs.c.state.in_(LIVE), jobs.c.lease_until >= as_text(now)


def _lease(now: datetime) -> str:
    return as_text(now + timedelta(seconds=LEASE_SECONDS))
