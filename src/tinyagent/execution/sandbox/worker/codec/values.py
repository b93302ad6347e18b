"""Values as JSON and bytes, and back: data crosses, anything else as its repr."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any

from . import scalars
from .budget import MAX_DEPTH, Budget, build_dict, build_set
from .reprs import REPR_ONLY, attempt, bounded_repr
from .scalars import as_python
from .sealed import Sealed, SealedList, read_sealed, shown_from, write_sealed
from .tables import Layout, is_table, read_table, write_table
from .wire import WireError, kind_of

_DICT: Any = dict  # its own methods, not those of a subclass
_STRINGS = frozenset({str})
_PLAIN_INT = 2**63
_PIECE = 1 << 16  # bytes that are copied or read in one go: other threads may have their turn
_CONTINUES = 0xC0, 0x80  # of a byte that is not the first of its character
_INLINE = 256  # bytes of a string that stays in the JSON


def encode(value: Any, blobs: bytearray, budget: Budget | None = None) -> Any:
    """The value as what JSON can say; its large parts are appended to `blobs`.

    None, bool, int, float, str, bytes, list, tuple, dict, set, frozenset, Decimal, dates, times and
    data frames (pandas, or a pyarrow table) cross, their subclasses as what they are a kind of,
    numpy's scalars as Python's, and pandas' NaT and NA as None. Anything else, what contains itself
    and what is nested deeper than 100 becomes a text that says so and gives the repr.

    Raises:
        WireError: It is larger than the budget: 1,000,000 items and data frames of 4,194,304 cells,
            unless given; or a number has more than 4,300 digits.
    """
    return _Encoder(blobs, budget or Budget()).value(value, 0)


def decode(data: Any, blob: bytes) -> Any:
    """The value that `encode` was given. The parts in `blob` may be used once, in their order.

    Raises:
        WireError: The other side's `encode` would never write this.
    """
    return _Decoder(blob, Budget()).value(data, 0)


def decode_from_code(fields: Iterable[Any], blob: bytes) -> list[Any]:
    """The values of one message from code, which all share one budget and the blob.

    Raises:
        WireError: As `decode`.
    """
    decoder = _Decoder(blob, Budget(of_code=True))
    return [decoder.value(data, 0) for data in fields]


class _Encoder:
    """A value on its way into JSON and `blobs`."""

    __slots__ = ("_around", "_blobs", "_budget")

    def __init__(self, blobs: bytearray, budget: Budget) -> None:
        self._blobs = blobs
        self._budget = budget
        self._around: set[int] = set()
        """The containers around the value that is being encoded, by identity."""

    def value(self, value: Any, depth: int) -> Any:
        # What there is most of comes first, and costs no call.
        kind = kind_of(value)
        if kind is str:
            if len(value) < _INLINE and value.isascii():
                return value
        elif kind is int:
            if -_PLAIN_INT < value < _PLAIN_INT:
                return value
        elif value is None or kind is bool or (kind is float and isfinite(value)):
            return value
        write = _WRITERS.get(kind)
        if write is None:
            return self._of_no_plain_type(value, depth)
        return write(self, value, depth)

    def text(self, value: str, _depth: int) -> Any:
        exact = str.__str__(value)
        try:
            raw = exact.encode()
        except UnicodeEncodeError:
            raw = exact.encode("utf-8", "surrogatepass")
            self._budget.check_text(len(raw))
            return self._part("str", raw)
        self._budget.check_text(len(raw))
        return exact if len(raw) <= _INLINE else self._part("str", raw)

    def binary(self, value: bytes | bytearray, _depth: int) -> Any:
        return self._part("bytes", value)

    def sequence(self, items: list[Any], value: Any, depth: int) -> list[Any]:
        self._budget.take_nodes(len(items))
        self._around.add(id(value))
        encoded = [self.value(item, depth + 1) for item in items]
        self._around.discard(id(value))
        return encoded

    def mapping(self, value: dict[Any, Any], depth: int) -> Any:
        keys: list[Any] = list(_DICT.keys(value))
        encoded = self.sequence(list(_DICT.values(value)), value, depth)
        if _are_plain(keys):
            return dict(zip(keys, encoded, strict=True))
        names = self.sequence(keys, value, depth)
        return {"$": "dict", "v": [list(pair) for pair in zip(names, encoded, strict=True)]}

    def sealed_list(self, value: SealedList, depth: int) -> Any:
        if self.is_closed(value, depth):
            return _described(value)
        return {"$": "sealed list", "v": [value.shown, self.sequence(list(value), value, depth)]}

    def is_closed(self, value: Any, depth: int) -> bool:
        """Whether it may not be gone into: too deep, or around itself."""
        return depth >= MAX_DEPTH or id(value) in self._around

    def _of_no_plain_type(self, value: Any, depth: int) -> Any:
        plain = as_python(value)
        if plain is not value:
            return self.value(plain, depth)
        for base, write in _WRITERS.items():
            if issubclass(type(value), base):
                return write(self, value, depth)
        return self._table(value, depth)

    def _table(self, value: Any, depth: int) -> Any:
        if depth + 1 >= MAX_DEPTH or not is_table(value):
            return _described(value)
        encoded = write_table(value, self._budget)
        if encoded is None:
            return _described(value)
        layout, data = encoded
        return {
            **self._part("frame", data),
            "labels": self.sequence(layout.labels, layout, depth + 1),
            "levels": layout.levels,
            "names": self.sequence(layout.names, layout, depth + 1),
            "dtypes": layout.dtypes,
            "cells": [self.sequence(column, column, depth + 1) for column in layout.cells],
        }

    def _part(self, tag: str, data: bytes | bytearray | memoryview) -> dict[str, Any]:
        start = len(self._blobs)
        with memoryview(data) as view:
            for place in range(0, len(view), _PIECE):
                self._blobs += view[place : place + _PIECE]
        return {"$": tag, "at": start, "n": len(self._blobs) - start}


class _Decoder:
    """A value on its way out of JSON and a blob. Everything is doubted."""

    __slots__ = ("_blob", "_budget", "_used")

    def __init__(self, blob: bytes, budget: Budget) -> None:
        self._blob = memoryview(blob)
        self._budget = budget
        self._used = 0

    def value(self, data: Any, depth: int) -> Any:
        kind = kind_of(data)
        if data is None or kind is str or kind is int or kind is bool:
            return data
        if kind is list:
            return self.items(data, depth)
        if kind is float and isfinite(data):
            return data
        if kind is not dict:
            raise WireError("a value of no kind that crosses")
        if "$" in data:
            return self._tagged(data, depth)
        self._enter(data, depth)
        return {key: self.value(item, depth + 1) for key, item in data.items()}

    def items(self, data: Any, depth: int) -> list[Any]:
        items: list[Any] = _list(data)
        self._enter(items, depth)
        return [self.value(item, depth + 1) for item in items]

    def pairs(self, data: Any, depth: int) -> dict[Any, Any]:
        pairs = [_list(pair) for pair in _list(data)]
        if any(len(pair) != len(("key", "value")) for pair in pairs):
            raise WireError("expected a list of pairs")
        values = self.items([pair[1] for pair in pairs], depth)
        keys = self.items([pair[0] for pair in pairs], depth)
        return build_dict(zip(keys, values, strict=True))

    def sealed_list(self, data: dict[str, Any], depth: int) -> SealedList:
        parts = _list(data["v"])
        if len(parts) != len(("shown", "items")):
            raise WireError("a sealed list that is none")
        return SealedList(self.items(parts[1], depth), shown_from(parts[0]))

    def text(self, data: dict[str, Any], _depth: int) -> str:
        raw = self._part(data)
        self._budget.check_text(len(raw))
        try:
            return "".join(str(piece, "utf-8", "surrogatepass") for piece in _characters(raw))
        except UnicodeDecodeError:
            raise WireError("a string that is not UTF-8") from None

    def binary(self, data: dict[str, Any], _depth: int) -> bytes:
        raw = self._part(data)
        copy = io.BytesIO()
        for place in range(0, len(raw), _PIECE):
            copy.write(raw[place : place + _PIECE])
        return copy.getvalue()

    def table(self, data: dict[str, Any], depth: int) -> Any:
        part = self._part(data)
        labels = self.items(data["labels"], depth + 1)
        names = self.items(data["names"], depth + 1)
        cells = [self.items(column, depth + 1) for column in _list(data["cells"])]
        layout = Layout(labels, data["levels"], names, data["dtypes"], cells)
        return read_table(layout, part, self._budget)

    def _tagged(self, data: dict[str, Any], depth: int) -> Any:
        tag = data["$"]
        for fields, readers in _READERS.items():
            if data.keys() == fields and type(tag) is str and tag in readers:
                return readers[tag](self, data, depth)
        raise WireError("a tagged value of an unknown kind or with the wrong fields")

    def _enter(self, data: Collection[Any], depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise WireError(f"a value nested deeper than {MAX_DEPTH}")
        self._budget.take_nodes(len(data))

    def _part(self, data: dict[str, Any]) -> memoryview:
        start, size = data["at"], data["n"]
        if type(start) is not int or type(size) is not int:
            raise WireError("a part of the data whose position is not a number")
        if not (self._used <= start and size >= 0 and start + size <= len(self._blob)):
            raise WireError("a part of the data outside of it, or used before")
        self._used = start + size
        return self._blob[start : self._used]


def _characters(raw: memoryview) -> Iterator[memoryview]:
    """UTF-8 in pieces that end with a character."""
    start = 0
    while start < len(raw):
        end = min(start + _PIECE, len(raw))
        while start < end < len(raw) and raw[end] & _CONTINUES[0] == _CONTINUES[1]:
            end -= 1
        end = end if end > start else len(raw)  # no character is that long, so this is not UTF-8
        yield raw[start:end]
        start = end


def _list(data: Any) -> Any:
    if kind_of(data) is not list:
        raise WireError("no list where there must be one")
    return data


def _described(value: Any) -> dict[str, Any]:
    return {"$": "repr", "v": bounded_repr(value)}


def _are_plain(keys: list[Any]) -> bool:
    """Whether a JSON object can have these keys, and would not be taken for a tag."""
    if not set(map(type, keys)) <= _STRINGS or "$" in keys:
        return False
    together = "".join(keys)
    return together.isascii() or attempt(str.encode, together) is not None


_Write = Callable[[_Encoder, Any, int], Any]
_Read = Callable[[_Decoder, dict[str, Any], int], Any]


def _scalar(write: Callable[[Any], Any]) -> _Write:
    def handle(_encoder: _Encoder, value: Any, _depth: int) -> Any:
        encoded = attempt(write, value)
        return _described(value) if encoded is None else encoded

    return handle


def _sequence(base: Any, tag: str) -> _Write:
    def handle(encoder: _Encoder, value: Any, depth: int) -> Any:
        if encoder.is_closed(value, depth):
            return _described(value)
        items = encoder.sequence(list(base.__iter__(value)), value, depth)
        return {"$": tag, "v": items} if tag else items

    return handle


def _mapping(encoder: _Encoder, value: Any, depth: int) -> Any:
    return _described(value) if encoder.is_closed(value, depth) else encoder.mapping(value, depth)


# In this order for subclasses: a datetime is a date.
_WRITERS: dict[type, _Write] = {
    int: lambda _encoder, value, _depth: scalars.write_int(value),
    float: lambda _encoder, value, _depth: scalars.write_float(value),
    str: _Encoder.text,
    dict: _mapping,
    list: _sequence(list, ""),
    tuple: _sequence(tuple, "tuple"),
    set: _sequence(set, "set"),
    frozenset: _sequence(frozenset, "frozenset"),
    bytes: _Encoder.binary,
    bytearray: _Encoder.binary,
    Decimal: lambda _encoder, value, _depth: scalars.write_decimal(value),
    datetime: _scalar(scalars.write_datetime),
    date: _scalar(scalars.write_date),
    time: _scalar(scalars.write_time),
    timedelta: _scalar(scalars.write_timedelta),
    Sealed: lambda _encoder, value, _depth: write_sealed(value),
    SealedList: lambda encoder, value, depth: encoder.sealed_list(value, depth),
}


def _described_text(_decoder: _Decoder, data: dict[str, Any], _depth: int) -> str:
    text = data["v"]
    if type(text) is not str:
        raise WireError("a repr that is not text")
    return REPR_ONLY + text


def _scalar_reader(tag: str, read: scalars.Reader) -> _Read:
    return lambda _decoder, data, _depth: scalars.read_scalar(tag, read, data["v"])


# By their fields, then by their tags.
_READERS: dict[frozenset[str], dict[str, _Read]] = {
    frozenset({"$", "v"}): {
        "tuple": lambda decoder, data, depth: tuple(decoder.items(data["v"], depth)),
        "set": lambda decoder, data, depth: build_set(decoder.items(data["v"], depth)),
        "frozenset": lambda decoder, data, depth: frozenset(
            build_set(decoder.items(data["v"], depth))
        ),
        "dict": lambda decoder, data, depth: decoder.pairs(data["v"], depth),
        "repr": _described_text,
        "sealed": lambda _decoder, data, _depth: read_sealed(data["v"]),
        "sealed list": lambda decoder, data, depth: decoder.sealed_list(data, depth),
        **{tag: _scalar_reader(tag, read) for tag, read in scalars.READERS.items()},
    },
    frozenset({"$", "at", "n"}): {"str": _Decoder.text, "bytes": _Decoder.binary},
    frozenset({"$", "at", "n", "labels", "levels", "names", "dtypes", "cells"}): {
        "frame": _Decoder.table
    },
}
