"""A running service: real sockets, the demo's sources, a client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.support.serving import Serving, serving
from tests.support.waits import soon

from skillian.api.server import Server, listen
from skillian.api.service import Service
from skillian.app import MakeModel, create_app
from skillian.demo.ledger import write_demo
from skillian.settings import Settings

KEYS = ("first-key-0123456789", "second-key-0123456789")


class Client:
    """A client of a service."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        self.get, self.post, self.patch, self.delete = http.get, http.post, http.patch, http.delete
        self.request = http.request


class Opened(Client):
    """A client of a service in this process, and what is behind it."""

    def __init__(self, http: aiohttp.ClientSession, service: Service, port: int) -> None:
        super().__init__(http)
        self.service = service
        self.port = port
        self.url = f"http://127.0.0.1:{port}"


Serve = Callable[..., AbstractAsyncContextManager[Opened]]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `sources.yaml` of the demo."""
    return write_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def serve(demo: Path, tmp_path: Path) -> Serve:
    """Start a service with these settings, in this event loop."""

    @asynccontextmanager
    async def start(model: MakeModel | None = None, **given: Any) -> AsyncGenerator[Opened]:
        chosen = {"sources": demo, "database_url": f"sqlite:///{tmp_path / 'sessions.db'}", **given}
        app = create_app(Settings(**chosen), model=model)
        server, listening = Server(app), listen("127.0.0.1", 0)
        port = listening.getsockname()[1]
        task = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            await soon(lambda: server.started or task.done())
            async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http:
                yield Opened(http, app.state.service, port)
        finally:
            server.should_exit = True
            await task

    return start


@pytest.fixture(scope="session")
def server(demo: Path) -> Generator[Serving]:
    """One server process for all tests that change no setting."""
    with serving(demo, SKILLIAN_REQUESTS_PER_MINUTE="0") as running:
        yield running


@pytest.fixture
async def client(server: Serving) -> AsyncGenerator[Client]:
    """A client of it."""
    async with aiohttp.ClientSession(server.url) as http:
        yield Client(http)
