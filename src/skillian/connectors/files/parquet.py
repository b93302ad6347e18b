"""Parquet files: what they say of themselves, and how their rows are read."""

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


def parquet_select(cursor: Cursor, path: Path) -> exp.Select:
    """The SELECT of a file's rows; raises an error for a decimal that is too wide, when read."""
    own = exp.EQ(this=exp.var("hive_partitioning"), expression=exp.false())
    function = call("READ_PARQUET", file_pattern(path), own)
    select = exp.select("*").from_(exp.Table(this=function))
    # DuckDB would read them as binary floats.
    wide = [
        exp.alias_(_refused(path, name, f"decimal({precision},{scale})"), name, quoted=True)
        for name, precision, scale in _stated(
            cursor, path, "PARQUET_SCHEMA", "name precision scale"
        )
        if (precision or 0) > MAX_DIGITS
    ]
    if wide:
        select.set("expressions", [exp.Star(replace=wide)])
    return select


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


def _refused(path: Path, name: str, kind: str) -> exp.Expr:
    message = (
        f"{path.name}: column {name!r} is {kind}, of which only {MAX_DIGITS} digits can be read;"
        f" write it as a decimal of at most {MAX_DIGITS} digits, or as text"
    )
    error = call("ERROR", exp.Literal.string(message))
    return exp.cast(error, "TEXT")
