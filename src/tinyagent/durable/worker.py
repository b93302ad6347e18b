"""Worker: a process that takes runs from queues until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from tinyagent.core.logs import logger
from tinyagent.durable.queues import QueueOptions
from tinyagent.durable.runs import DurableRuns
from tinyagent.durable.workflow import AnyAgent

_TEND_SECONDS = 5.0


@dataclass(frozen=True)
class Worker:
    """Takes runs of `agents` from `queues`, beside any number of others on the same database.

    Attributes:
        database: URL of an SQLite file or a PostgreSQL database.
        agents: what runs are of, by name.
        queues: where runs are taken from.
        options: what holds for these queues; None leaves what another worker has said.
        drain_seconds: how long, once told to stop, the calls under way are given to end.
        dbos_options: more of DBOS's configuration, such as `sys_db_pool_size`.
    """

    database: str
    agents: Mapping[str, AnyAgent]
    queues: Sequence[str] = ("default",)
    options: QueueOptions | None = None
    drain_seconds: float = 60.0
    dbos_options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    async def serve(
        self, stop: asyncio.Event, ready: Callable[[DurableRuns], None] = lambda _: None
    ) -> None:
        """Work until `stop` is set, then drain.

        Drained means: nothing new is taken, the calls under way end and are recorded, and the runs
        that are not over are there for the next worker to go on with.

        Args:
            stop: set it to end.
            ready: called when runs are being taken.
        """
        runs = DurableRuns(
            self.database,
            self.agents,
            queues=self.queues,
            drain_seconds=self.drain_seconds,
            dbos_options=self.dbos_options,
        )
        async with runs:
            if self.options is not None:
                for name in self.queues:
                    await self.options.register(name)
            ready(runs)
            await _tend_until(stop, runs)


async def _tend_until(stop: asyncio.Event, runs: DurableRuns) -> None:
    while not stop.is_set():
        try:
            await runs.tend()
        except SQLAlchemyError as error:  # the database is away: what is under way waits for it
            logger.warning("the runs' database does not answer (%s)", type(error).__name__)
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _TEND_SECONDS)


def stop_on_signals() -> asyncio.Event:
    """An event of the running loop that the first SIGTERM or SIGINT sets; a second one kills."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def stopped() -> None:
        stop.set()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped)
    return stop
