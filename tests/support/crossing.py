"""Values that cross the wire between a host and its code."""

from __future__ import annotations

from typing import Any

from tinyagent.execution.sandbox.worker.codec.values import decode, encode
from tinyagent.execution.sandbox.worker.codec.wire import Frame, FrameReader, Kind, pack


def cross(value: Any) -> Any:
    """The value on the other side of the wire."""
    blobs = bytearray()
    frame = Frame(Kind.DONE, {"value": encode(value, blobs)}, bytes(blobs))
    (got,) = FrameReader().feed(pack(frame))
    return decode(got.body["value"], got.blob)
