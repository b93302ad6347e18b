"""Values of a snapshot from their JSON: what `objects.py` has written, and nothing else."""

from __future__ import annotations

import base64
import builtins
import random
import re
import sys
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PosixPath, PurePosixPath
from typing import Any, cast
from zoneinfo import ZoneInfo

from . import frames


class ObjectReader:
    """Reads what an `ObjectWriter` has written.

    Args:
        definitions: The restored functions and classes, by name.
        allowed: Whether code may import a module.
    """

    def __init__(self, definitions: Mapping[str, Any], allowed: Callable[[str], bool]) -> None:
        self._definitions = definitions
        self._allowed = allowed
        self._values: dict[int, Any] = {}

    def value(self, data: Any) -> Any:
        """The value.

        Raises:
            ValueError: No writer would write this.
        """
        if data is None or type(data) in {bool, str, int, float}:
            return data
        kind = cast("type[object]", type(data))
        parts: list[Any] = data if kind is list else []
        if not parts or type(parts[0]) is not str:
            raise ValueError("a part of the snapshot is not a value")
        tag, *rest = parts
        if tag in _READERS:
            (content,) = rest
            return _READERS[tag](content)
        read = _COMPOUND.get(tag)
        if read is None:
            raise ValueError(f"the snapshot has values of an unknown kind: {tag[:40]!r}")
        return read(self, *rest)

    def keep(self, number: int, value: Any) -> Any:
        """Remember a value that others may refer to."""
        if type(number) is not int or number in self._values:
            raise ValueError("the snapshot numbers two values alike")
        self._values[number] = value
        return value

    def again(self, number: int) -> Any:
        """A value that was read before."""
        return self._values[number]

    def sequence(self, items: list[Any]) -> list[Any]:
        """The values of a list."""
        return [self.value(item) for item in items]

    def fill(self, into: Any, pairs: list[Any]) -> Any:
        """Put pairs of keys and values into a mapping."""
        for key, item in pairs:
            into[self.value(key)] = self.value(item)
        return into

    def definition(self, name: str) -> Any:
        """A restored function or class."""
        return self._definitions[name]

    def module(self, name: str) -> Any:
        """An imported module.

        Raises:
            ValueError: It may not be imported here.
        """
        if not self._allowed(name):
            raise ValueError(f"the snapshot needs the module {name[:80]!r}, which is not allowed")
        __import__(name)
        return sys.modules[name]

    def instance(self, number: int, name: str, pairs: list[Any]) -> Any:
        """An object of a restored class, whose `__init__` does not run."""
        made = self.keep(number, object.__new__(self.definition(name)))
        self.fill(vars(made), pairs)
        return made


def _at(data: list[Any], kind: type[Any]) -> Any:
    value = kind.fromisoformat(data[0]).replace(fold=data[1])
    if len(data) == 2:  # noqa: PLR2004 - no zone
        return value
    if data[2] == "zone":
        return value.replace(tzinfo=ZoneInfo(data[3]))
    zone = timezone(timedelta(seconds=data[3])) if data[3] else UTC
    return value.replace(tzinfo=zone)


def _random(state: list[Any]) -> random.Random:
    made = random.Random()  # noqa: S311 - it is not a secret
    made.setstate((state[0], tuple(state[1]), state[2]))
    return made


def _of(reader: ObjectReader, module: str, name: str) -> Any:
    value = builtins if module == "builtins" else reader.module(module)
    return getattr(value, name)


def _member(reader: ObjectReader, name: str, member: str) -> Any:
    return reader.definition(name)[member]


def _record(reader: ObjectReader, name: str, items: list[Any], number: int) -> Any:
    values = reader.sequence(items)
    kind: Any = reader.definition(name)
    return reader.keep(number, cast("Any", tuple).__new__(kind, values))


def _tuple(reader: ObjectReader, items: list[Any], number: int) -> Any:
    return reader.keep(number, tuple(reader.sequence(items)))


def _frozenset(reader: ObjectReader, items: list[Any], number: int) -> Any:
    return reader.keep(number, frozenset(reader.sequence(items)))


def _list(reader: ObjectReader, number: int, items: list[Any]) -> Any:
    made: list[Any] = []
    reader.keep(number, made)
    made.extend(reader.sequence(items))
    return made


def _set(reader: ObjectReader, number: int, items: list[Any]) -> Any:
    made: set[Any] = set()
    reader.keep(number, made)
    made.update(reader.sequence(items))
    return made


def _deque(reader: ObjectReader, number: int, items: list[Any], most: int | None) -> Any:
    made: deque[Any] = deque(maxlen=most)
    reader.keep(number, made)
    made.extend(reader.sequence(items))
    return made


def _dict(reader: ObjectReader, number: int, pairs: list[Any]) -> Any:
    return reader.fill(reader.keep(number, {}), pairs)


def _ordered(reader: ObjectReader, number: int, pairs: list[Any]) -> Any:
    made: OrderedDict[Any, Any] = OrderedDict()
    return reader.fill(reader.keep(number, made), pairs)


def _counter(reader: ObjectReader, number: int, pairs: list[Any]) -> Any:
    made: Counter[Any] = Counter()
    return reader.fill(reader.keep(number, made), pairs)


def _default(reader: ObjectReader, number: int, pairs: list[Any], factory: Any) -> Any:
    made: defaultdict[Any, Any] = defaultdict()
    reader.keep(number, made)
    made.default_factory = reader.value(factory)
    return reader.fill(made, pairs)


def _frame(reader: ObjectReader, number: int, data: list[Any]) -> Any:
    return reader.keep(number, frames.read(data, reader.value))


def _bytearray(reader: ObjectReader, number: int, data: str) -> Any:
    return reader.keep(number, bytearray(base64.b64decode(data, validate=True)))


def _pattern(reader: ObjectReader, number: int, data: list[Any]) -> Any:
    return reader.keep(number, re.compile(data[0], data[1]))


def _generator(reader: ObjectReader, number: int, state: list[Any]) -> Any:
    return reader.keep(number, _random(state))


_COMPOUND: dict[str, Callable[..., Any]] = {
    "again": ObjectReader.again,
    "definition": ObjectReader.definition,
    "module": ObjectReader.module,
    "of": _of,
    "instance": ObjectReader.instance,
    "member": _member,
    "record": _record,
    "tuple": _tuple,
    "frozenset": _frozenset,
    "list": _list,
    "set": _set,
    "deque": _deque,
    "dict": _dict,
    "OrderedDict": _ordered,
    "Counter": _counter,
    "defaultdict": _default,
    "frame": _frame,
    "bytearray": _bytearray,
    "pattern": _pattern,
    "random": _generator,
}


_READERS: dict[str, Callable[[Any], Any]] = {
    "int": lambda data: int(data, 16),
    "float": float,
    "complex": lambda data: complex(float.fromhex(data[0]), float.fromhex(data[1])),
    "bytes": lambda data: base64.b64decode(data, validate=True),
    "decimal": Decimal,
    "fraction": Fraction,
    "date": date.fromisoformat,
    "datetime": lambda data: _at(data, datetime),
    "time": lambda data: _at(data, time),
    "timedelta": lambda data: timedelta(*data),
    "range": lambda data: range(*data),
    "uuid": uuid.UUID,
    "path": PosixPath,
    "purepath": PurePosixPath,
    "ellipsis": lambda _: ...,
}
