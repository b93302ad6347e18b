"""The rows that differ, after their comparison: a temporary file of Arrow data."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from typing import Any

from pyarrow import compute  # pyright: ignore[reportMissingTypeStubs]

from skillian.connectors.arrow import arrow
from skillian.connectors.base import ArrowBatch
from skillian.connectors.scratch import folder_of, scratch
from skillian.errors import UnavailableError

_compute: Any = compute


class RowsFile:
    """The rows of one comparison; their file is removed with this object.

    It is mapped into memory while somebody reads it, so that memory does not grow with the rows.
    """

    def __init__(self) -> None:
        self._path = folder_of(self) / "rows.arrow"

    async def write(self, batches: AsyncIterable[ArrowBatch]) -> None:
        """Store all rows; the first batch may be empty and has the columns."""
        writer: Any = None
        try:
            async for batch in batches:
                if writer is None:
                    writer = arrow.ipc.new_file(str(self._path), batch.schema)
                await asyncio.to_thread(writer.write_batch, batch)
        finally:
            if writer is not None:
                await asyncio.to_thread(writer.close)

    def table(self, classes: Sequence[str] | None = None) -> Any:
        """The rows as a `pyarrow.Table`, all or those of some classes; raises as `batches`."""
        with self._mapped() as file:
            table = arrow.ipc.open_file(file).read_all()
        if classes is None:
            return table
        return table.filter(
            _compute.is_in(table["class"], value_set=arrow.array(classes, arrow.string()))
        )

    async def batches(self) -> AsyncGenerator[ArrowBatch]:
        """Yield the rows in batches; without any, an empty one.

        Raises:
            UnavailableError: Something else removed the file.
        """
        with self._mapped() as file:
            reader = arrow.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)

    def _mapped(self) -> Any:
        try:
            return arrow.memory_map(str(self._path))
        except FileNotFoundError:
            raise UnavailableError(
                f"the rows that differ were removed from {scratch().parent}; compare again"
            ) from None
