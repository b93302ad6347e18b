"""All rows that differ in a file: CSV, an Excel workbook, Parquet or JSON lines.

A file is complete or it is not there: rows go to a temporary file next to it, which replaces it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, Callable, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

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
    writer: _Writer | None = None
    rows = 0
    try:
        async for batch in batches:
            writer = writer or _WRITERS[form](file, batch.schema, summary)
            await asyncio.to_thread(writer.write, batch)
            rows += batch.num_rows
            phase(f"{rows:,} rows")
    finally:
        if writer is not None:
            await asyncio.to_thread(writer.close)


class _Writer(Protocol):
    def write(self, batch: ArrowBatch) -> None: ...

    def close(self) -> None: ...


class _Csv:
    def __init__(self, file: IO[bytes], schema: Any, _summary: Summary) -> None:
        self._file = file
        file.write(BYTE_ORDER_MARK + csv_lines([schema.names]))

    def write(self, batch: ArrowBatch) -> None:
        kinds = [str(field.type) for field in batch.schema]
        self._file.write(csv_table(zip(python_columns(batch), kinds, strict=True)))

    def close(self) -> None:
        self._file.flush()


class _JsonLines:
    def __init__(self, file: IO[bytes], schema: Any, _summary: Summary) -> None:
        del schema
        self._file = file

    def write(self, batch: ArrowBatch) -> None:
        for row in python_rows(batch):
            values = {name: jsonable(value) for name, value in row.items()}
            self._file.write(json.dumps(values, ensure_ascii=False).encode(errors="replace"))
            self._file.write(b"\n")

    def close(self) -> None:
        self._file.flush()


class _Parquet:
    def __init__(self, file: IO[bytes], schema: Any, _summary: Summary) -> None:
        from pyarrow import parquet  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]

        written: Any = parquet
        self._writer = written.ParquetWriter(file, schema)

    def write(self, batch: ArrowBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()


class _Workbook:
    def __init__(self, file: IO[bytes], schema: Any, summary: Summary) -> None:
        self._sheets = RowSheets(file, schema.names, summary)

    def write(self, batch: ArrowBatch) -> None:
        self._sheets.write(row.values() for row in python_rows(batch))

    def close(self) -> None:
        self._sheets.close()


_WRITERS: dict[Format, Callable[[IO[bytes], Any, Summary], _Writer]] = {
    Format.CSV: _Csv,
    Format.XLSX: _Workbook,
    Format.PARQUET: _Parquet,
    Format.JSONL: _JsonLines,
}
