"""Reads an uploaded file in a process of its own, and writes its table as Parquet.

Run as `python -m skillian.uploads.worker FILE TARGET OPTIONS`; prints the table, or why it is
refused, as JSON. A file that crashes a reader, or needs too much memory, ends only this process.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, cast

import duckdb
import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.parquet as pq  # pyright: ignore[reportMissingTypeStubs]
from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum
from sqlglot import exp

from skillian.connectors.base import Table
from skillian.connectors.files.connector import FilesConnector
from skillian.connectors.files.delimited import file_pattern
from skillian.connectors.files.lines import read_format
from skillian.connectors.files.options import FileOptions, dict_of, read_options
from skillian.connectors.files.parquet import INFERRED
from skillian.connectors.files.prepared import prepared
from skillian.errors import ToolError
from skillian.uploads.limits import (
    KINDS,
    MAX_COLUMNS,
    MAX_ROWS,
    MAX_UNPACKED,
    MEMORY_BYTES,
    READ_SECONDS,
    UploadError,
)
from skillian.uploads.workbooks import PACKED, check_workbook
from skillian.uploads.written import STATED, is_better, recognised

_NICE = 5
_LONGEST_NAMES = 1_000_000
_LONGEST_REASON = 2000
_LONGEST_LINE = 16 * 1024 * 1024
_EMPTY = "it is empty; it needs a line or a row with the names of its columns"

parquet: Any = pq
arrow: Any = pa


def read(path: Path, target: Path, written: str) -> dict[str, Any]:
    """Write the table of a file as Parquet.

    Args:
        path: The file.
        target: Where the Parquet file is written.
        written: The options that say how the file is written, such as `decimal=,`.

    Returns:
        `rows`, `columns` with their types, the `sheets` of a workbook, of which `sheet` is read,
        the first that is not empty unless the options name one, and these options, `written`.

    Raises:
        ToolError: The file cannot be read, or holds too much.
    """
    suffix = path.suffix.lower()
    options, sheets = read_options(dict_of(written)), list[str]()
    if suffix in PACKED:
        check_workbook(path)
    if suffix in KINDS["Excel"]:
        sheets = _sheets(path)
    elif suffix in KINDS["CSV"]:
        with TemporaryDirectory() as folder:
            file = prepared(path, options, Path(folder))
            _check_width(len(read_format(path, file, options).names))
    elif suffix in KINDS["JSON lines"]:
        _check_keys(path)
    elif suffix in KINDS["Parquet"]:
        _check_parquet(path)
    if suffix in KINDS["CSV"] and not {*dict_of(written)} & STATED:
        found = asyncio.run(_recognised(path, written))
        if found:
            written = "&".join(filter(None, (written, found)))
            options = read_options(dict_of(written))
    for sheet in [options.sheet] if options.sheet else sheets or [""]:
        options = replace(options, sheet=sheet)
        table = asyncio.run(_convert(path, target, options))
        if table is not None:
            break
    else:
        raise UploadError(_EMPTY)
    rows, columns = table
    about = {"sheets": sheets, "sheet": options.sheet, "written": written}
    return {"rows": rows, "columns": columns, **about}


def _check_width(columns: int) -> None:
    if columns > MAX_COLUMNS:
        raise UploadError(
            f"it has {columns:,} columns, and a file can have {MAX_COLUMNS:,}; delete the columns"
            " that you do not need"
        )


def _check_names(names: Iterable[str]) -> None:
    if sum(map(len, names)) > _LONGEST_NAMES:
        raise UploadError(f"its column names have more than {_LONGEST_NAMES:,} characters")


def _sheets(path: Path) -> list[str]:
    """The names of the worksheets of a workbook."""
    try:
        with CalamineWorkbook.from_path(path) as book:  # pyright: ignore[reportUnknownMemberType]
            sheets = [m.name for m in book.sheets_metadata if m.typ == SheetTypeEnum.WorkSheet]
    except CalamineError:  # reading it says why
        return []
    if not sheets:
        raise UploadError("it has no worksheet")
    return sheets


def _check_keys(path: Path) -> None:
    """Check the number of keys of JSON lines; one array or object of rows is read as a whole."""
    names: set[str] = set()
    with path.open("rb") as file:
        if file.read(1) == b"[":
            return
        file.seek(0)
        while line := file.readline(_LONGEST_LINE):
            if len(line) == _LONGEST_LINE:
                raise UploadError(f"a line has more than {_LONGEST_LINE >> 20} MB")
            try:
                record: Any = json.loads(line) if line.strip() else {}
            except (ValueError, RecursionError):  # reading it says where
                return
            if isinstance(record, dict):
                members = cast("dict[str, Any]", record)
                are_rows = len(members) > 1 and all(isinstance(m, dict) for m in members.values())
                if are_rows and not file.peek(1).strip():  # the only line
                    return
                names.update(members)
            _check_width(len(names))


def _check_parquet(path: Path) -> None:
    try:
        about = parquet.read_metadata(path)
    except (arrow.ArrowException, OSError):
        raise UploadError("it is damaged, or is not a Parquet file; write it again") from None
    _check_width(about.num_columns)
    if about.num_rows > MAX_ROWS:
        raise UploadError(f"it has {about.num_rows:,} rows, and a file can have {MAX_ROWS:,}")


async def _recognised(path: Path, written: str) -> str:
    """The options for its numbers and dates, if they read more of its columns."""
    async with _opened(path, read_options(dict_of(written))) as connector:
        before = _table(await connector.catalog())
        found = await recognised(connector, before)
    if not found:
        return ""
    async with _opened(path, read_options(dict_of(f"{written}&{found}"))) as connector:
        after = _table(await connector.catalog())
    return found if is_better(before.columns, after.columns) else ""


@asynccontextmanager
async def _opened(path: Path, options: FileOptions) -> AsyncGenerator[FilesConnector]:
    connector = FilesConnector(path, path.name, timeout=READ_SECONDS, options=options)
    try:
        yield connector
    finally:
        await connector.aclose()


async def _convert(
    path: Path, target: Path, options: FileOptions
) -> tuple[int, list[tuple[str, str]]] | None:
    """Write the table as Parquet: its rows and columns; None if it is empty."""
    async with _opened(path, options) as connector:
        tables = await connector.catalog()
        if not tables:
            return None
        table = tables[0]
        for name in table.forbidden:
            table.check_readable(name)
        _check_width(len(table.columns))
        _check_names(table.columns)
        columns = [(name, kind.sql) for name, kind in table.columns.items()]
        if path.suffix.lower() in KINDS["Parquet"]:
            rows = _rewrite(path, target)
        else:
            rows = await _write(connector, table, target)
        return rows, columns


def _table(tables: tuple[Table, ...]) -> Table:
    if not tables:
        raise UploadError(_EMPTY)
    return tables[0]


async def _write(connector: FilesConnector, table: Table, target: Path) -> int:
    name = exp.Table(this=exp.to_identifier(table.name, quoted=True))
    select = exp.select("*").from_(name)
    empty: Any = await connector.run(select.limit(0).sql("duckdb"), {})
    schema = empty.schema.with_metadata(INFERRED)
    rows = 0
    batches = connector.stream(select.sql("duckdb"), {})
    with parquet.ParquetWriter(target, schema) as writer:
        async with aclosing(batches):
            async for batch in batches:
                rows += batch.num_rows
                if rows > MAX_ROWS:
                    raise UploadError(f"it has more than {MAX_ROWS:,} rows")
                writer.write_batch(batch)
    return rows


def _rewrite(path: Path, target: Path) -> int:
    """Write a Parquet file again, so that the server reads nothing that a client has written.

    DuckDB, which also compares, reads and writes it: the types stay those that it sees.
    """
    settings: dict[str, Any] = {"memory_limit": f"{MEMORY_BYTES >> 31}GB", "temp_directory": ""}
    try:
        with duckdb.connect(config=settings) as connection:
            rows = connection.read_parquet(file_pattern(path).name, hive_partitioning=False)
            rows.limit(MAX_ROWS + 1).write_parquet(str(target), compression="zstd")
    except duckdb.Error as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        raise UploadError("it is damaged, or unpacks to too much; write it again") from None
    rows_written = int(parquet.read_metadata(target).num_rows)
    if rows_written > MAX_ROWS:
        raise UploadError(f"it has more than {MAX_ROWS:,} rows")
    return rows_written


def _end_with_the_server() -> None:
    """End this process when its standard input ends, because the server has ended."""

    def wait() -> None:
        os.read(0, 1)
        os._exit(1)

    Thread(target=wait, daemon=True).start()


def _limit(size: int) -> None:
    """Bound the memory, the files and the priority of this process."""
    for kind, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, max(4 * size, MAX_UNPACKED)),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, 2 * READ_SECONDS),
    ):
        resource.setrlimit(kind, (most, most))
    os.nice(_NICE)


def main(path: Path, target: Path, written: str) -> Mapping[str, Any]:
    """Read a file within the limits; a file that is refused gives `refused`, with the reason."""
    _end_with_the_server()
    _limit(path.stat().st_size)
    try:
        return read(path, target, written)
    except ToolError as error:
        return {"refused": str(error)[:_LONGEST_REASON]}
    except MemoryError:
        return {"refused": f"reading it needs more than {MEMORY_BYTES >> 30} GB of memory"}
    except (OSError, ValueError, arrow.ArrowException) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return {"refused": "it cannot be read: it is damaged, or unpacks to too much"}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # at an ordinary end, extensions report what an error still refers to
