"""Columns as an Arrow stream, and back out of one that is not trusted."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from .budget import MAX_COLUMNS, Budget, check_indexed
from .wire import WireError

# All that a stream, or a value made to break a library, may make that library raise.
FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    Warning,
)
SCHEMA, DICTIONARY, BATCH = 1, 2, 3

_PREFIX = struct.Struct("<iI")
_MAX_METADATA = 512 * MAX_COLUMNS
_MAX_SCALE = 1000  # of a decimal's exponent
_TYPES = (
    *("boolean", "integer", "floating", "decimal"),
    *("string", "large_string", "binary", "large_binary"),
    *("date", "time", "timestamp", "duration"),
)


def may_cross(kind: Any) -> bool:
    """Whether it is the type of plain columns, or of categories: nothing nested or extended."""
    types = import_module("pyarrow").types
    if types.is_dictionary(kind):
        kind = kind.value_type
        return types.is_null(kind) or (_is_plain(types, kind) and not types.is_boolean(kind))
    return _is_plain(types, kind)


def write_stream(arrays: list[Any]) -> memoryview:
    """The arrays, of types that may cross, as one batch of columns named by their places."""
    pyarrow = import_module("pyarrow")
    ipc = import_module("pyarrow.ipc")
    batch = pyarrow.record_batch(arrays, names=[str(place) for place in range(len(arrays))])
    sink = pyarrow.BufferOutputStream()
    options = ipc.IpcWriteOptions(use_threads=False)
    with ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return memoryview(sink.getvalue())


def read_stream(part: bytes | memoryview, budget: Budget) -> list[Any]:
    """The arrays that `write_stream` was given.

    Raises:
        WireError: It would never write this, it is too large, or pyarrow is not installed.
    """
    try:
        pyarrow = import_module("pyarrow")
        ipc = import_module("pyarrow.ipc")
    except ImportError as error:
        raise WireError("a data frame came; install pyarrow to take it") from error
    rows = _survey(part, budget)
    try:
        options = ipc.IpcReadOptions(use_threads=False)
        reader = ipc.open_stream(pyarrow.py_buffer(part), options=options)
        budget.take_table(rows, len(reader.schema))
        _check_schema(reader.schema)
        table = reader.read_all()
        table.validate(full=True)
    except (*FAULTS, pyarrow.ArrowException):
        raise WireError("a data frame whose columns cannot be read") from None
    # Columns that share their bytes would be copied each for itself.
    if table.num_rows != rows or table.nbytes > len(part):
        raise WireError("a data frame of more than was sent")
    return [column.combine_chunks() for column in table.columns]


def _is_plain(types: Any, kind: Any) -> bool:
    if types.is_decimal(kind) and not -_MAX_SCALE <= kind.scale <= _MAX_SCALE:
        return False
    return any(getattr(types, f"is_{name}")(kind) for name in _TYPES)


def _check_schema(schema: Any) -> None:
    if schema.metadata is not None or schema.names != [str(n) for n in range(len(schema))]:
        raise ValueError
    if not all(field.metadata is None and may_cross(field.type) for field in schema):
        raise ValueError


def _survey(part: bytes | memoryview, budget: Budget) -> int:
    """How many rows the batch has, read from the headers before any library reads them.

    What pyarrow would do first and ask afterwards is refused here: to decompress, to build types of
    extensions, to repeat a batch or a dictionary.
    """
    try:
        messages = [(kind, *_batch(meta, kind, header)) for kind, meta, header in _messages(part)]
    except (struct.error, ValueError):
        raise WireError("a data frame that is not an Arrow stream") from None
    kinds = [kind for kind, _, _ in messages]
    if kinds != [SCHEMA, *[DICTIONARY] * (len(kinds) - 2), BATCH]:
        raise WireError("a data frame that is not one batch")
    identities = [identity for kind, _, identity in messages if kind == DICTIONARY]
    if len(set(identities)) < len(identities):
        raise WireError("a data frame with repeated categories")
    lengths = [length for kind, length, _ in messages if kind == DICTIONARY]
    check_indexed(max(lengths, default=0), "a column of categories")
    budget.take_cells(sum(lengths))
    return messages[-1][1]


def _messages(part: bytes | memoryview) -> Iterator[tuple[int, bytes, int]]:
    """Each message's kind, its metadata, and where in it the header starts."""
    place = 0
    while True:
        marker, size = _PREFIX.unpack_from(part, place)
        place += _PREFIX.size
        if marker != -1 or size > min(_MAX_METADATA, len(part) - place):
            raise ValueError
        if size == 0:
            break
        meta = bytes(part[place : place + size])
        if b"ARROW:" in meta:
            raise ValueError
        message = _read("<I", meta, 0)
        body = _number("<q", meta, message, 3)
        place += size + body
        if body < 0 or place > len(part):
            raise ValueError
        yield _number("<B", meta, message, 1), meta, _table(meta, message, 2)
    if place != len(part):
        raise ValueError


def _batch(meta: bytes, kind: int, header: int) -> tuple[int, int]:
    """How long a batch or a dictionary is, and the dictionary's identity."""
    if kind == SCHEMA:
        _check_fields(meta, header)
        return 0, 0
    identity = _number("<q", meta, header, 0) if kind == DICTIONARY else 0
    batch = _table(meta, header, 1) if kind == DICTIONARY else header
    length = _number("<q", meta, batch, 0)
    is_compressed = _field(meta, batch, 3) != 0
    if length < 0 or is_compressed:
        raise ValueError
    return length, identity


def _check_fields(meta: bytes, schema: int) -> None:
    """Check that the columns are few and plain: nested ones may be nested without end."""
    fields = _table(meta, schema, 1)
    count = _read("<I", meta, fields)
    if count > MAX_COLUMNS or _field(meta, schema, 2):
        raise ValueError
    for number in range(count):
        place = fields + 4 + 4 * number
        field = place + _read("<I", meta, place)
        children = _field(meta, field, 5)
        if _field(meta, field, 6) or (
            children and _read("<I", meta, children + _read("<I", meta, children))
        ):
            raise ValueError


def _field(meta: bytes, table: int, slot: int) -> int:
    """The offset of a field in a table of a flat buffer; 0 if the table does not have it."""
    entries = table - _read("<i", meta, table)
    entry = 4 + 2 * slot
    offset = _read("<H", meta, entries + entry) if entry < _read("<H", meta, entries) else 0
    return table + offset if offset else 0


def _table(meta: bytes, table: int, slot: int) -> int:
    """The offset of a table that is a field of another table."""
    place = _field(meta, table, slot)
    if not place:
        raise ValueError
    return place + _read("<I", meta, place)


def _number(layout: str, meta: bytes, table: int, slot: int) -> int:
    """A table's field of this layout; 0 where it is left out."""
    place = _field(meta, table, slot)
    return _read(layout, meta, place) if place else 0


def _read(layout: str, meta: bytes, place: int) -> int:
    if place < 0:
        raise ValueError
    number: int = struct.unpack_from(layout, meta, place)[0]
    return number
