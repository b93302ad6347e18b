"""A statement in Spark: its check, its parameters, and its rows as Arrow."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlglot import exp

from skillian.connectors.arrow import arrow
from skillian.connectors.base import (
    ArrowBatch,
    ColumnType,
    Declaration,
    Kind,
    Table,
    columns_by_name,
)
from skillian.connectors.dialects import single_query
from skillian.errors import QueryError

BATCH_ROWS = 8192
# Spark takes long to start, and its tables are large.
TIMEOUT_SECONDS = 600.0

_LONG = 2**63
_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"
# They can call any Java method.
_REFUSED = frozenset({"reflect", "java_method", "try_reflect"})
# [CODE] the problem. The fix in Spark's terms. SQLSTATE: 22018
_MESSAGE = re.compile(
    r"\[[A-Z_.0-9]+\] (?P<text>[^\n]*?)(?: Correct the value| Use `| SQLSTATE|\n|$)"
)
_PATH = re.compile(r"(?:file:)?(?:/[^\s'\"`/]+){2,}")
_TYPE = re.compile(r"(?P<name>\w+)(?:\(\d+(?:,(?P<scale>\d+))?\))?(?: collate \w+)?")
KINDS: dict[str, Kind] = {
    **dict.fromkeys(("string", "char", "varchar"), "text"),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    "decimal": "decimal",
    "float": "float",
    "double": "float",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}
"""The kinds of Spark's types, by their names."""


def select(session: Any, statement: str, parameters: Mapping[str, object]) -> Any:
    """The data frame of a SELECT, not yet run; raises `QueryError` for anything else."""
    tree = single_query(statement, "spark")
    if tree is None or any(node.name.lower() in _REFUSED for node in tree.find_all(exp.Anonymous)):
        raise QueryError("only a single SELECT is run here; nothing was executed")
    times = {name for name, value in parameters.items() if isinstance(value, datetime)}
    for place in [node for node in tree.find_all(exp.Placeholder) if node.name in times]:
        # The driver would read it as a time in this machine's zone.
        zone = getattr(parameters[place.name], "tzinfo", None)
        place.replace(exp.cast(place.copy(), "TIMESTAMP_LTZ" if zone else "TIMESTAMP_NTZ"))
    values = {name: _parameter(value) for name, value in parameters.items()}
    return session.sql(tree.sql("spark") if times else statement, args=values)


def columns(frame: Any) -> dict[str, ColumnType]:
    """The columns of a data frame and their types."""
    return columns_by_name(
        (field.name, column_type(field.dataType.simpleString())) for field in frame.schema
    )


def table_of(schema: str, name: str, frame: Any) -> Table:
    """The table of a data frame over it; Spark reads a char or varchar as a string."""
    declared = {
        field.name: Declaration(field.metadata.get(_LENGTH, ""), field.nullable)
        for field in frame.schema
    }
    return Table(schema, name, columns(frame), declared, "spark")


def column_type(written: str) -> ColumnType:
    """The type of a column by Spark's name for it."""
    match = _TYPE.fullmatch(written)
    kind = KINDS.get(match["name"], "other") if match else "other"
    return ColumnType(kind, written, int(match["scale"] or 0) if match else 0)


def renamed(frame: Any) -> tuple[dict[str, ColumnType], Any]:
    """The columns, and the data frame with numbered columns; kind `other` as text."""
    kinds = columns(frame)
    names = [f"c{number}" for number in range(len(kinds))]
    numbered = frame.toDF(*names)
    values = [
        numbered[name].cast("string") if kind.kind == "other" else numbered[name]
        for name, kind in zip(names, kinds.values(), strict=True)
    ]
    return kinds, numbered.select(*values)


def plain(error: Exception) -> str:
    """Spark's message on one line and without paths; empty if there is none."""
    match = _MESSAGE.search(str(error))
    return _PATH.sub("…", match["text"]) if match else ""


def typed(batches: Iterator[Any], schema: Any) -> Iterator[ArrowBatch]:
    """Yield the rows of Arrow batches of any size in the types of a schema."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            pairs = zip(batch.slice(start, BATCH_ROWS).columns, schema, strict=True)
            arrays = [array.cast(field.type) for array, field in pairs]
            yield arrow.record_batch(arrays, schema=schema)


def _parameter(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, int) and not -_LONG <= value < _LONG:
        return Decimal(value)
    return value
