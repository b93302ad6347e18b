"""The tables of files, as views of DuckDB."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import duckdb
from sqlglot import exp

from skillian.connectors.base import TEXTS, Declaration, Table, text_column
from skillian.connectors.dialects import call
from skillian.connectors.duckdb.statement import Cursor, columns_of
from skillian.connectors.files.delimited import csv_select, types_once
from skillian.connectors.files.lines import read_format
from skillian.connectors.files.options import WORKBOOKS, FileOptions
from skillian.connectors.files.parquet import is_inferred, parquet_select, unread_columns
from skillian.connectors.files.prepared import JSON, Prepared, suffix_of
from skillian.errors import QueryError

SCHEMA = "main"
# The rows of worksheets, which are views like those of other files.
_SHEETS = "sheets"


def create_views(
    cursor: Cursor,
    path: Path,
    copy: Prepared | None,
    options: FileOptions,
    stamp: tuple[int, int, int],
) -> Iterator[tuple[Table, str]]:
    """Create the views of a file's tables; yield each table with the statement that created it.

    Raises `QueryError` with the name of a damaged file.
    """
    suffix = path.suffix.lower()
    if suffix in WORKBOOKS:
        from skillian.connectors.files import excel  # noqa: PLC0415 - loads Arrow

        for sheet in excel.read_workbook(path, options):
            rows = relation_of(sheet.name, _SHEETS)
            cursor.register("sheet", sheet.rows)
            cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {_SHEETS}")
            cursor.execute(_create("TABLE", rows, exp.select("*").from_("sheet")))
            cursor.unregister("sheet")
            yield _created(cursor, sheet.name, exp.select("*").from_(rows), sheet.unread)
    elif suffix == ".parquet":
        unread = unread_columns(cursor, path)
        table, statement = _created(cursor, path.name, parquet_select(path), unread)
        yield replace(table, inferred=is_inferred(cursor, path)), statement
    elif copy is not None:
        form = read_format(path, copy, options)
        types = types_once(cursor, copy.path, form, (path, options, stamp))
        select = csv_select(copy.path, form, types)
        table, statement = _created(cursor, path.name, select)
        is_text = options.is_plain and suffix_of(path) not in JSON
        if is_text:
            texts = [
                exp.alias_(exp.column(each, quoted=True), text_column(each), quoted=True)
                for each in types
            ]
            view = _create("VIEW", relation_of(path.name, TEXTS), select.select(*texts))
            more = f"CREATE SCHEMA IF NOT EXISTS {TEXTS}; {view}"
            cursor.execute(more)
            statement = f"{statement}; {more}"
        yield replace(table, remark=copy.remark, is_text=is_text), statement


def _created(
    cursor: Cursor, name: str, select: exp.Select, unread: Mapping[str, str] = MappingProxyType({})
) -> tuple[Table, str]:
    """Create the view of a table; a statement that reads a column that is unread is refused."""
    if unread:
        refused = [
            exp.alias_(_refusal(name, *each), each[0], quoted=True) for each in unread.items()
        ]
        select.set("expressions", [exp.Star(replace=refused)])
    statement = _create("VIEW", relation_of(name), select)
    try:
        cursor.execute(statement)
    except (duckdb.InvalidInputException, duckdb.IOException):
        raise QueryError(
            f"{name}: it is damaged, or its content is not what its suffix says"
        ) from None
    rows = cursor.sql(exp.select("*").from_(relation_of(name)).sql("duckdb"))
    columns = columns_of(rows)
    readable = {each: kind for each, kind in columns.items() if each not in unread}
    declared = {each: Declaration(unreadable=reason) for each, reason in unread.items()}
    return Table(SCHEMA, name, readable, declared, engine="files", inferred=True), statement


def _refusal(table: str, column: str, reason: str) -> exp.Expr:
    """An expression that raises an error where it is computed."""
    message = exp.Literal.string(f"{table}: column {column!r} cannot be read: {reason}")
    return exp.cast(call("ERROR", message), "TEXT")


def _create(kind: str, name: exp.Table, select: exp.Select) -> str:
    return exp.Create(this=name, kind=kind, replace=True, expression=select).sql("duckdb")


def drop_views(cursor: Cursor, path: Path, tables: tuple[Table, ...]) -> None:
    """Drop the views of a file's tables."""
    for table in tables:
        for schema in ("", TEXTS) if table.is_text else ("",):
            view = relation_of(table.name, schema).sql("duckdb")
            cursor.execute(f"DROP VIEW IF EXISTS {view}")
        if path.suffix.lower() in WORKBOOKS:
            rows = relation_of(table.name, _SHEETS).sql("duckdb")
            cursor.execute(f"DROP TABLE IF EXISTS {rows}")


def relation_of(name: str, schema: str = "") -> exp.Table:
    """The table of this name."""
    return exp.Table(
        this=exp.to_identifier(name, quoted=True), db=exp.to_identifier(schema or None)
    )
