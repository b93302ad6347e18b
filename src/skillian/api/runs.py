"""Runs: comparisons in the background and turns, as their owner sees and cancels them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from skillian.api.jobs import ComparisonJobs, Work
from skillian.api.problems import ProblemError
from skillian.chat.turns import Turns, TurnStatus
from skillian.data.declare.saved import SavedComparison
from skillian.storage import JobRecord

JsonObject = dict[str, Any]

_JOB_ID = re.compile(r"[0-9a-f]{32}")
_TURN_ID = re.compile(r"([0-9a-f]{32})-(\d{1,18})")
_UNDER_WAY = ("queued", "running", "waiting", "needs_decision")


class Runs:
    """The runs of a service; each is seen by its owner only.

    Args:
        jobs: The comparisons in the background.
        turns: The turns.
    """

    def __init__(self, jobs: ComparisonJobs, turns: Turns) -> None:
        self._jobs = jobs
        self._turns = turns

    async def compare(
        self,
        owner: str,
        comparison: SavedComparison,
        work: Work | None = None,
        saved: str = "",
    ) -> JsonObject:
        """Compare in the background; the run as JSON.

        Takes and raises what `ComparisonJobs.start` does.
        """
        return _job_json(await self._jobs.start(owner, comparison, work, saved), owner)

    async def list(self, owner: str, offset: int, limit: int) -> Sequence[JsonObject]:
        """Runs in progress, and those that ended and are kept, newest first.

        Runs that other keys made of this owner's saved comparisons are among them.
        """
        most = offset + limit
        jobs = [_job_json(job, owner) for job in await self._jobs.store.list(owner, most)]
        turns = [_turn_json(turn) for turn in await self._turns.list(owner, most)]
        runs = sorted([*jobs, *turns], key=lambda run: str(run["created"]), reverse=True)
        return runs[offset:most]

    async def get(self, owner: str, run_id: str) -> JsonObject:
        """A run as JSON.

        Raises:
            ProblemError: The owner has no run of this id, or it is no longer kept (404).
        """
        run: JsonObject | None = None
        if _JOB_ID.fullmatch(run_id):
            job = await self._jobs.store.get(owner, run_id)
            run = None if job is None else _job_json(job, owner)
        elif match := _TURN_ID.fullmatch(run_id):
            turn = await self._turns.get(owner, match[1], int(match[2]))
            run = None if turn is None else _turn_json(turn)
        if run is None:
            detail = "There is no such run, or it is no longer kept."
            raise ProblemError(404, "run_not_found", detail)
        return run

    async def cancel(self, owner: str, run_id: str) -> None:
        """End a run, whichever process works on it; it stops within seconds.

        Raises:
            ProblemError: As for `get`, or the run has already ended (409).
        """
        run = await self.get(owner, run_id)
        is_over = run["state"] not in _UNDER_WAY
        if run["kind"] == "turn" and not is_over:
            await self._turns.cancel(run["session_id"], run["turn"])
        elif is_over or not await self._jobs.cancel(run_id):
            detail = f"run {run_id!r} has already ended: {run['state']}"
            raise ProblemError(409, "run_is_over", detail)

    async def purge(self, older_than: timedelta | None) -> None:
        """Delete comparisons that ended, as `ComparisonJobs.purge` does."""
        await self._jobs.purge(older_than)

    async def forget_file(self, text: str) -> None:
        """Delete comparisons that ended and asked about a file that is gone."""
        await self._jobs.forget_files(text)

    async def forget_saved(self, saved_id: str) -> None:
        """Delete comparisons that ended and ran a saved one."""
        await self._jobs.store.forget(saved_id=saved_id)


def _job_json(job: JobRecord, owner: str) -> JsonObject:
    is_own = job.owner == owner
    return {
        "id": job.id,
        "kind": "comparison",
        "state": job.state,
        "title": job.title,
        "created": job.created,
        "updated": job.updated,
        "error": (job.error or None) if is_own else None,
        "progress": (job.progress or None) if job.state == "running" else None,
        "cache_key": job.result or None,
        "comparison": json.loads(job.question) if job.question else None,
        "verdict": job.verdict or None,
        "saved_id": job.saved or None,
        "is_own": is_own,
    }


def _turn_json(turn: TurnStatus) -> JsonObject:
    status = asdict(turn)
    number = status.pop("number")
    return {"id": f"{turn.session_id}-{number}", "kind": "turn", **status, "turn": number}
