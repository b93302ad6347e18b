"""Values of a snapshot as JSON: sharing is kept, and what cannot be kept is refused by name.

Atoms are themselves; anything else is a list that begins with a tag. Nothing is unpickled.
"""

from __future__ import annotations

import base64
import enum
import random
import re
import sys
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from pathlib import PosixPath, PurePosixPath
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, cast
from zoneinfo import ZoneInfo

from . import frames
from .refusal import CannotKeepError

_MAX_DEPTH = 150
_PLAIN_INT = 2**53
_MAIN = "__main__"
_PAIRS = (dict, OrderedDict, Counter)
_ITEMS = (list, set, deque)
_WAYS_OUT = {
    "generator": "it has begun its work; keep list(...) of it",
    "function": "it is not a plain function of a step; define it at the top of a step",
    "method": "it is bound to an object; keep the object",
    "StringIO": "keep its getvalue()",
    "BytesIO": "keep its getvalue()",
    "_lru_cache_wrapper": "it holds a cache; keep the function without it",
    "TextIOWrapper": "an open file cannot be kept; keep its name",
}

Writer = Callable[["ObjectWriter", Any], list[Any]]


class ObjectWriter:
    """Writes values that may share parts.

    Args:
        definitions: The functions and classes of the code that are kept, by identity.
    """

    def __init__(self, definitions: Mapping[int, str]) -> None:
        self._definitions = definitions
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []
        self._open: set[int] = set()
        self._arrays: list[Any] = []

    def value(self, value: Any) -> Any:  # noqa: PLR0911 - one for each kind
        """The value as JSON.

        Raises:
            CannotKeepError: It, or a part of it, cannot be kept.
        """
        kind = cast("type[object]", type(value))
        if value is None or kind is bool or kind is str:
            return value
        if kind is int and abs(value) < _PLAIN_INT:
            return value
        if kind is float and isfinite(value):
            return value
        if id(value) in self._definitions:
            return ["definition", self._definitions[id(value)]]
        if id(value) in self._numbers:
            return ["again", self._numbers[id(value)]]
        simple = _SIMPLE.get(kind)
        if simple is not None:
            return [simple[0], simple[1](value)]
        if id(value) in self._open or len(self._open) > _MAX_DEPTH:
            raise CannotKeepError(kind.__name__, "it contains itself, or is nested too deeply")
        self._open.add(id(value))
        try:
            return self._compound(value, kind)
        finally:
            self._open.discard(id(value))

    def attempt(self, value: Any) -> Any:
        """As `value`; if it is refused, nothing refers to its parts.

        Raises:
            CannotKeepError: As `value` raises it.
        """
        numbers, alive, arrays = dict(self._numbers), len(self._alive), len(self._arrays)
        try:
            return self.value(value)
        except CannotKeepError:
            self._numbers, self._open = numbers, set()
            del self._alive[alive:]
            del self._arrays[arrays:]
            raise

    def _compound(self, value: Any, kind: type) -> list[Any]:  # noqa: PLR0911 - as above
        if kind in {tuple, frozenset}:
            items = self._items(value if kind is tuple else sorted(value, key=_place))
            return [kind.__name__, items, self._number(value)]
        if kind in _ITEMS:
            number = self._number(value)
            items = self._items(sorted(value, key=_place) if kind is set else value)
            return [kind.__name__, number, items, *([value.maxlen] if kind is deque else [])]
        if kind in _PAIRS:
            return [kind.__name__, self._number(value), self._pairs(value)]
        if kind is defaultdict:
            number = self._number(value)
            return ["defaultdict", number, self._pairs(value), self.value(value.default_factory)]
        if kind is bytearray or kind is re.Pattern or kind is random.Random:
            name, content = _OTHERS[kind]
            return [name, self._number(value), content(value)]
        frame = frames.write(value, self.value)
        if frame is not None:
            self._check_apart(value)
            return ["frame", self._number(value), frame]
        return self._of_a_library(value) or self._instance(value, kind)

    def _number(self, value: Any) -> int:
        number = self._numbers[id(value)] = len(self._alive)
        self._alive.append(value)
        return number

    def _items(self, value: Any) -> list[Any]:
        return [self.value(item) for item in value]

    def _pairs(self, value: Any) -> list[Any]:
        return [[self.value(key), self.value(item)] for key, item in value.items()]

    def _check_apart(self, value: Any) -> None:
        """Refuse an array that shares its memory with another: they would be two afterwards."""
        numpy = sys.modules.get("numpy")
        if numpy is None or type(value) is not numpy.ndarray:
            return
        if any(numpy.may_share_memory(value, other) for other in self._arrays):
            raise CannotKeepError(
                "ndarray", "it shares its memory with another; keep .copy() of it"
            )
        self._arrays.append(value)

    def _of_a_library(self, value: Any) -> list[Any] | None:
        """A module, or a function or class of one; None if it is neither."""
        if type(value) is ModuleType:
            return ["module", value.__name__]
        if not isinstance(value, type | FunctionType | BuiltinFunctionType):
            return None
        module, name = value.__module__ or "builtins", value.__qualname__
        if module == _MAIN or getattr(sys.modules.get(module), name, None) is not value:
            return None
        return ["of", module, name]

    def _instance(self, value: Any, kind: Any) -> list[Any]:
        own = self._definitions.get(id(kind))
        if own is None:
            name = kind.__name__
            raise CannotKeepError(name, _WAYS_OUT.get(name, "keep plain values, tables or arrays"))
        if isinstance(value, enum.Enum):
            return ["member", own, value.name]
        if issubclass(kind, tuple):
            return ["record", own, self._items(value), self._number(value)]
        if not _is_plain(kind):
            raise CannotKeepError(own, "its class decides itself on how it is copied")
        return ["instance", self._number(value), own, self._pairs(vars(value))]


def _place(item: Any) -> tuple[str, str]:
    """The sort key of a set's items: the order of a set is not reproducible."""
    return type(item).__name__, repr(item)


def _is_plain(kind: type) -> bool:
    """Whether its instances are what is in their `__dict__`."""
    hooks = ("__getstate__", "__reduce__", "__reduce_ex__")
    if any(getattr(kind, name, None) is not getattr(object, name, None) for name in hooks):
        return False
    if hasattr(kind, "__setstate__") or any("__slots__" in vars(base) for base in kind.__mro__):
        return False
    return kind.__dictoffset__ != 0 and kind.__base__ is not None and _is_of_objects(kind)


def _is_of_objects(kind: type) -> bool:
    return all(base is object or base.__module__ == _MAIN for base in kind.__mro__)


def _text(data: bytes | bytearray) -> str:
    return base64.b64encode(data).decode()


def _of_zone(value: datetime | time) -> list[Any]:
    """A date or time with its zone."""
    zone = value.tzinfo
    plain = value.replace(tzinfo=None).isoformat()
    if zone is None:
        return [plain, value.fold]
    if type(zone) is ZoneInfo and zone.key:
        return [plain, value.fold, "zone", zone.key]
    if type(zone) is timezone:
        seconds = zone.utcoffset(None).total_seconds()
        return [plain, value.fold, "offset", seconds]
    raise CannotKeepError("datetime", "its zone is not of zoneinfo; convert it with astimezone")


def _state_of(value: random.Random) -> list[Any]:
    version, state, following = value.getstate()
    return [version, list(state), following]


_SIMPLE: dict[type, tuple[str, Callable[[Any], Any]]] = {
    int: ("int", hex),
    float: ("float", repr),
    complex: ("complex", lambda value: [value.real.hex(), value.imag.hex()]),
    bytes: ("bytes", _text),
    Decimal: ("decimal", str),
    Fraction: ("fraction", str),
    date: ("date", date.isoformat),
    datetime: ("datetime", _of_zone),
    time: ("time", _of_zone),
    timedelta: ("timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    range: ("range", lambda value: [value.start, value.stop, value.step]),
    uuid.UUID: ("uuid", str),
    PosixPath: ("path", str),
    PurePosixPath: ("purepath", str),
    type(Ellipsis): ("ellipsis", lambda _: 0),
}


_OTHERS: dict[type, tuple[str, Callable[[Any], Any]]] = {
    bytearray: ("bytearray", _text),
    re.Pattern: ("pattern", lambda value: [value.pattern, value.flags]),
    random.Random: ("random", _state_of),
}
