"""Parquet files: what they say of themselves, and how their rows are read."""

import base64
from pathlib import Path
from typing import Any

import duckdb
from sqlglot import exp

from skillian.connectors.base import MAX_DIGITS
from skillian.connectors.dialects import call
from skillian.connectors.duckdb.statement import Cursor
from skillian.connectors.files.delimited import file_pattern

INFERRED = {"skillian.inferred": "true"}
"""The metadata of a Parquet file whose types were guessed from the values of another file."""


_DURATION = 18
"""The number of this type in `Schema.fbs` of Arrow: a schema without this byte has none."""


def parquet_select(path: Path) -> exp.Select:
    """The SELECT of a file's rows."""
    own = exp.EQ(this=exp.var("hive_partitioning"), expression=exp.false())
    function = call("READ_PARQUET", file_pattern(path), own)
    return exp.select("*").from_(exp.Table(this=function))


def unread_columns(cursor: Cursor, path: Path) -> dict[str, str]:
    """Why columns cannot be read: DuckDB would change a value, or refuse all of the column."""
    stated = _stated(
        cursor, path, "PARQUET_SCHEMA", "name precision scale converted_type num_children"
    )
    reasons = {
        column: f"it is {meaning}, of which only the values would be read; write it as a number or"
        " a text"
        for column, meaning in _meanings_lost(cursor, path).items()
    }
    column, parts = "", 0
    for name, precision, scale, kind, children in stated[1:]:  # each before its parts
        column, parts = (name, 1) if parts == 0 else (column, parts)
        parts += (children or 0) - 1
        if (precision or 0) > MAX_DIGITS:  # would be read as a binary float
            reasons[column] = (
                f"it is decimal({precision},{scale}), of which only {MAX_DIGITS} digits can be"
                f" read; write it as a decimal of at most {MAX_DIGITS} digits, or as text"
            )
        elif kind == "TIMESTAMP_MILLIS" and not _is_in_range(cursor, path, column):
            reasons[column] = (
                "it has a time that is more than 290,000 years from now; correct it, or write it"
                " as text"
            )
    return reasons


def _meanings_lost(cursor: Cursor, path: Path) -> dict[str, str]:
    """The columns with a type of Arrow that DuckDB does not see, such as a duration."""
    for key, value in _stated(cursor, path, "PARQUET_KV_METADATA", "key value"):
        if bytes(key) == b"ARROW:schema":
            try:
                stated = base64.b64decode(value)
            except ValueError:
                return {}
            if _DURATION in stated or b"ARROW:extension" in stated:
                from skillian.connectors.arrow_fields import meanings_lost  # noqa: PLC0415

                return meanings_lost(stated)
    return {}


def _is_in_range(cursor: Cursor, path: Path, column: str) -> bool:
    """Whether all times of a column have a number of microseconds that 64 bits hold."""
    values = exp.Max(this=exp.column(column, quoted=True))
    try:
        cursor.execute(parquet_select(path).select(values, append=False).sql("duckdb")).fetchall()
    except duckdb.ConversionException:
        return False
    except duckdb.Error:  # which reading the column reports
        return True
    return True


def is_inferred(cursor: Cursor, path: Path) -> bool:
    """Whether a Parquet file says of itself that its types were guessed."""
    rows = _stated(cursor, path, "PARQUET_KV_METADATA", "key value")
    stated = {(bytes(key).decode("latin-1"), bytes(value).decode("latin-1")) for key, value in rows}
    return not stated.isdisjoint(INFERRED.items())


def _stated(cursor: Cursor, path: Path, function: str, columns: str) -> list[tuple[Any, ...]]:
    """What a file says of itself; nothing if it cannot be read, which reading it reports."""
    source = exp.Table(this=call(function, file_pattern(path)))
    try:
        return cursor.execute(exp.select(*columns.split()).from_(source).sql("duckdb")).fetchall()
    except duckdb.Error:
        return []
