"""The clerk, in place of the person who decides on calls in doubt."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from durable_effects import Effects

from tinyagent.durable import DurableRuns, DurableState

_UNDER_WAY: tuple[DurableState, ...] = ("queued", "running", "needs_decision")


@dataclass
class Clerk:
    """Checks whether the amount was paid, and decides skip or retry.

    Attributes:
        effects: where to look.
        reported: the calls that were put to the clerk: run, step, when.
        decided: what was said to each.
    """

    effects: Effects
    reported: list[tuple[str, int, float]] = field(default_factory=list[tuple[str, int, float]])
    decided: list[str] = field(default_factory=list[str])

    async def work(self, runs: DurableRuns) -> None:
        """Decide until all runs have ended."""
        while True:
            for record in await runs.list(state="needs_decision", limit=1000):
                # The run goes on with one answer, and comes back with its other questions.
                question = record.questions[0]
                run, step = question.arguments["run"], question.arguments["step"]
                was_paid = self.effects.was_paid(run, step)
                self.reported.append((run, step, time.time()))
                self.decided.append("skip" if was_paid else "retry")
                await runs.decide(
                    record.run_id, "skip" if was_paid else "retry", call=question.place
                )
            left = [await runs.list(state=state, limit=1) for state in _UNDER_WAY]
            if not any(left):
                return
            await asyncio.sleep(0.3)
