"""A durable cell: its process is killed before the second request, and another resumes the run."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sqlite3
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinyagent import Model
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse
from tinyagent.durable import DurableRuns, RunRecord
from tinyagent.durable.queues import QueueOptions

if TYPE_CHECKING:
    from provider_cells import Cell

_RUN = "the-run"
_PATIENCE_SECONDS = 60.0
_FORKS = multiprocessing.get_context("forkserver")


def load_ahead() -> None:
    """Make the processes forks of one that has loaded everything: for a program of many cells.

    What is loaded ahead is one list for the whole process, so an import must not change it.
    """
    _FORKS.set_forkserver_preload([__name__, "provider_cells", "tinyagent.durable"])


@dataclass
class Mortal:
    """A model that kills its process at request number `dies_at`; 0 means never."""

    model: Model
    dies_at: int
    asked: int = 0

    @property
    def name(self) -> str:
        """The model's own name."""
        return self.model.name

    def _count(self) -> None:
        self.asked += 1
        if self.asked == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The model's answer."""
        self._count()
        return await self.model.complete(request)

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The model's answer as it is written."""
        self._count()
        return self.model.stream(request)


async def killed_and_resumed(cell: Cell, base_url: str) -> RunRecord:
    """The record of a run of the cell's agent, executed by two processes.

    Raises:
        RuntimeError: a process did not end as it should have.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.sqlite"
        file.write_bytes(await asyncio.to_thread(_empty))
        database = f"sqlite:///{file}"
        await asyncio.to_thread(_process, _execute, cell, base_url, database, 2)
        record = await asyncio.to_thread(_process, _execute, cell, base_url, database, 0)
    if record is None:
        raise RuntimeError("the second process did not end the run")
    return record


def _process(work: Callable[..., None], *arguments: Any) -> RunRecord | None:
    """The result of a separate process; None if it was killed."""
    receiver, sender = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(target=work, args=(*arguments, sender))
    process.start()
    sender.close()
    with closing(receiver):
        try:
            record: RunRecord | None = receiver.recv() if receiver.poll(_PATIENCE_SECONDS) else None
        except EOFError:
            record = None
    process.join(_PATIENCE_SECONDS)
    if process.exitcode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"the process ended with {process.exitcode}")
    return record


def _execute(cell: Cell, base_url: str, database: str, dies_at: int, answer_to: Connection) -> None:
    answer_to.send(asyncio.run(_run(cell, base_url, database, dies_at)))


async def _run(cell: Cell, base_url: str, database: str, dies_at: int) -> RunRecord:
    async with cell.connect(base_url) as model, _opened(cell, model, database, dies_at) as runs:
        await QueueOptions(poll_seconds=0.02).register("default")
        await runs.start("agent", "1 + 2?", run_id=_RUN)
        return await runs.wait(_RUN, timeout=_PATIENCE_SECONDS)


def _opened(cell: Cell, model: Model, database: str, dies_at: int) -> DurableRuns:
    listener = (lambda *_: None) if cell.streamed else None
    runs = DurableRuns(database, {"agent": cell.agent(Mortal(model, dies_at))}, listener=listener)
    runs.executor_id = "one"  # the next process of that name resumes its runs at once
    return runs


@cache
def _empty() -> bytes:
    """A database without runs, which takes seconds to create."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.sqlite"
        _process(_make, f"sqlite:///{file}")
        with closing(sqlite3.connect(file)) as table:
            table.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return file.read_bytes()


def _make(database: str, answer_to: Connection) -> None:
    async def make() -> None:
        async with DurableRuns(database, {}):
            pass

    asyncio.run(make())
    answer_to.send(None)
