"""ComparisonJobs: comparisons in the background, with progress and cancellation.

A job runs in the process that was asked. Its state is in the session store, so that every process
there can report and cancel it. If its process ends, the job is interrupted: it only reads, so the
client asks again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from skillian.api.comparisons import Comparisons
from skillian.api.problems import problem_of
from skillian.data.declare.saved import SavedComparison
from skillian.errors import ToolError
from skillian.fair_slots import FairSlots
from skillian.storage import JobRecord, JobStore, StorageError, TooManyWaiting
from skillian.storage.jobs import INTERRUPTED
from skillian.tasks import Progress
from skillian.uploads.tables import PREFIX


class Ended(NamedTuple):
    """What a comparison ends with: the cache key of its result, and the verdict, if it is known."""

    key: str
    verdict: str


Work = Callable[[SavedComparison, Progress], Awaitable[Ended]]
"""Compares."""

logger = logging.getLogger("skillian")

AT_ONCE = 4
"""The maximum number of comparisons that run at the same time in a process."""
PER_OWNER = 2
"""The same for one owner."""
MAX_WAITING = 100
"""The maximum number of queued comparisons of an owner."""

_KEEP_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Progress:
    """How many groups or rows each source has delivered."""

    unit: str
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def words(self) -> str:
        return "; ".join(f"{name}: {count} {self.unit}" for name, count in self.counts.items())


class ComparisonJobs:
    """The jobs of this process; the jobs of all processes are in `store`.

    Args:
        comparisons: Compares, and keeps the result.
        store: Where the states of jobs are.
    """

    def __init__(self, comparisons: Comparisons, store: JobStore) -> None:
        self._comparisons = comparisons
        self.store = store
        self._slots = FairSlots(AT_ONCE, PER_OWNER)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._progress: dict[str, _Progress] = {}
        self._keeper: asyncio.Task[None] | None = None

    async def start(
        self,
        owner: str,
        comparison: SavedComparison,
        work: Work | None = None,
        saved: str = "",
    ) -> JobRecord:
        """Compare in the background.

        Args:
            owner: Who asks.
            comparison: What to compare.
            work: Compares, in place of `Comparisons.compare`.
            saved: The id of the saved comparison that this runs.

        Raises:
            ToolError: It cannot be compared, as far as can be known before.
            TooManyWaiting: Too many jobs of the owner are queued.
            StoreUnavailable: The job cannot be stored.
        """
        title = await self._comparisons.check(comparison, owner)
        question = comparison.model_dump_json(exclude_defaults=True)
        job = await self.store.add(owner, title, MAX_WAITING, question, saved)
        if job is None:
            raise TooManyWaiting("comparisons", MAX_WAITING)
        self._progress[job.id] = _Progress(comparison.subject.unit)
        task = asyncio.create_task(self._work(job, comparison, work or self._compare(owner)))
        self._tasks[job.id] = task
        task.add_done_callback(lambda _: self._forget(job.id))
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep())
        return job

    async def cancel(self, job_id: str) -> bool:
        """End a job of any process within seconds; False if it has ended already."""
        cancelled = await self.store.update(job_id, state="cancelled")
        if cancelled and job_id in self._tasks:
            self._tasks[job_id].cancel()
        return cancelled

    async def purge(self, older_than: timedelta | None) -> None:
        """Delete old jobs, as `JobStore.purge` does, and those whose files are gone."""
        await self.store.purge(older_than)
        await self.forget_files(PREFIX)

    async def forget_files(self, text: str) -> None:
        """Delete jobs that ended, have this text in their question, and lack one of their files."""
        gone: list[str] = []
        for job in await self.store.asking(text):
            question = SavedComparison.model_validate_json(job.question)
            if not await self._comparisons.has_files(question, job.owner):
                gone.append(job.id)
        await self.store.forget(gone)

    async def aclose(self) -> None:
        """Interrupt the jobs of this process."""
        tasks = [*self._tasks.items()]
        for _, task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait([task for _, task in tasks])
        for job_id, _ in tasks:
            with suppress(StorageError):  # otherwise its lease ends before long
                await self.store.update(job_id, state="interrupted", error=INTERRUPTED)
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])

    def _compare(self, owner: str) -> Work:
        async def work(comparison: SavedComparison, progress: Progress) -> Ended:
            result = await self._comparisons.compare(comparison, owner, progress)
            key = str(result["cache_key"])
            return Ended(key, self._comparisons.verdict(comparison, key))

        return work

    async def _work(self, job: JobRecord, comparison: SavedComparison, work: Work) -> None:
        async with self._slots.taken(job.owner):
            try:
                await self.store.update(job.id, state="running")
                progress = self._progress[job.id].counts
                key, verdict = await work(comparison, progress.__setitem__)
                end = {"state": "completed", "result": key, "verdict": verdict}
            except ToolError as error:
                end = {"state": "error", "error": str(error)}
            except Exception as error:
                logger.exception("a comparison failed")
                end = {"state": "error", "error": problem_of(error).detail}
            try:
                await self.store.update(job.id, progress="", **end)
            except StorageError as error:
                logger.warning("the end of a comparison cannot be stored: %s", error)

    async def _keep(self) -> None:
        """Renew the leases of the jobs, and cancel those that were cancelled elsewhere."""
        while True:
            await asyncio.sleep(_KEEP_SECONDS)
            if not self._tasks:
                continue
            jobs = {job_id: progress.words() for job_id, progress in self._progress.items()}
            try:
                live = await self.store.keep(jobs)
            except StorageError as error:  # it may answer again before the leases end
                logger.warning("comparisons cannot be kept: %s", error)
                continue
            for job_id in jobs.keys() - live:
                if job_id in self._tasks:
                    self._tasks[job_id].cancel()

    def _forget(self, job_id: str) -> None:
        self._tasks.pop(job_id, None)
        self._progress.pop(job_id, None)
