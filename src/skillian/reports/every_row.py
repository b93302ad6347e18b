"""All rows that differ in a file: CSV, an Excel workbook, Parquet or JSON lines.

A file is complete or it is not there: rows go to a temporary file next to it, which replaces it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, Callable, Sequence
from pathlib import Path
from typing import IO, Any

from skillian.connectors.base import ArrowBatch
from skillian.data.sql.values import jsonable, python_columns, python_rows
from skillian.reports.outcome import Format
from skillian.reports.replacing import replacing
from skillian.reports.spreadsheets import BYTE_ORDER_MARK, RowSheets, csv_lines, csv_table
from skillian.tasks import phase, within

Summary = Sequence[tuple[str, object]]


async def write_rows(
    path: Path, form: Format, batches: AsyncIterable[ArrowBatch], summary: Summary = ()
) -> None:
    """Write all rows to a file, which replaces one of its name when all are written.

    The first batch may be empty and has the columns; a workbook's last sheet has the summary.

    Raises:
        OSError: The file cannot be written; one that was there is unchanged.
        ToolError: The rows cannot be read.
    """
    with replacing(path) as file, within(f"writing {path.name}"):
        await write_all(file, form, batches, summary)


async def write_all(
    file: IO[bytes], form: Format, batches: AsyncIterable[ArrowBatch], summary: Summary = ()
) -> None:
    """Write all rows to an open file; as `write_rows`."""
    write: _Write | None = None
    close: Callable[[], object] = file.flush
    rows = 0
    try:
        async for batch in batches:
            if write is None:
                write, close = _WRITERS[form](file, batch.schema, summary)
            await asyncio.to_thread(write, batch)
            rows += batch.num_rows
            phase(f"{rows:,} rows")
    finally:
        await asyncio.to_thread(close)


_Write = Callable[[ArrowBatch], object]
_Writer = tuple[_Write, Callable[[], object]]
"""Writes rows, and the end of the file."""


def _csv(file: IO[bytes], schema: Any, _summary: Summary) -> _Writer:
    file.write(BYTE_ORDER_MARK + csv_lines([schema.names]))
    kinds = [str(field.type) for field in schema]
    return (
        lambda batch: file.write(csv_table(zip(python_columns(batch), kinds, strict=True))),
        file.flush,
    )


def _json_lines(file: IO[bytes], _schema: Any, _summary: Summary) -> _Writer:
    def write(batch: ArrowBatch) -> None:
        for row in python_rows(batch):
            values = {name: jsonable(value) for name, value in row.items()}
            line = json.dumps(values, ensure_ascii=False)
            file.write(f"{line}\n".encode(errors="replace"))

    return write, file.flush


def _parquet(file: IO[bytes], schema: Any, _summary: Summary) -> _Writer:
    from pyarrow import parquet  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]

    written: Any = parquet
    writer = written.ParquetWriter(file, schema)
    return writer.write_batch, writer.close


def _workbook(file: IO[bytes], schema: Any, summary: Summary) -> _Writer:
    sheets = RowSheets(file, schema.names, summary)
    return lambda batch: sheets.write(row.values() for row in python_rows(batch)), sheets.close


_WRITERS: dict[Format, Callable[[IO[bytes], Any, Summary], _Writer]] = {
    Format.CSV: _csv,
    Format.XLSX: _workbook,
    Format.PARQUET: _parquet,
    Format.JSONL: _json_lines,
}
