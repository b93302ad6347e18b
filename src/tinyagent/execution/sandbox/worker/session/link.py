"""The session's end of its socket to the host."""

from __future__ import annotations

import array
import os
import select
import socket
import threading
from collections import deque
from typing import Any

from ..codec.wire import Frame, FrameReader, Kind, pack

_CHUNK = 1 << 16
_ROOM_FOR_DESCRIPTORS = socket.CMSG_SPACE(4 * array.array("i").itemsize)


class HostGone(Exception):
    """The host closed its end."""


class Link:
    """Frames to the host and back. Sending may be done from any thread."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.descriptors: deque[int] = deque()
        """The descriptors that came with the frames, oldest first."""
        self.passing: list[int] = []
        """Descriptors that go with the next frame, and are then closed here."""
        self._reader = FrameReader()
        self._frames: deque[Frame] = deque()
        self._sending = threading.Lock()

    def send(self, kind: Kind, body: dict[str, Any], blob: bytes = b"") -> None:
        """Send a frame whole.

        Raises:
            WireError: It is too large.
            OSError: The host is gone.
        """
        data = pack(Frame(kind, body, blob))
        with self._sending:
            sent = socket.send_fds(self.sock, [data], self.passing) if self.passing else 0
            while self.passing:
                os.close(self.passing.pop())
            self.sock.sendall(data[sent:] if sent else data)

    def receive(self) -> Frame:
        """The next frame; waits for it.

        Raises:
            HostGone: The host closed its end.
            WireError: What came is not a frame.
        """
        while not self._frames:
            data, ancillary, _flags, _address = self.sock.recvmsg(_CHUNK, _ROOM_FOR_DESCRIPTORS)
            for level, kind, payload in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    whole = len(payload) - len(payload) % array.array("i").itemsize
                    self.descriptors.extend(array.array("i", payload[:whole]))
            if not data:
                raise HostGone
            self._frames.extend(self._reader.feed(data))
        return self._frames.popleft()

    def waits(self) -> bool:
        """Whether a frame is here already."""
        return bool(self._frames)

    def move(self, descriptor: int) -> None:
        """Continue over another socket, in a fork of the process that used this one."""
        os.dup2(descriptor, self.sock.fileno(), inheritable=False)
        os.close(descriptor)
        self._reader = FrameReader()
        self._frames.clear()
        self._sending = threading.Lock()  # a thread of the parent may have held the last one

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()


def readable(descriptors: list[int], seconds: float | None) -> list[int]:
    """Which of them can be read within `seconds`; None waits for any time."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    wait = None if seconds is None else max(0, int(seconds * 1000))
    return [descriptor for descriptor, _ in poll.poll(wait)]
