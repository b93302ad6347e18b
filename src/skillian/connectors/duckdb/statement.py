"""A statement of DuckDB: what sqlglot does not translate itself, its types and its rows."""

# Evaluated annotations would keep DuckDB's types alive at exit, which nanobind reports as a leak.
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date
from decimal import Decimal
from typing import Any, Self, cast

import duckdb
from sqlglot import exp

from skillian.connectors import floats
from skillian.connectors.base import ArrowBatch, ColumnType, Kind, columns_by_name
from skillian.connectors.dialects import call, printed_float, replaced
from skillian.errors import QueryError

Cursor = duckdb.DuckDBPyConnection

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("VARCHAR", "ENUM"), "text"),
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "integer"),
    **dict.fromkeys(("DECIMAL", "NUMERIC"), "decimal"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float"),
    "BOOLEAN": "boolean",
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    **dict.fromkeys(("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"), "timestamptz"),
}
_LARGE = frozenset({"HUGEINT", "UHUGEINT"})
_PLAIN = frozenset(_KINDS) - {"ENUM", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"}
# DuckDB returns a date of the first or the last year for infinity, and a text for any other date
# that Python does not have.
_YEARS = range(2, 9999)
_TYPE = re.compile(r"(?P<name>[A-Z_ ]+)(?:\((?P<arguments>.*)\))?", re.DOTALL)


def adapt(node: exp.Expr) -> exp.Expr:
    """The replacement of a node."""
    if isinstance(node, exp.Normalize):
        return call("NFC_NORMALIZE", node.this)
    if kind := printed_float(node):
        return floats.shortest(replaced(node.this, adapt), kind, "duckdb")
    is_text = isinstance(node, exp.Cast) and node.to.this == exp.DType.TEXT
    if is_text and isinstance(node.this.unnest(), exp.Column):
        # A cast keeps the collation of a column, which may find two texts equal.
        return exp.Collate(this=node.copy(), expression=exp.to_identifier("C", quoted=True))
    return node


def column_type(name: str) -> ColumnType:
    """The type of a column by DuckDB's name for it."""
    match = _TYPE.fullmatch(name)
    if match is None or match["name"] not in _KINDS:
        return ColumnType("other", name)
    kind = _KINDS[match["name"]]
    if kind != "decimal":
        return ColumnType(kind, name)
    return ColumnType(kind, name, scale=int(match["arguments"].partition(",")[2]))


def columns_of(relation: duckdb.DuckDBPyRelation) -> dict[str, ColumnType]:
    """The columns of a relation and their types; raises as `columns_by_name`."""
    kinds = (column_type(str(kind)) for kind in relation.types)
    return columns_by_name(zip(relation.columns, kinds, strict=True), folds_case=True)


def plain_rows(
    cursor: Cursor, text: str, parameters: Mapping[str, object]
) -> list[dict[str, Any]] | None:
    """All rows of a SELECT, with the values that Arrow has.

    None if DuckDB returns a value in another form. Raises `QueryError` for other statements.
    """
    cursor.execute(_parsed(cursor, text), dict(parameters) or None)
    names = [name for name, *_ in cursor.description]
    kinds = [str(kind).partition("(")[0] for _, kind, *_ in cursor.description]
    if not _PLAIN.issuperset(kinds):
        return None
    rows = cursor.fetchall()
    for index, kind in enumerate(kinds):
        if kind.startswith(("DATE", "TIMESTAMP")) and not all(
            row[index] is None or _is_moment(row[index]) for row in rows
        ):
            return None
    wide = [name for name, kind in zip(names, kinds, strict=True) if kind in _LARGE]
    found = [dict(zip(names, row, strict=True)) for row in rows]
    for name in wide:
        for row in found:
            row[name] = None if row[name] is None else Decimal(row[name])
    return found


def _is_moment(value: object) -> bool:
    return isinstance(value, date) and value.year in _YEARS


class RunningStatement:
    """A statement on its own cursor; leaving `with` closes both.

    Args:
        stop: Stops work outside DuckDB that the statement waits for; `interrupt` calls it.
    """

    def __init__(self, stop: Callable[[], None] | None = None) -> None:
        self._stop = stop
        self._cursor: Cursor | None = None
        self._reader: Any = None
        self._stopped = False

    def on(self, cursor: Cursor) -> Cursor:
        """Set the cursor; raises `duckdb.InterruptException` if already stopped."""
        self._cursor = cursor
        self._check()
        return cursor

    def read(self, relation: duckdb.DuckDBPyRelation, batch_rows: int) -> Any:
        """Start to read the rows of a relation; returns their `pyarrow.Schema`."""
        self._reader = relation.to_arrow_reader(batch_rows)
        return self._reader.schema

    def next_batch(self) -> ArrowBatch | None:
        """The next rows, or None after the last ones; raises `duckdb.Error`."""
        self._check()
        try:
            return cast("ArrowBatch | None", next(self._reader, None))
        except OSError as error:
            # What DuckDB raises after the first batch arrives as pyarrow's own error.
            raise duckdb.DatabaseError(str(error)) from None

    def interrupt(self) -> None:
        """Stop it, whether it has started or not; safe to call from any thread."""
        self._stopped = True
        if self._stop is not None:
            self._stop()
        if self._cursor is not None:
            # The statement may have ended, and closed its cursor, a moment ago.
            with suppress(duckdb.ConnectionException):
                self._cursor.interrupt()

    def close(self) -> None:
        """Close rows and cursor; no other thread may be using them."""
        self._stopped = True
        if self._reader is not None:
            self._reader.close()
        if self._cursor is not None:
            self._cursor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self) -> None:
        if self._stopped:
            raise duckdb.InterruptException("the statement was stopped")


def select(cursor: Cursor, text: str, parameters: Mapping[str, object]) -> duckdb.DuckDBPyRelation:
    """The relation of a SELECT, not yet run; raises `QueryError` for other statements."""
    return cursor.sql(_parsed(cursor, text), params=dict(parameters) or None)


def _parsed(cursor: Cursor, text: str) -> duckdb.Statement:
    statements = cursor.extract_statements(text)
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise QueryError("only a single SELECT is run here; nothing was executed")
    return statements[0]
