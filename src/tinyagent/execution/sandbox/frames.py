"""What a session may send to the host: each field of each frame is checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from tinyagent.execution.sandbox.worker.codec.values import decode_from_code
from tinyagent.execution.sandbox.worker.codec.wire import (
    Frame,
    Kind,
    Packet,
    WireError,
    kind_of,
    parse,
)

MAX_TEXT = 1_000_000
MAX_NAME = 1_000
MAX_REMARKS = 1_000

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

Test = Callable[[Any], bool]


def read(packet: Packet, tools: Collection[str] | None = None) -> Frame:
    """Check the frame and decode the values of the code in it.

    Args:
        packet: from a session.
        tools: known names; a call of another tool is not decoded.

    Raises:
        WireError: a session may not send it.
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
        WireError: it may not; the message names the frame and the field.
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
    shown = sorted(fields)[:10]
    return ", ".join(repr(name[:50]) for name in shown) or "(none)"


def _number(least: int, most: int) -> Test:
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


def _is_encoded(_value: Any) -> bool:
    return True


def _is_encoded_list(value: Any) -> bool:
    return type(value) is list


def _is_encoded_keywords(value: Any) -> bool:
    return kind_of(value) is dict and all(map(_is_name, value))


_FIELDS: dict[Kind, dict[str, Test]] = {
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
    Kind.SWEPT: {"killed": _number(0, _MAX_PID), "memory": _is_bool},
    Kind.FAILED: {"error": _is_text},
}
_WITH_BLOB = frozenset({Kind.CALL, Kind.FINAL, Kind.ARTIFACT, Kind.DONE})
