"""A server of the service campaign: `service_campaign_server.py FOLDER DATABASE PORT`.

Its model calls the tool `pay` with the number that it is asked to pay, and then answers. The tool
appends a line to a file before it returns, so that the file has everything that was really done.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

from skillian.api.server import Server, listen
from skillian.app import create_app
from skillian.settings import Settings
from tinyagent import Usage, scripted_call
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse

PAID = "paid {}"


class Payer:
    """Pays what it is asked to pay."""

    name = "scripted"

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The next answer."""
        number = next(
            message.text.split()[-1]
            for message in reversed(request.messages)
            if message.role == "user"
        )
        if request.messages[-1].role == "tool":
            return ModelResponse(PAID.format(number), usage=Usage(1))
        call = scripted_call("pay", call_id=f"pay-{number}", number=number)
        return ModelResponse(None, (call,), Usage(1), "tool_calls")

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The next answer, whole."""
        yield await self.complete(request)


async def main(folder: Path, database: str, port: int) -> None:
    """Serve until the process is ended."""
    settings = Settings(
        sources=folder / "sources.yaml",
        skills=(folder / "skills",),
        uploads=folder / "uploads",
        database_url=database,  # type: ignore[arg-type]  # a text is taken too
        requests_per_minute=0,
        max_turns=1000,
        durable=True,
    )
    app = create_app(settings, model=lambda _: Payer(), page=False)
    await Server(app, lambda: print("up", flush=True)).serve(sockets=[listen("127.0.0.1", port)])


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
