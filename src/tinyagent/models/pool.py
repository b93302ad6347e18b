"""One pool of HTTP connections for each event loop, shared by all models, closed with the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiohttp

_Keeper = AsyncGenerator["aiohttp.ClientSession", None]
_pools: dict[asyncio.AbstractEventLoop, tuple[aiohttp.ClientSession, _Keeper]] = {}


async def http_session() -> aiohttp.ClientSession:
    """The running loop's session. It keeps no cookies and sends no key of its own.

    A session belongs to one loop and should be closed with it, but no caller can be trusted to.
    A loop closes its suspended async generators when it ends (`shutdown_asyncgens`, which
    `asyncio.run` calls), so one of them holds the session.
    """
    loop = asyncio.get_running_loop()
    pool = _pools.get(loop)
    if pool is None:
        keeper = _keep(loop)
        pool = _pools[loop] = (await anext(keeper), keeper)
    return pool[0]


async def _keep(loop: asyncio.AbstractEventLoop) -> _Keeper:
    import aiohttp  # noqa: PLC0415 - 0.2 s of CPU that `import tinyagent` does not pay

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
    )
    try:
        yield session
    finally:
        del _pools[loop]
        await session.close()
