"""The host's end of one session process's socket, on the event loop."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable

from tinyagent.execution.sandbox.frames import ENCODED, read
from tinyagent.execution.sandbox.worker.codec.wire import (
    Frame,
    FrameReader,
    Kind,
    Packet,
    WireError,
)

_CHUNK = 1 << 16  # at most some thousand frames are split before other tasks get their turn
_SENDS_AT_ONCE = 16


class Channel:
    """Frames to and from one process, which is not trusted.

    Args:
        sock: connected and non-blocking.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._reader = FrameReader()
        self._packets: deque[Packet] = deque()
        self._unsent: deque[memoryview] = deque()
        self._drained: asyncio.Event | None = None
        self._wake: Callable[[], None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.is_open = True
        self.fault = ""
        """What was wrong with what the other side sent."""

    def send(self, *parts: bytes | bytearray) -> None:
        """Send the parts of a packed frame; what does not fit yet waits here, without a copy."""
        if not self.is_open:
            return
        is_waiting = bool(self._unsent)
        self._unsent.extend(memoryview(part) for part in parts if part)
        if is_waiting or not self._unsent:
            return
        self._flush()
        if self._unsent:
            self._drained = asyncio.Event()
            asyncio.get_running_loop().add_writer(self._sock.fileno(), self._flush)

    async def send_with(self, passing: socket.socket, data: bytes) -> None:
        """Send a packed frame with a descriptor, as soon as there is room for it."""
        while self.is_open:
            await self.drain()
            try:
                sent = socket.send_fds(self._sock, [data], [passing.fileno()])
            except BlockingIOError:
                await self._room()
            except OSError:
                self.is_open = False
            else:
                self.send(data[sent:])
                return

    async def _room(self) -> None:
        """Wait until the socket accepts data again."""
        self._drained = asyncio.Event()
        asyncio.get_running_loop().add_writer(self._sock.fileno(), self._stop_sending)
        await self._drained.wait()

    async def drain(self) -> None:
        """Wait until everything is sent; the other side may never read it."""
        if self._drained is not None:
            await self._drained.wait()

    def take(self) -> Frame | Packet | None:
        """A frame that has arrived, or None; never waits.

        A frame with values of the code comes as a packet, because `frames.read` may take a while.
        """
        if not self._packets and self.is_open:
            self._read()
        if not self._packets:
            return None
        packet = self._packets.popleft()
        if packet.kind in ENCODED:
            return packet
        try:
            return read(packet)
        except WireError as fault:
            self._fail(fault)
            return None

    def has_unsent(self) -> bool:
        """Whether the other side has yet to read what it was sent."""
        return bool(self._unsent)

    def has_call(self) -> bool:
        """Whether a tool call has arrived that has not been taken."""
        if self.is_open:
            self._read()
        return any(packet.kind is Kind.CALL for packet in self._packets)

    def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` when something has arrived or it is closed, until `unlisten`."""
        self._wake = wake
        if self.is_open:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._sock.fileno(), wake)
        if self._packets or not self.is_open:  # frames that came with an earlier one
            wake()

    def unlisten(self) -> None:
        """Stop listening."""
        self._wake = None
        if self._loop is not None and self._sock.fileno() >= 0:
            self._loop.remove_reader(self._sock.fileno())
        self._loop = None

    def close(self) -> None:
        """Close the socket; the process at the other end then ends if it still listens."""
        wake = self._wake
        self.is_open = False
        self._packets.clear()
        self.unlisten()
        self._stop_sending()
        self._sock.close()
        if wake is not None:
            wake()

    def _flush(self) -> None:
        try:
            for _ in range(_SENDS_AT_ONCE):
                sent = self._sock.send(self._unsent[0])
                self._unsent[0] = self._unsent[0][sent:]
                if not self._unsent[0]:
                    self._unsent.popleft()
                if not self._unsent:
                    break
        except BlockingIOError:
            return
        except OSError:
            self.is_open = False
            self._unsent.clear()
        if not self._unsent:
            self._stop_sending()

    def _stop_sending(self) -> None:
        if self._drained is not None:
            asyncio.get_running_loop().remove_writer(self._sock.fileno())
            self._unsent.clear()
            self._drained.set()
            self._drained = None

    def _read(self) -> None:
        try:
            data = self._sock.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.is_open = False
            return
        try:
            self._packets.extend(self._reader.split(data))
        except WireError as fault:
            self._fail(fault)

    def _fail(self, fault: WireError) -> None:
        self.is_open = False
        self.fault = str(fault)
        self._packets.clear()
