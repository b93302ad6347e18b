"""Connections of sandboxed code, behind TLS or not."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress

from tinyagent.execution.network.heads import MAX_HEAD, RequestRefused

HEAD_SECONDS = 30.0
_WRITE_SECONDS = 60.0
_CLOSE_SECONDS = 5.0


class Stream:
    """A connection of the code's, behind TLS or not."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer

    async def read_head(self) -> bytes:
        """The bytes of a request up to an empty line; empty if there is none.

        Raises:
            RequestRefused: It is too long.
        """
        try:
            return await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as fault:
            return fault.partial
        except asyncio.LimitOverrunError:
            raise RequestRefused(
                431, f"the head of a request has {MAX_HEAD:,} bytes at most"
            ) from None

    async def write(self, data: bytes) -> None:
        """Write, and wait until there is room.

        Raises:
            TimeoutError: The code does not read.
        """
        self._writer.write(data)
        async with asyncio.timeout(_WRITE_SECONDS):
            await self._writer.drain()

    async def drain_input(self) -> None:
        """Read what the code still sends, for a while: otherwise it may never see the answer."""
        with suppress(OSError, TimeoutError):
            if self._writer.can_write_eof():
                self._writer.write_eof()
            async with asyncio.timeout(1.0):
                while await self.reader.read(1 << 16):
                    pass

    def abort(self) -> None:
        """Cut the connection, so that the client notices that the answer is not whole."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Send what is left, and close."""
        try:
            self._writer.close()
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            pass  # the code has gone, or does not read
        finally:
            self.abort()


async def open_stream(sock: socket.socket, context: ssl.SSLContext | None) -> Stream | None:
    """Take over an accepted connection, with its TLS; None if that fails.

    However it fails, the loop does not watch the socket any more when this ends: a socket that is
    closed while it is watched would end the watch of the next one with its number.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_HEAD, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    opening = loop.create_task(
        loop.connect_accepted_socket(
            lambda: protocol,
            sock,
            ssl=context,
            ssl_handshake_timeout=None if context is None else HEAD_SECONDS,
            ssl_shutdown_timeout=None if context is None else _CLOSE_SECONDS,
        )
    )
    try:
        transport, _ = await asyncio.shield(opening)
    except OSError:
        return None
    except asyncio.CancelledError:
        # A transport that is cancelled in its handshake may begin to watch the socket later.
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            transport, _ = await opening
            transport.abort()
        raise
    return Stream(reader, asyncio.StreamWriter(transport, protocol, reader, loop))


async def readable(sock: socket.socket) -> None:
    """Wait until something has arrived."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(sock.fileno(), _resolve, ready)
    try:
        await ready
    finally:
        loop.remove_reader(sock.fileno())


def _resolve(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
