"""One statement of a DuckDB: admitted, read in batches, and stopped without the others."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, cast

import duckdb
import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

from skillian.connectors.base import ArrowBatch, ArrowTable
from skillian.errors import QueryError

Cursor = duckdb.DuckDBPyConnection
arrow: Any = pa  # pyarrow carries no types

ROW_BUDGET = 100_000
BYTE_BUDGET = 64 * 1024 * 1024

_BATCH_ROWS = 8192
_STREAM_BATCH_ROWS = 65_536


class Statement:
    """A statement on a cursor of its own; leaving `with` lets both go.

    Args:
        stop: Stops what else it waits for; called with every `interrupt`.
    """

    def __init__(self, stop: Callable[[], None] | None = None) -> None:
        self._stop = stop
        self._cursor: Cursor | None = None
        self._reader: Any = None
        self._stopped = False

    def on(self, cursor: Cursor) -> Cursor:
        """Take the cursor; raises `duckdb.InterruptException` when stopped before."""
        self._cursor = cursor
        self._check()
        return cursor

    def read(self, relation: duckdb.DuckDBPyRelation) -> None:
        """Take the rows to be given by `next_batch`."""
        self._reader = relation.to_arrow_reader(_STREAM_BATCH_ROWS)

    def next_batch(self) -> ArrowBatch | None:
        """Return the next rows, or None after the last ones; raises `duckdb.Error`."""
        self._check()
        try:
            return cast("ArrowBatch | None", next(self._reader, None))
        except OSError as error:
            raise _as_duckdb(error) from None

    def interrupt(self) -> None:
        """Stop it, whether it has started or not; from any thread."""
        self._stopped = True
        if self._stop is not None:
            self._stop()
        if self._cursor is not None:
            # The statement may have ended, and closed its cursor, a moment ago.
            with suppress(duckdb.ConnectionException):
                self._cursor.interrupt()

    def close(self) -> None:
        """Let rows and cursor go; not while another thread works on them."""
        self._stopped = True
        if self._reader is not None:
            self._reader.close()
        if self._cursor is not None:
            self._cursor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _check(self) -> None:
        if self._stopped:
            raise duckdb.InterruptException("the statement was stopped")


def select(cursor: Cursor, text: str, parameters: Mapping[str, object]) -> duckdb.DuckDBPyRelation:
    """Return what a SELECT gives, not yet run; raises `QueryError` for any other statement."""
    kinds = [statement.type for statement in cursor.extract_statements(text)]
    if kinds != [duckdb.StatementType.SELECT]:
        raise QueryError("only a single SELECT is run here; nothing was executed")
    return cursor.sql(text, params=dict(parameters) or None)


def read_rows(relation: duckdb.DuckDBPyRelation) -> ArrowTable:
    """Return all rows; raises `QueryError` for more than `ROW_BUDGET` rows or `BYTE_BUDGET`."""
    reader: Any = relation.to_arrow_reader(_BATCH_ROWS)
    batches: list[Any] = []
    rows = size = 0
    try:
        for batch in reader:
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows > ROW_BUDGET or size > BYTE_BUDGET:
                raise QueryError(
                    f"the result is larger than {ROW_BUDGET} rows or {BYTE_BUDGET >> 20} MB;"
                    " narrow it with filters, or group by fewer dimensions"
                )
            batches.append(batch)
    except OSError as error:
        raise _as_duckdb(error) from None
    return cast("ArrowTable", arrow.Table.from_batches(batches, reader.schema))


def _as_duckdb(error: OSError) -> duckdb.Error:
    """What DuckDB raises after the first batch reaches us as pyarrow's own error."""
    return duckdb.DatabaseError(str(error))
