"""Types of sealed values: what exactly is of a type, and how much a value of it can tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime
from enum import Enum
from typing import Any, Literal, cast, get_args, get_origin

MAX_ITEMS = 10_000
"""How many items a list of one type may have."""
_MOST = 2**63
_EXACT = 2**53
"""Up to here, each integer is a float."""
_MINUTE = 60
_BITS: Mapping[object, int] = {bool: 1, int: 64, float: 64, date: 22, datetime: 70}
"""What a value of a narrow type can tell at most: there are 3,652,059 dates, each with
86,400,000,000 microseconds, and 2,880 offsets of whole minutes or none."""


def bits_of(kind: Any) -> int | None:
    """How much a value of this type can tell at most; None if it is not narrow."""
    options = _options(kind)
    if options is not None:
        return max(1, math.ceil(math.log2(max(1, len(options)))))
    return _BITS.get(kind) if isinstance(kind, type) else None


def typed(value: Any, kind: Any) -> Any:
    """The value, if it is exactly of a type.

    A bool is not an int, a datetime is not a date, an int has 64 bits, a float is finite, and the
    offset of a datetime is None or whole minutes. The member of an enum is its value. An int
    counts as a float where it is one exactly, and a tuple as a list.

    Args:
        value: Plain data.
        kind: A type, a `Literal`, an enum, or a list of one of these.

    Raises:
        TypeError: It is not; the message does not quote it.
    """
    options = _options(kind)
    if options is not None:
        plain = value.value if isinstance(value, Enum) and type(value) is kind else value
        if any(type(plain) is type(each) and plain == each for each in options):
            return plain
    elif get_origin(kind) is list:
        items = cast("list[Any]", value)
        if type(value) in (list, tuple) and len(items) <= MAX_ITEMS:
            return [typed(item, get_args(kind)[0]) for item in items]
    elif kind is float and type(value) is int and abs(value) <= _EXACT:
        return float(value)
    elif type(value) is kind and _is_bounded(value):
        return value
    raise TypeError("the value is not of the type")


def _options(kind: Any) -> tuple[Any, ...] | None:
    """The values of a closed type; None if it is not closed."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(member.value for member in kind)
    return None


def _is_bounded(value: Any) -> bool:
    """Whether a number or a moment is one of those that `_BITS` counts."""
    if type(value) is int:
        return -_MOST <= value < _MOST
    if type(value) is float:
        return math.isfinite(value)
    offset = value.utcoffset() if type(value) is datetime else None
    return offset is None or (offset.total_seconds() % _MINUTE == 0)
