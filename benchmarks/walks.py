"""The files that a reader opens who follows one request: `make walks`.

Each journey runs twice in this process; the files of `src/` that the second, warm run enters are
printed in the order in which they are entered. Code in the sandbox's own processes is not counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import aiohttp
from run import mock_server
from service_server import Instant

import tinyagent_commands
from skillian.api.server import Server, listen
from skillian.app import create_app
from skillian.cli import app as skillian
from skillian.demo.ledger import write_demo
from skillian.settings import Settings
from tinyagent import OpenAIModel, ReactAgent, TinyCodeAgent, tool

SOURCE = Path(tinyagent_commands.__file__).parent
TARGETS = {"tool call": 15, "code step": 25, "skillian compare": 42, "chat turn": 50}
QUESTION = "Compare amounts between fi_reporting and bpc_reporting for company 1001"


class Walk:
    """Records the files that are entered, in every thread, while it is on."""

    def __init__(self) -> None:
        self._is_on = False
        self._files: dict[str, None] = {}
        self._seen: set[CodeType] = set()
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def start(self) -> None:
        """Record from here on."""
        self._files, self._seen = {}, set()
        self._is_on = True

    def stop(self) -> list[str]:
        """The files entered since `start`, in order, relative to `src/`."""
        self._is_on = False
        return list(self._files)

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        if not self._is_on or event != "call" or frame.f_code in self._seen:
            return
        self._seen.add(frame.f_code)
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(SOURCE):
            self._files[path.relative_to(SOURCE).as_posix()] = None


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def tool_call(base_url: str, walk: Walk) -> list[str]:
    """A `ReactAgent` that calls one tool and answers."""
    agent = ReactAgent(OpenAIModel("turns-1", base_url=base_url, api_key="x"), [add])
    return await _second(walk, lambda: agent.run("Add up."))


async def code_step(base_url: str, walk: Walk) -> list[str]:
    """A `TinyCodeAgent` that runs one block of code and answers."""
    agent = TinyCodeAgent(OpenAIModel("code-1", base_url=base_url, api_key="x"), [add])
    return await _second(walk, lambda: agent.run("Add up."))


async def chat_turn(sources: Path, walk: Walk) -> list[str]:
    """A question to the service that one comparison answers, over HTTP."""
    settings = Settings(sources=sources, database_url=f"sqlite:///{sources.parent / 'chat.db'}")  # type: ignore[arg-type]  # a text is taken too
    started = asyncio.Event()
    server = Server(create_app(settings, model=lambda _: Instant()), started.set)
    listening = listen("127.0.0.1", 0)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    await started.wait()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/chat"
    async with aiohttp.ClientSession() as http:

        async def ask() -> None:
            async with http.post(url, json={"message": QUESTION}) as answer:
                answer.raise_for_status()
                await answer.read()

        files = await _second(walk, ask)
    server.should_exit = True
    await serving
    return files


def compare(sources: Path, walk: Walk) -> list[str]:
    """The command `skillian compare` on two tables, with a grouping."""
    line = ["compare", "fi_reporting", "bpc_reporting", "--sources", str(sources)]
    line += ["--measure", "amount", "--by", "company"]
    files: list[str] = []
    for _ in range(2):
        walk.start()
        with contextlib.redirect_stdout(io.StringIO()):
            tinyagent_commands.call(skillian, line)
        files = walk.stop()
    return files


async def _second(walk: Walk, run: Callable[[], Awaitable[object]]) -> list[str]:
    await run()
    walk.start()
    await run()
    return walk.stop()


def main() -> None:
    """Run the journeys and print what each enters."""
    walk = Walk()
    with mock_server() as base_url, tempfile.TemporaryDirectory() as folder:
        sources = write_demo(Path(folder))
        journeys = {
            "tool call": asyncio.run(tool_call(base_url, walk)),
            "code step": asyncio.run(code_step(base_url, walk)),
            "skillian compare": compare(sources, walk),
            "chat turn": asyncio.run(chat_turn(sources, walk)),
        }
    for name, files in journeys.items():
        print(f"{name}: {len(files)} files (target: at most {TARGETS[name]})")
        for number, file in enumerate(files, 1):
            print(f"  {number:2} {file}")


if __name__ == "__main__":
    main()
