"""Durable: what a visitor can ask of runs that survive their process, turns and comparisons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from skillian.api.durable_comparisons import COMPARISON, DurableComparisons
from skillian.api.problems import ProblemError
from skillian.chat.durable_turns import TURN, turn_of
from skillian.chat.durable_work import DurableWork, answering
from skillian.data.declare.saved import SavedComparison
from skillian.storage import SessionNotFound, SessionStore
from tinyagent import TinyAgentError

if TYPE_CHECKING:
    from tinyagent.durable import RunRecord

JsonObject = dict[str, Any]

_ID = re.compile(r"[0-9a-f]{32}(-\d+)?")
_FAILED = "It failed; the reason is in the log of skillian."


class Durable:
    """The durable runs of a service, each to be seen by its owner only.

    Args:
        work: what they are.
        comparisons: those of comparisons.
        store: where sessions are kept.
    """

    def __init__(
        self, work: DurableWork, comparisons: DurableComparisons, store: SessionStore
    ) -> None:
        self._work = work
        self._comparisons = comparisons
        self._store = store

    async def compare(self, owner: str, asked: SavedComparison) -> JsonObject:
        """Have it compared; the run as JSON. Raises as `DurableComparisons.start`."""
        return await self.get(owner, await self._comparisons.start(owner, asked))

    async def list(self, owner: str, offset: int, limit: int) -> Sequence[JsonObject]:
        """Runs that are not over, or ended within the last hour, the newest first."""
        with answering():
            records = await self._work.runs.list(tags={"owner": owner}, offset=offset, limit=limit)
        told = [await self._told(owner, record) for record in records]
        return [each for each in told if each is not None]

    async def get(self, owner: str, run_id: str) -> JsonObject:
        """A run as JSON.

        Raises:
            ProblemError: the owner has none of this id, or it was over an hour ago (404).
        """
        told = await self._told(owner, await self._owned(owner, run_id))
        if told is None:
            raise _unknown()
        return told

    async def cancel(self, owner: str, run_id: str) -> None:
        """End a run; who works on it learns of it within seconds.

        Raises:
            ProblemError: as `get`, or it is over already (409).
        """
        record = await self._owned(owner, run_id)
        try:
            with answering():
                await self._work.runs.cancel(run_id)
        except TinyAgentError as error:
            raise ProblemError(409, "run_is_over", str(error)) from None
        if record.agent == TURN:
            await self._store.cancel_turn(*turn_of(record.task))

    async def _owned(self, owner: str, run_id: str) -> RunRecord:
        if not _ID.fullmatch(run_id):
            raise _unknown()
        try:
            with answering():
                record = await self._work.runs.get(run_id)
        except TinyAgentError:
            raise _unknown() from None
        if record.tags.get("owner") != owner:
            raise _unknown()
        return record

    async def _told(self, owner: str, record: RunRecord) -> JsonObject | None:
        """What a visitor sees of it; None for a turn of a session that was deleted."""
        told = {
            "id": record.run_id,
            "state": record.state,
            "created": record.created.isoformat(),
            "updated": record.updated.isoformat(),
            # What did not come from us may tell of the database.
            "error": (record.error if record.error_kind else _FAILED) if record.error else None,
        }
        if record.agent == COMPARISON:
            progress = record.tags.get("progress", "") if record.state == "running" else ""
            about = {"title": record.tags.get("title", ""), "progress": progress or None}
            return {**told, "kind": "comparison", "cache_key": record.output, **about}
        session_id, number = turn_of(record.task)
        try:
            title = (await self._store.get(owner, session_id)).title
        except SessionNotFound:
            return None
        return {**told, "kind": "turn", "title": title, "session_id": session_id, "turn": number}


def _unknown() -> ProblemError:
    return ProblemError(404, "run_not_found", "There is no such run (any more).")
