"""Worker: a process that takes runs from queues until it is stopped."""

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
    """Takes runs of `agents` from `queues`, next to any number of others on the same database.

    Attributes:
        database: URL of a SQLite file or a PostgreSQL database.
        agents: The agents of the runs, by name.
        queues: The queues to take runs from.
        options: The options of these queues; None leaves those that another worker has set.
        drain_seconds: How long to wait for calls in progress when it stops.
        dbos_options: More of DBOS's configuration, such as `sys_db_pool_size`.
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

        To drain means: no run is taken, the calls in progress end and are recorded, and the runs
        that are not over go back into their queues for the next worker.

        Args:
            stop: Set it to end.
            ready: Called when runs are being taken.
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
        except SQLAlchemyError as error:  # the database is away: runs in progress wait for it
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
