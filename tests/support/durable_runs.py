"""Durable runs in the test's own process, on an SQLite file."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.coding import block

from tinyagent import ScriptedModel
from tinyagent.core import ModelRequest
from tinyagent.core.types import RawToolCall
from tinyagent.durable import DurableRuns
from tinyagent.durable.queues import QueueOptions

Reply = str | RawToolCall | list[RawToolCall] | Exception


def turns(*replies: Reply) -> ScriptedModel:
    """A model whose answer depends on how far the conversation is, as that of a real one does."""

    def answer(request: ModelRequest) -> Reply:
        return replies[sum(message.role == "assistant" for message in request.messages)]

    return ScriptedModel(answer)


def blocks(*codes: str) -> ScriptedModel:
    """A model that writes one block after the other."""
    return turns(*(block(code) for code in codes))


@cache
def _empty() -> bytes:
    """A database without runs: to make one takes seconds, and to find its queue another."""

    async def make(database: str) -> None:
        async with opened(database, {}):
            pass

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.sqlite"
        thread = threading.Thread(target=lambda: asyncio.run(make(f"sqlite:///{file}")))
        thread.start()
        thread.join()
        return file.read_bytes()


def empty_database(folder: Path) -> str:
    """The URL of a database of the test's own."""
    file = folder / "runs.sqlite"
    file.write_bytes(_empty())
    return f"sqlite:///{file}"


@asynccontextmanager
async def opened(
    database: str, agents: Mapping[str, Any] | None = None, **options: Any
) -> AsyncGenerator[DurableRuns]:
    """Runs whose queue is looked at often."""
    async with DurableRuns(database, agents, **options) as runs:
        if agents is not None:
            await QueueOptions(poll_seconds=0.02).register("default")
        yield runs
