"""DurableComparisons: long comparisons that survive the process that works on them.

What they read they only read: one that was interrupted is begun anew by whoever takes it up.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from skillian.api.comparisons import Comparisons
from skillian.api.problems import problem_of
from skillian.chat.durable_work import DurableWork, result_of
from skillian.data.declare.saved import SavedComparison
from skillian.errors import ToolError
from skillian.storage import StoreUnavailable, TooManyWaiting
from tinyagent import RunResult

logger = logging.getLogger("skillian")

COMPARISON = "skillian-comparisons"
AT_ONCE = 4
PER_OWNER = 2
MAX_WAITING = 100
"""How many of an owner's may wait to be made."""

_LOOK_SECONDS = 1.0


class DurableComparisons:
    """Compares, here and in any number of other processes at one store.

    Args:
        work: what they are work of.
        comparisons: compares, and keeps the result.
    """

    def __init__(self, work: DurableWork, comparisons: Comparisons) -> None:
        self._work = work
        self._comparisons = comparisons
        work.add(COMPARISON, self._compare, at_once=AT_ONCE, per_owner=PER_OWNER)

    async def start(self, owner: str, asked: SavedComparison) -> str:
        """Have it compared by whoever is free; gives the run's id.

        Raises:
            ToolError: it cannot be compared, as far as can be told before.
            TooManyWaiting: as many of the owner wait already as may.
            StoreUnavailable: it cannot be written down.
        """
        await self._comparisons.check(asked)
        if await self._work.waiting(COMPARISON, owner, MAX_WAITING) == MAX_WAITING:
            raise TooManyWaiting("comparisons", MAX_WAITING)
        run_id = uuid.uuid4().hex
        task = json.dumps({"run": run_id, "asked": asked.model_dump(mode="json")})
        await self._work.enqueue(COMPARISON, task, run_id, owner, title=f"{asked.a} and {asked.b}")
        return run_id

    async def _compare(self, task: str) -> RunResult[Any]:
        """Compare what the task says; the run's output is the cache key."""
        named = json.loads(task)
        asked = SavedComparison.model_validate(named["asked"])
        groups: dict[str, int] = {}
        comparing = asyncio.create_task(self._comparisons.compare(asked, groups.__setitem__))
        watching = asyncio.create_task(self._watch(named["run"], groups, comparing))
        try:
            await asyncio.wait([comparing])
        finally:  # in the middle, too, when the process ends
            comparing.cancel()
            watching.cancel()
            await asyncio.wait([comparing, watching])
        if comparing.cancelled():
            return result_of(cancelled=True)
        try:
            return result_of(comparing.result()["cache_key"])
        except StoreUnavailable:
            raise asyncio.CancelledError from None  # not over: it is put back, and begun anew
        except ToolError as error:
            return result_of(error=str(error))
        except Exception as error:
            logger.exception("a comparison failed")
            return result_of(error=problem_of(error).detail)

    async def _watch(
        self, run_id: str, groups: dict[str, int], comparing: asyncio.Task[Any]
    ) -> None:
        """Write down how far it is; cancel it where the run was, or is somebody else's now."""
        told = ""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                if not await self._work.is_ours(run_id):
                    comparing.cancel()
                    return
                progress = "; ".join(f"{name}: {count} groups" for name, count in groups.items())
                if progress != told:
                    await self._work.note(run_id, progress=progress)
                    told = progress
            except SQLAlchemyError as error:  # it is back before long, or the result is lost
                logger.warning("a comparison cannot be looked after: %s", type(error).__name__)
