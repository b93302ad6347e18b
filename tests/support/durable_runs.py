"""Durable runs in the test's own process, on an SQLite file."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tests.support.coding import block

from tinyagent import ModelRequest, ScriptedModel
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


@asynccontextmanager
async def opened(
    database: str, agents: Mapping[str, Any] | None = None, **options: Any
) -> AsyncGenerator[DurableRuns]:
    """Runs whose queue is looked at often."""
    async with DurableRuns(database, agents, **options) as runs:
        if agents is not None:
            await QueueOptions(poll_seconds=0.02).register("default")
        yield runs
