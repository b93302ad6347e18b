"""The server of `service.py` and `page.py`: `service_server.py KIND SOURCES DATABASE`.

KIND is `chat`, `planner`, `stream`, `bare` or `page`. It prints its port. Its model answers in no
time with one comparison (`chat`), is the offline planner (`planner`), or answers word by word
(`stream`, and `page` with the page).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request

from skillian.api.server import Server, listen
from skillian.app import MakeModel, create_app
from skillian.offline.planner import OfflinePlanner
from skillian.settings import Settings
from tinyagent import Usage, scripted_call
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse

WORDS = 400
WORD_SECONDS = 0.02
LAST_WORD = "the-last-word"
ANSWER = "word " * (WORDS - 1) + LAST_WORD


class Instant:
    """Calls `compare_sources` for the company that is asked for, then answers."""

    name = "scripted"

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The next answer."""
        last = request.messages[-1]
        if last.role == "tool":
            return ModelResponse("Compared.", usage=Usage(1))
        call = scripted_call(
            "compare_sources",
            source_a="fi_reporting",
            source_b="bpc_reporting",
            measures=["amount"],
            filters={"company": last.text.split()[-1]},
        )
        return ModelResponse(None, (call,), Usage(1), "tool_calls")

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The next answer, whole."""
        yield await self.complete(request)


class Talking(Instant):
    """Says a word each 20 ms, as a model does."""

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The answer, word by word."""
        del request
        for number in range(WORDS):
            await asyncio.sleep(WORD_SECONDS)
            yield ModelDelta("word " if number + 1 < WORDS else LAST_WORD)
        yield ModelResponse(ANSWER, usage=Usage(1))


def bare() -> FastAPI:
    """One route that returns a JSON that was put there: less than this no service can do."""
    app = FastAPI()
    stored: dict[str, Any] = {}

    @app.put("/stored")
    async def put(request: Request) -> None:
        stored.update(await request.json())

    @app.post("/chat")
    async def chat(message: dict[str, Any]) -> dict[str, Any]:
        del message
        return stored

    return app


MODELS: dict[str, MakeModel] = {
    "chat": lambda _: Instant(),
    "planner": OfflinePlanner,
    "stream": lambda _: Talking(),
    "page": lambda _: Talking(),
}


async def main(kind: str, sources: Path, database: str) -> None:
    """Serve until the process is ended."""
    settings = Settings(
        sources=sources,
        database_url=database,  # type: ignore[arg-type]  # a text is taken too
        requests_per_minute=0,
        max_turns=1000,
    )
    app = (
        bare()
        if kind == "bare"
        else create_app(settings, model=MODELS.get(kind), page=kind == "page")
    )
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    await Server(app, lambda: print(port, flush=True)).serve(sockets=[listening])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
