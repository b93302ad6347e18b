"""Parquet files: what they say of themselves, and how their rows are read."""

from pathlib import Path

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
        for name, precision, scale in _wide_decimals(cursor, path)
    ]
    if wide:
        select.set("expressions", [exp.Star(replace=wide)])
    return select


def _wide_decimals(cursor: Cursor, path: Path) -> list[tuple[str, int, int]]:
    schema = exp.Table(this=call("PARQUET_SCHEMA", file_pattern(path)))
    columns = exp.select("name", "precision", "scale").from_(schema)
    try:
        rows = cursor.execute(columns.where(f"precision > {MAX_DIGITS}").sql("duckdb")).fetchall()
    except duckdb.Error:  # reading it reports what is wrong
        return []
    return [(str(name), int(precision), int(scale)) for name, precision, scale in rows]


def is_inferred(cursor: Cursor, path: Path) -> bool:
    """Whether a Parquet file says of itself that its types were guessed."""
    function = call("PARQUET_KV_METADATA", file_pattern(path))
    select = exp.select("key", "value").from_(exp.Table(this=function))
    try:
        rows = cursor.execute(select.sql("duckdb")).fetchall()
    except duckdb.Error:  # reading it reports what is wrong
        return False
    stated = {(bytes(key).decode("latin-1"), bytes(value).decode("latin-1")) for key, value in rows}
    return not stated.isdisjoint(INFERRED.items())


def _refused(path: Path, name: str, kind: str) -> exp.Expr:
    message = (
        f"{path.name}: column {name!r} is {kind}, of which only {MAX_DIGITS} digits can be read;"
        f" write it as a decimal of at most {MAX_DIGITS} digits, or as text"
    )
    error = call("ERROR", exp.Literal.string(message))
    return exp.cast(error, "TEXT")
