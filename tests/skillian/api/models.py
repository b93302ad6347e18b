"""Models for turns of the service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from tinyagent import ScriptedModel
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse


class HeldModel(ScriptedModel):
    """Says a word, then waits for `let_go`, then answers."""

    def __init__(self, answer: str = "At last.") -> None:
        super().__init__(lambda _: answer)
        self.let_go = asyncio.Event()
        self.asked = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The word and the answer."""
        yield ModelDelta("Wait")
        self.asked.set()
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        yield await self.complete(request)
