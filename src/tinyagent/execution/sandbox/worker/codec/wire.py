"""Frames: the messages between the host and a session, over a stream."""

from __future__ import annotations

import io
import json
import re
import struct
import sys
from collections.abc import Callable
from enum import IntEnum, auto
from typing import Any, NamedTuple, NoReturn

MAX_JSON = 4 << 20
MAX_BLOB = 32 << 20
MAX_MARKS = 250_000
"""Commas and opening brackets in the JSON of a frame to the host: what it costs to read it."""

# `type` itself would make type checkers take what is in a list from outside for unknown.
kind_of: Callable[[Any], Any] = type

_HEADER = struct.Struct(">BII")
_SURROGATE = re.compile("[\ud800-\udfff]")
# A string whole, so that its brackets do not count, or a bracket.
_BRACKET = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_MAX_NESTING = 500
_LONGEST_INT = 20  # digits of 64 bits, or one less and a sign: what is larger goes as a tag


class Kind(IntEnum):
    """The kind of a frame: below 16 it goes to the session, from 16 on to the host."""

    RUN = auto()
    RETURN = auto()
    FILE = auto()
    END = auto()
    PAUSE = auto()
    ORDER = auto()
    SEED = auto()
    SCAN = auto()
    TURN = auto()
    BRANCH = auto()
    READY = 16
    FORKED = auto()
    OUTPUT = auto()
    CALL = auto()
    FINAL = auto()
    ARTIFACT = auto()
    DONE = auto()
    EXITED = auto()
    SWEPT = auto()
    FAILED = auto()
    REPORT = auto()
    ENTRY = auto()
    SCANNED = auto()
    TURNED = auto()


_KINDS = {kind.value: kind for kind in Kind}


class Frame(NamedTuple):
    """A message: a JSON object and raw bytes."""

    kind: Kind
    body: dict[str, Any]
    blob: bytes = b""


class Packet(NamedTuple):
    """A frame whose JSON is not read yet."""

    kind: Kind
    raw: bytes
    blob: bytes = b""


class WireError(Exception):
    """The other side sent something that is not a frame, or a value does not fit into a frame."""


def pack(frame: Frame) -> bytes:
    r"""The frame as bytes. Lone surrogates in its texts become their escapes (`\udc80`).

    Raises:
        WireError: It is too large, or its body is not JSON.
    """
    return b"".join(pack_parts(*frame))


def pack_parts(
    kind: Kind, body: dict[str, Any], blob: bytes | bytearray
) -> tuple[bytes, bytes | bytearray]:
    """The buffers that `pack` joins, without a copy of the blob.

    Raises:
        WireError: It is too large, or its body is not JSON.
    """
    try:
        text = _ENCODER.encode(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise WireError(f"the body of a {kind.name} frame is not JSON: {error}") from error
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raw = _SURROGATE.sub(_escape, text).encode()
    if len(raw) > MAX_JSON or len(blob) > MAX_BLOB:
        raise WireError(
            f"too large for one message: {len(raw):,} bytes of JSON and {len(blob):,} of data, "
            f"at most {MAX_JSON:,} and {MAX_BLOB:,} may cross; hand over a part of it"
        )
    if kind >= Kind.READY:
        _check_marks(raw)
    return b"".join((_HEADER.pack(kind, len(raw), len(blob)), raw)), blob


class FrameReader:
    """Splits a stream of bytes into frames; holds at most one incomplete frame."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: Packet | None = None
        """Of the frame whose blob is on its way."""
        self._blob = io.BytesIO()
        self._missing = 0
        self._fault = ""

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that end within `data`; the rest waits for more.

        Raises:
            WireError: This is not a frame, now or in an earlier call: end the session.
        """
        packets = self.split(data)
        try:
            return [parse(packet) for packet in packets]
        except WireError as error:
            self._fault = str(error)
            raise

    def split(self, data: bytes) -> list[Packet]:
        """The frames that `feed` decodes, before any JSON is read. A large blob is never copied.

        Raises:
            WireError: This is not a frame, now or in an earlier call: end the session.
        """
        if self._fault:
            raise WireError(self._fault)
        packets: list[Packet] = []
        self._buffer += self._fill_blob(data, packets)
        try:
            with memoryview(self._buffer) as view:
                start = self._cut(view, packets)
        except WireError as error:
            self._fault = str(error)
            self._buffer = bytearray()
            raise
        del self._buffer[:start]
        return packets

    def _fill_blob(self, data: bytes, packets: list[Packet]) -> bytes:
        """Add to the incomplete blob; returns what comes after it."""
        if self._head is None:
            return data
        part = data[: self._missing]
        self._blob.write(part)
        self._missing -= len(part)
        if not self._missing:
            packets.append(self._head._replace(blob=self._blob.getvalue()))
            self._head = None
        return data[len(part) :]

    def _cut(self, view: memoryview, packets: list[Packet]) -> int:
        """Append all complete frames; returns where the rest starts."""
        start = 0
        size = len(view)
        while start + _HEADER.size <= size:
            number, json_size, blob_size = _HEADER.unpack_from(view, start)
            kind = _KINDS.get(number)
            if kind is None:
                raise WireError(f"a frame of an unknown kind, {number}")
            if json_size > MAX_JSON or blob_size > MAX_BLOB:
                raise WireError(
                    f"a {kind.name} frame of {json_size:,} bytes of JSON and {blob_size:,} of "
                    f"data, at most {MAX_JSON:,} and {MAX_BLOB:,} are taken"
                )
            middle = start + _HEADER.size + json_size
            end = middle + blob_size
            if middle > size:
                break
            packet = Packet(kind, bytes(view[start + _HEADER.size : middle]))
            if end > size:
                self._head, self._missing = packet, end - size
                self._blob = io.BytesIO()
                self._blob.write(view[middle:])
                return size
            packets.append(packet._replace(blob=bytes(view[middle:end])))
            start = end
        return start


def parse(packet: Packet) -> Frame:
    """Read the JSON.

    Raises:
        WireError: It cannot be read, or is not an object.
    """
    kind, raw, blob = packet
    try:
        if kind >= Kind.READY:
            _check_marks(raw)
        if sys.getrecursionlimit() > 20 * _MAX_NESTING:
            _check_nesting(raw)
        text = raw.decode()
        body, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise WireError(f"the JSON of a {kind.name} frame cannot be read: {error}") from None
    if kind_of(body) is not dict or end != len(text):
        raise WireError(f"the JSON of a {kind.name} frame is not an object, or more than one")
    return Frame(kind, body, blob)


def _check_marks(raw: bytes) -> None:
    """Each list and each item is an object on the host, made while nothing else runs there."""
    if len(raw) <= MAX_MARKS:
        return
    if sum(map(raw.count, (b",", b"[", b"{"))) > MAX_MARKS:
        raise WireError(
            f"too large to cross: more than {MAX_MARKS:,} items in one message; "
            "hand over a part of it, or a data frame"
        )


def _check_nesting(raw: bytes) -> None:
    """Under a raised recursion limit, deep JSON overflows the C stack instead of raising."""
    if raw.count(b"[") + raw.count(b"{") <= _MAX_NESTING:
        return
    depth = 0
    for match in _BRACKET.finditer(raw):
        token = match[0]
        depth += (token in b"[{") - (token in b"]}")
        if depth > _MAX_NESTING:
            raise ValueError("nested too deep")


def _escape(match: re.Match[str]) -> str:
    return f"\\\\u{ord(match[0]):04x}"


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _parse_int(text: str) -> int:
    if len(text) > _LONGEST_INT:
        raise ValueError(f"an integer of {len(text):,} digits")
    return int(text)


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
)
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_parse_int)
