"""Data frames as Arrow tables: without a copy where Arrow allows it.

pandas and polars are never imported here; a data frame says itself what it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from skillian.connectors.arrow import arrow
from skillian.connectors.files.lines import numbered
from skillian.connectors.frames import Frame
from skillian.errors import InvalidInputError, quoted
from skillian.library.arrow_types import check_field, with_type_read
from skillian.library.objects import arrow_of_pandas, reason_of

_STREAM = "__arrow_c_stream__"
# Types of DuckDB whose values Arrow does not have: a zone, a type of each value, 39 digits.
_LOST = re.compile(r"\b(?:TIME WITH TIME ZONE|VARIANT|UHUGEINT)\b")


def is_frame(value: object) -> bool:
    """Whether a value is a data frame: it exports an Arrow stream, or polars will collect it."""
    is_series = _room(value) in {"pandas", "polars"} and not hasattr(type(value), "columns")
    return (hasattr(value, _STREAM) and not is_series) or _is_lazy(value)


def frame_of(value: Any, name: str) -> Frame:
    """A data frame for a comparison; its rows are not copied if they are Arrow data already.

    Args:
        value: The data frame, for which `is_frame` is true.
        name: What messages call it.

    Raises:
        InvalidInputError: It holds values or names that a table cannot have.
    """
    try:
        if _room(value) == "pandas":
            return _of_pandas(value, name)
        return _readable(_arrow_of(value.collect() if _is_lazy(value) else value), name)
    except arrow.ArrowException as error:
        raise InvalidInputError(
            f"{name}: it cannot be read as a table: {reason_of(error)};"
            " convert or rename the column first"
        ) from None
    except InvalidInputError:
        raise
    except Exception as error:  # of the library that makes its rows
        raise InvalidInputError(f"{name}: it cannot be read: {reason_of(error)}") from error


def _room(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _is_lazy(value: object) -> bool:
    return _room(value) == "polars" and hasattr(value, "collect")


def _of_pandas(frame: Any, name: str) -> Frame:
    """A pandas data frame; the named levels of its index are columns, and NaN is NULL."""
    levels = [level for level in frame.index.names if level is not None]
    columns = [str(column) for column in frame.columns]
    _check_names([*map(str, levels), *columns], name)
    is_guessed = any(str(kind) == "object" for kind in frame.dtypes)
    whole = frame.reset_index(level=levels) if levels else frame
    return _readable(arrow_of_pandas(whole), name, is_guessed=is_guessed)


def _arrow_of(frame: Any) -> Any:
    """The rows of any other data frame.

    Raises:
        ArrowInvalid: It has names or types that Arrow would silently change.
    """
    room = _room(frame)
    if room == "polars":
        for column, kind in frame.schema.items():
            _check_polars(column, column, kind)
    schema: Any = getattr(frame, "schema", None)
    if isinstance(schema, arrow.Schema):  # a stream cuts names at a NUL
        for field in schema:
            check_field(field)
    if room not in {"duckdb", "_duckdb"}:
        return arrow.RecordBatchReader.from_stream(frame).read_all()
    kinds = [*map(str, frame.types)]
    for column, kind in zip(frame.columns, kinds, strict=True):
        lost = _LOST.search(kind)
        if lost:
            raise arrow.ArrowInvalid(f"column {column!r} is {lost[0]}, which Arrow does not have")
    rows = arrow.RecordBatchReader.from_stream(frame).read_all()
    json = {b"ARROW:extension:name": b"arrow.json"}
    fields = [
        field.with_metadata(json) if kind == "JSON" else field
        for field, kind in zip(rows.schema, kinds, strict=True)
    ]
    return rows.cast(arrow.schema(fields))


def _check_polars(column: str, name: str, kind: Any) -> None:
    """Refuse what polars does not export: of objects, it exports the addresses."""
    if str(kind) == "Object":
        raise arrow.ArrowInvalid(f"column {column!r} holds Python objects")
    if str(kind) in {"Int128", "UInt128"}:
        raise arrow.ArrowInvalid(f"column {column!r} is {kind}, which Arrow does not have")
    if "\0" in name:
        raise arrow.ArrowInvalid(f"the name {quoted(name)} holds a NUL")
    for part in getattr(kind, "fields", ()):
        _check_polars(column, part.name, part.dtype)
    if hasattr(kind, "inner"):
        _check_polars(column, name, kind.inner)


def _readable(rows: Any, name: str, *, is_guessed: bool = False) -> Frame:
    """The rows in types that DuckDB reads; a column without any value has the type of text."""
    if not rows.column_names:
        raise InvalidInputError(f"{name}: it has no columns; compare a data frame that has some")
    _check_names(rows.column_names, name)
    has_untyped = any(arrow.types.is_null(field.type) for field in rows.schema)
    for position, field in enumerate(rows.schema):
        check_field(field)
        read = with_type_read(field, rows.column(position))
        if read is not None:
            rows = rows.set_column(position, field.with_type(read.type), read)
    named = rows.rename_columns(numbered(rows.column_names))
    return Frame(named, inferred=is_guessed or has_untyped)


def _check_names(names: Sequence[str], name: str) -> None:
    seen: set[str] = set()
    for position, each in enumerate(names, 1):
        if not each:
            raise InvalidInputError(f"{name}: its column {position} has no name; name it")
        if each in seen:
            raise InvalidInputError(
                f"{name}: columns {each!r} and {each!r} have the same name; rename one"
            )
        seen.add(each)
