from __future__ import annotations

import asyncio

from tinyagent import Message, ModelRequest, OpenAIModel
from tinyagent.models import pool
from tinyagent.models.pool import http_session
from tinyagent.testing import MockServer

REQUEST = ModelRequest((Message("user", "hi"),))


async def test_one_loop_has_one_session() -> None:
    first, second = await asyncio.gather(http_session(), http_session())
    assert first is second


def test_a_session_is_closed_and_forgotten_with_its_loop() -> None:
    known = set(pool._pools)
    first = asyncio.run(http_session())
    second = asyncio.run(http_session())
    assert first is not second
    assert first.closed
    assert second.closed
    assert set(pool._pools) == known


async def test_connections_are_used_again() -> None:
    async with MockServer(["hi"]) as server:
        model = OpenAIModel("mock", base_url=server.base_url)
        for _ in range(5):
            await model.complete(REQUEST)
            async for _item in model.stream(REQUEST):
                pass
        assert len(server._connections) == 1


async def test_no_cookie_of_one_run_reaches_another() -> None:
    session = await http_session()
    assert len(session.cookie_jar) == 0
    session.cookie_jar.update_cookies({"a": "b"})
    assert len(session.cookie_jar) == 0
