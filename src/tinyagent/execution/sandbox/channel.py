"""The host's end of one session process's socket: its frames, each checked."""

from __future__ import annotations

import asyncio
import re
import socket
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any

from tinyagent.execution.sandbox.worker.codec.values import decode_from_code
from tinyagent.execution.sandbox.worker.codec.wire import (
    Frame,
    FrameReader,
    Kind,
    Packet,
    WireError,
    kind_of,
    parse,
)

MAX_TEXT = 1_000_000
MAX_NAME = 1_000
MAX_REMARKS = 1_000
MAX_ENTRY_NAME = (1 << 12) + 256  # the longest path of a folder, and a name in it
ENTRY_KINDS = frozenset({"file", "folder", "opaque", "gone", "other"})

ENCODED: dict[Kind, tuple[str, ...]] = {
    Kind.CALL: ("args", "kwargs"),
    Kind.FINAL: ("value", "metadata"),
    Kind.DONE: ("value",),
}
"""The fields that hold values of the code, in the order of their parts in the blob."""

_MAX_JSON = 1 << 20  # of the other kinds: they are read on the event loop

_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]{1,100}/[\w!#$&^.+-]{1,100}", re.ASCII)
_MAX_ID = 2**53
_MAX_PID = 2**22
_MAX_STATUS = 0xFFFF

FieldTest = Callable[[Any], bool]


def read(packet: Packet, tools: Collection[str] | None = None) -> Frame:
    """Check the frame and decode the values of the code in it.

    Args:
        packet: From a session.
        tools: Known names; a call of another tool is not decoded.

    Raises:
        WireError: A session may not send it.
    """
    if packet.kind not in ENCODED and len(packet.raw) > _MAX_JSON:
        raise WireError(f"{packet.kind.name} has {len(packet.raw):,} bytes of JSON")
    frame = parse(packet)
    check(frame)
    names = ENCODED.get(frame.kind, ())
    is_unknown = frame.kind is Kind.CALL and tools is not None and frame.body["name"] not in tools
    if not names or is_unknown:
        return frame
    values = decode_from_code([frame.body[name] for name in names], frame.blob)
    return Frame(frame.kind, {**frame.body, **dict(zip(names, values, strict=True))})


def check(frame: Frame) -> None:
    """Check that a session may send this: its kind, its fields, and their types and sizes.

    Encoded values are left to `decode`, except that `args` must be a list, and `kwargs` and
    `metadata` objects whose keys are identifiers.

    Raises:
        WireError: It may not; the message names the frame and the field.
    """
    kind, body, blob = frame
    fields = _FIELDS.get(kind)
    if fields is None:
        raise WireError(f"a session may not send {kind.name}")
    if body.keys() != fields.keys():
        raise WireError(f"{kind.name} has the fields {_names(body)}, not {_names(fields)}")
    for name, test in fields.items():
        if not test(body[name]):
            raise WireError(f"{kind.name}: {name} is out of bounds or of a wrong type")
    if blob and kind not in _WITH_BLOB:
        raise WireError(f"{kind.name} carries {len(blob):,} bytes of data and may carry none")


def _names(fields: dict[str, Any]) -> str:
    names = sorted(fields)[:10]
    return ", ".join(repr(name[:50]) for name in names) or "(none)"


def _number(least: int, most: int) -> FieldTest:
    def test(value: Any) -> bool:
        return type(value) is int and least <= value <= most

    return test


def _is_sound(text: str) -> bool:
    """Whether it can be written as UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_text(value: Any) -> bool:
    return type(value) is str and len(value) <= MAX_TEXT and _is_sound(value)


def _is_text_or_none(value: Any) -> bool:
    return value is None or _is_text(value)


def _is_remarks(value: Any) -> bool:
    return kind_of(value) is list and len(value) <= MAX_REMARKS and all(map(_is_text, value))


def _is_bool(value: Any) -> bool:
    return type(value) is bool


def _is_name(value: Any) -> bool:
    return type(value) is str and len(value) <= MAX_NAME and value.isidentifier()


def _is_path(value: Any) -> bool:
    """Whether it stays below the folder it is relative to."""
    if not (_is_text(value) and 0 < len(value) <= MAX_NAME and "\0" not in value):
        return False
    return not value.startswith("/") and ".." not in value.split("/")


def _is_media_type(value: Any) -> bool:
    return type(value) is str and _MEDIA_TYPE.fullmatch(value) is not None


def _is_entry_kind(value: Any) -> bool:
    return type(value) is str and value in ENTRY_KINDS


def _is_encoded(_value: Any) -> bool:
    return True


def _is_encoded_list(value: Any) -> bool:
    return type(value) is list


def _is_encoded_keywords(value: Any) -> bool:
    return kind_of(value) is dict and all(map(_is_name, value))


_FIELDS: dict[Kind, dict[str, FieldTest]] = {
    Kind.READY: {},
    Kind.FORKED: {"pid": _number(1, _MAX_PID)},
    Kind.OUTPUT: {"text": _is_text},
    Kind.CALL: {
        "id": _number(0, _MAX_ID),
        "name": _is_name,
        "args": _is_encoded_list,
        "kwargs": _is_encoded_keywords,
    },
    Kind.FINAL: {"value": _is_encoded, "metadata": _is_encoded_keywords},
    Kind.ARTIFACT: {"name": _is_path, "media_type": _is_media_type},
    Kind.DONE: {
        "token": _is_text,
        "error": _is_text_or_none,
        "out_of_memory": _is_bool,
        "value": _is_encoded,
        "value_text": _is_text,
        "tail": _is_text,
        "skipped": _number(0, _MAX_ID),
        "remarks": _is_remarks,
    },
    Kind.EXITED: {"pid": _number(1, _MAX_PID), "status": _number(0, _MAX_STATUS)},
    Kind.SWEPT: {"killed": _number(0, _MAX_PID), "memory": _is_bool, "pool": _is_text},
    Kind.FAILED: {"error": _is_text},
    Kind.TURNED: {"error": _is_text, "full": _is_bool},
    Kind.ENTRY: {
        "name": _number(0, MAX_ENTRY_NAME),
        "kind": _is_entry_kind,
        "executable": _is_bool,
        "known": _is_bool,
        "last": _is_bool,
    },
    Kind.SCANNED: {},
}
_WITH_BLOB = frozenset({Kind.CALL, Kind.FINAL, Kind.ARTIFACT, Kind.DONE, Kind.ENTRY})


_CHUNK = 1 << 16  # at most some thousand frames are split before other tasks get their turn
_SENDS_AT_ONCE = 16
_MOST_DESCRIPTORS = 16
_MOST_LAST_READS = 16


class Channel:
    """Frames to and from one process, which is not trusted.

    Args:
        sock: Connected and non-blocking.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._reader = FrameReader()
        self._packets: deque[Packet] = deque()
        self._unsent: deque[memoryview] = deque()
        self._drained: asyncio.Event | None = None
        self._wake: Callable[[], None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._writing_loop: asyncio.AbstractEventLoop | None = None
        self._take: Callable[[Sequence[int]], None] | None = None
        self.is_open = True
        self.fault = ""
        """What was wrong with what the other side sent."""

    def take_descriptors(self, take: Callable[[Sequence[int]], None]) -> None:
        """Call `take` with the descriptors that come with the first bytes: before any code runs."""
        self._take = take

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
            self._watch_room(self._flush)

    async def send_with(self, passing: socket.socket, data: bytes) -> None:
        """Send a packed frame with a descriptor, as soon as there is room for it."""
        while self.is_open:
            await self.drain()
            try:
                sent = socket.send_fds(self._sock, [data], [passing.fileno()])
            except BlockingIOError:
                await self._room()
            except OSError:
                self._end()
            else:
                self.send(data[sent:])
                return

    async def _room(self) -> None:
        """Wait until the socket accepts data again."""
        drained = self._watch_room(self._stop_sending)
        try:
            await drained.wait()
        finally:
            self._stop_sending()

    def _watch_room(self, resume: Callable[[], None]) -> asyncio.Event:
        """Call `resume` as long as the socket accepts data, until `_stop_sending`."""
        self._drained = asyncio.Event()
        self._writing_loop = asyncio.get_running_loop()
        self._writing_loop.add_writer(self._sock.fileno(), resume)
        return self._drained

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
            self._end()
            self._unsent.clear()
        if not self._unsent:
            self._stop_sending()

    def _stop_sending(self) -> None:
        if self._drained is not None and self._writing_loop is not None:
            self._writing_loop.remove_writer(self._sock.fileno())
            self._unsent.clear()
            self._drained.set()
            self._drained = None

    def _end(self) -> None:
        """The other side is gone: read what it sent before."""
        for _ in range(_MOST_LAST_READS):
            if self.is_open:
                self._read()
        self.is_open = False

    def _read(self) -> None:
        try:
            data = self._receive()
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

    def _receive(self) -> bytes:
        if self._take is None:
            return self._sock.recv(_CHUNK)
        data, descriptors, _, _ = socket.recv_fds(self._sock, _CHUNK, _MOST_DESCRIPTORS)
        take, self._take = self._take, None
        take(descriptors)
        return data

    def _fail(self, fault: WireError) -> None:
        self.is_open = False
        self.fault = str(fault)
        self._packets.clear()
