"""The crash campaign: `python benchmarks/durable_campaign.py [sqlite|postgresql] ...`.

Runs of both agents, ten steps each, with tools that pay into a real table. Workers are killed at
random moments. In the end each run must have the right answer, with nothing done twice that was
recorded, and every call that was caught in the middle and must not be repeated put to a person,
whom the clerk here stands for: it looks whether the amount was paid, and says skip or retry.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from durable_checks import Evidence, Verdict, judge, recorded
from durable_clerk import Clerk
from durable_effects import Effects
from durable_fleet import Fleet, Orders
from durable_model import STEPS, CampaignModel, task_of

from tinyagent.durable import DurableRuns, RunRecord

sys.path.insert(0, str(Path(__file__).parents[1]))

_INSTANT_SECONDS = 0.1


@dataclass
class Campaign:
    """One campaign on one database.

    Attributes:
        orders: The settings of the workers, without the model.
        runs: how many.
        kills: how often a worker is killed.
        seed: of their moments.
        workers: at once.
    """

    orders: Orders
    runs: int
    kills: int
    seed: int
    workers: int = 4

    async def fight(self, limit_seconds: float) -> Verdict:
        """Run it, and judge it.

        Raises:
            TimeoutError: Runs are still running after `limit_seconds`.
        """
        database = self.orders.database
        effects = Effects(self.orders.environment["CAMPAIGN_EFFECTS"])
        effects.create()
        clerk = Clerk(effects)
        async with CampaignModel(0.02) as model:
            environment = {**self.orders.environment, "CAMPAIGN_MODEL": model.base_url}
            fleet = Fleet(replace(self.orders, environment=environment))
            for _ in range(self.workers):
                fleet.start()
            await fleet.ready()
            async with DurableRuns(database) as runs:
                battle = asyncio.create_task(self._battle(model, fleet))
                try:
                    async with asyncio.timeout(limit_seconds):
                        await self._start(runs)
                        await clerk.work(runs)
                finally:
                    battle.cancel()
                    fleet.stop()
                answers = {name: _answer(await runs.get(name)) for name in self.names}
            evidence = Evidence(
                answers,
                model.asked,
                effects.calls(),
                recorded(database, self.names),
                clerk.reported,
                clerk.decided,
                fleet.killed,
            )
        effects.close()
        return judge(evidence)

    @property
    def names(self) -> list[str]:
        """The ids of the runs."""
        return [f"r{self.seed}-{number:04}" for number in range(self.runs)]

    async def _start(self, runs: DurableRuns) -> None:
        for number, name in enumerate(self.names):
            await runs.start(("react", "code")[number % 2], task_of(name), run_id=name)

    async def _battle(self, model: CampaignModel, fleet: Fleet) -> None:
        """Kill and replace workers at random moments.

        The time between two kills is counted in model requests, so that it is the same part of
        the work on any machine.
        """
        chance = random.Random(self.seed)  # noqa: S311 - not a secret
        # None during the last fifth, so that each kill meets work.
        last = 0.8 * self.runs * STEPS
        for moment in sorted(chance.random() * last for _ in range(self.kills)):
            await model.reached(int(moment))
            await asyncio.sleep(chance.random() * _INSTANT_SECONDS)
            fleet.kill(chance.choice(sorted(fleet.living)))
            fleet.start()


def _answer(record: RunRecord) -> object:
    """The answer of a run, or how it ended without one."""
    if record.state == "completed":
        return record.output
    return f"{record.state}: {record.error_kind}: {record.error}"


@contextmanager
def place(kind: str) -> Generator[tuple[str, str]]:
    """The URLs of the runs and of the tools' tables, in a temporary folder or server."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{folder}/runs.sqlite", f"sqlite:///{folder}/effects.sqlite"
        return
    from tests.support.postgres import running_postgres  # noqa: PLC0415 - the path is set before

    with running_postgres(max_connections="100", synchronous_commit="on") as server:
        yield server.url(), server.url()


def main() -> None:
    """Run a campaign and print its figures; exit with 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database", choices=["sqlite", "postgresql"])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--at-once", type=int, default=8, help="runs in one worker")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument(
        "--limit", type=float, default=7200.0, help="seconds for the whole campaign"
    )
    arguments = parser.parse_args()
    started = time.monotonic()
    with place(arguments.database) as (database, effects):
        campaign = Campaign(
            Orders(database, {"CAMPAIGN_EFFECTS": effects}, per_worker=arguments.at_once),
            arguments.runs,
            arguments.kills,
            arguments.seed,
            arguments.workers,
        )
        verdict = asyncio.run(campaign.fight(arguments.limit))
    seconds = time.monotonic() - started
    print(f"| {arguments.database}, seed {arguments.seed}, {seconds:,.0f} s | |\n|---|--:|")
    for name, figure in verdict.figures.items():
        print(f"| {name} | {figure:,} |")
    for fault in verdict.faults[:50]:
        print(f"FAULT: {fault}", file=sys.stderr)
    sys.exit(bool(verdict.faults))


if __name__ == "__main__":
    main()
