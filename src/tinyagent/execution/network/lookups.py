"""The addresses of names, found without delaying anybody else's."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from tinyagent.core.threads import run_in_thread

_AT_ONCE = 8


class Lookups:
    """Looks up names for one executor, a few at a time.

    A lookup cannot be stopped, and a name server may take half a minute. In the pool of the loop,
    those of one sandbox would keep all others waiting, and the end of the program too.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._free = asyncio.Semaphore(_AT_ONCE)

    async def find(self, name: str, port: int, family: socket.AddressFamily) -> list[str]:
        """The addresses of a name.

        Raises:
            OSError: There are none.
        """
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._free = loop, asyncio.Semaphore(_AT_ONCE)
        free = self._free
        await free.acquire()
        # It counts until it has ended, also if nobody waits for it any more.
        lookup: asyncio.Task[list[Any]] = loop.create_task(
            run_in_thread(
                socket.getaddrinfo, host=name, port=port, family=family, type=socket.SOCK_STREAM
            )
        )
        lookup.add_done_callback(lambda _: free.release())
        places = await asyncio.shield(lookup)
        return list(dict.fromkeys(str(place[4][0]) for place in places))
