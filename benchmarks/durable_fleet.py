"""Workers as separate processes, killed by SIGKILL and replaced.

They are forked from a server process that has loaded the libraries once, so that a new worker costs
milliseconds in place of seconds; otherwise they are what `tinyagent worker` runs.
"""

from __future__ import annotations

import asyncio
import ctypes
import multiprocessing
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "aiohttp",
        "sqlalchemy.dialects.postgresql.psycopg",
        "sqlalchemy.dialects.sqlite",
        "tinyagent.agents.code",
        "tinyagent.durable.runs",
        "tinyagent.models.openai",
    ]
)


@dataclass(frozen=True)
class Orders:
    """The settings of a worker.

    Attributes:
        database: URL of the runs.
        environment: for the module of the agents.
        per_worker: runs at once in one worker.
        poll_seconds: how often an idle worker looks.
        network: the network namespace to work in, or "" for that of this process.
    """

    database: str
    environment: Mapping[str, str]
    per_worker: int = 8
    poll_seconds: float = 0.2
    network: str = ""


@dataclass
class Fleet:
    """A number of workers, and when each was killed.

    Attributes:
        orders: the orders of each.
        living: by name.
        killed: when each died, in seconds since the epoch.
    """

    orders: Orders
    living: dict[str, BaseProcess] = field(default_factory=dict[str, BaseProcess])
    killed: dict[str, float] = field(default_factory=dict[str, float])
    _started: int = 0
    _is_ready: Event = field(default_factory=_CONTEXT.Event)

    def start(self, orders: Orders | None = None) -> str:
        """Start one more worker; returns its name."""
        name = f"w{self._started}"
        self._started += 1
        arguments = (name, orders or self.orders, self._is_ready)
        process = _CONTEXT.Process(target=_work, args=arguments, name=name)
        process.start()
        self.living[name] = process
        return name

    async def ready(self, seconds: float = 60.0) -> None:
        """Wait until a worker takes runs; then the database exists."""
        is_ready = await asyncio.to_thread(self._is_ready.wait, seconds)
        if not is_ready:
            raise TimeoutError(f"no worker was ready in {seconds:g} s")

    def kill(self, name: str) -> None:
        """Kill it at once, as a loss of power does."""
        process = self.living.pop(name)
        process.kill()
        process.join()
        self.killed[name] = time.time()
        process.close()

    def stop(self, seconds: float = 120.0) -> Sequence[int | None]:
        """Drain all workers; returns their exit codes."""
        for process in self.living.values():
            process.terminate()
        codes: list[int | None] = []
        for process in self.living.values():
            process.join(seconds)
            codes.append(process.exitcode)
            process.kill()
            process.join()
        self.living.clear()
        return codes


def _work(name: str, orders: Orders, is_ready: Event) -> None:
    """The main function of a worker."""
    if orders.network:
        _enter(orders.network)
    os.environ.update(orders.environment, CAMPAIGN_WORKER=name)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(_serve(orders, is_ready))


async def _serve(orders: Orders, is_ready: Event) -> None:
    # The module of the agents reads the environment.
    from durable_agents import agents  # noqa: PLC0415

    from tinyagent.cli.worker import stop_on_signals  # noqa: PLC0415
    from tinyagent.durable import DurableRuns, QueueOptions  # noqa: PLC0415

    options = QueueOptions(per_worker=orders.per_worker, poll_seconds=orders.poll_seconds)
    given: Any = agents
    stop = stop_on_signals()
    async with DurableRuns(
        orders.database, given, queues={"default": options}, drain_seconds=60.0
    ) as runs:
        is_ready.set()
        await runs.work(stop)


def _enter(network: str) -> None:
    """Move this process into a network namespace made by `ip netns add`."""
    descriptor = os.open(f"/run/netns/{network}", os.O_RDONLY)
    clone_newnet = 0x40000000
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, clone_newnet):
        raise OSError(ctypes.get_errno(), f"network namespace {network!r} cannot be entered")
    os.close(descriptor)
