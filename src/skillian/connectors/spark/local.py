"""Spark in this process, over a folder of Parquet tables: for data too large for DuckDB.

Java must be installed. Spark listens only on the loopback interface, and only once it is used.
"""

import asyncio
import itertools
import logging
import os
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, Self, TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped] # pyright: ignore[reportMissingTypeStubs]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from skillian.connectors import limits
from skillian.connectors.base import ArrowBatch, ArrowTable, ColumnType, Table
from skillian.connectors.scratch import scratch
from skillian.connectors.spark.rows import (
    TIMEOUT_SECONDS,
    columns,
    plain,
    select,
    table_of,
    written,
)
from skillian.connectors.threads import BlockingCalls
from skillian.errors import QueryError, UnavailableError

T = TypeVar("T")

_URL = re.compile(r"spark://(?P<master>local(?:\[(?:\d+|\*)\])?)/(?P<path>.+)")
_LOOPBACK = "127.0.0.1"
_SETTINGS = {
    "spark.driver.host": _LOOPBACK,
    "spark.driver.bindAddress": _LOOPBACK,
    "spark.log.level": "OFF",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.ansi.enabled": "true",
    # Otherwise a product of more than 38 digits loses its last ones.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
}
_NOT_IN_NAMES = re.compile(r"\W", re.ASCII)
_FAILURES = (PySparkException, Py4JError, OSError)
_numbers = itertools.count(1)
_starting = Lock()


class SparkConnector:
    """A `Connector` to the Parquet files and folders of one folder, each a table of that name.

    Characters other than letters, digits and `_` become `_` in a table's name.

    Args:
        master: How Spark runs, such as `local[2]`.
        folder: The folder of the tables.
        name: The connection's name in the configuration; messages use it in place of the path.
        timeout: How many seconds a statement may run.
    """

    dialect = "spark"
    keeps_catalog = False

    def __init__(
        self, master: str, folder: Path, name: str, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        self._master = master
        self._folder = folder
        self._name = name
        self._timeout = timeout
        self._lock = Lock()
        self._session: Any = None
        self._schema = f"skillian_{next(_numbers)}"
        self._groups = (f"{self._schema}_{number}" for number in itertools.count())
        self._calls = BlockingCalls()

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """The connector for `spark://local[2]/tables`, with two slashes if absolute.

        Raises `UnavailableError` for a malformed URL.
        """
        match = _URL.fullmatch(url)
        if match is None:
            raise UnavailableError(
                f"connection {name!r}: its URL is not spark://local[2]/folder-of-parquet-tables"
            )
        return cls(match["master"], folder / match["path"], name)

    async def catalog(self) -> tuple[Table, ...]:
        """All tables."""

        def read(session: Any) -> tuple[Table, ...]:
            return tuple(
                table_of(self._schema, table.name, session.table(f"{self._schema}.{table.name}"))
                for table in session.catalog.listTables(self._schema)
            )

        return await self._work(read)

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without running it."""
        return await self._work(lambda session: columns(select(session, statement, {})))

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters and return its rows, within the budget."""

        def read(session: Any) -> ArrowTable:
            frame = select(session, statement, parameters).limit(limits.ROW_BUDGET + 1)
            with TemporaryDirectory(dir=scratch()) as folder:
                return written(frame, Path(folder)).table()

        return await self._work(read)

    async def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT to its end, into a temporary folder, and yield its rows in batches."""
        with TemporaryDirectory(dir=scratch(), ignore_cleanup_errors=True) as folder:
            rows = await self._work(
                lambda session: written(select(session, statement, parameters), Path(folder)),
                limits.STREAM_TIMEOUT_SECONDS,
            )
            while (batch := await asyncio.to_thread(rows.batch)) is not None:
                yield batch

    async def aclose(self) -> None:
        """Stop running statements and drop the tables; Spark itself ends with the process."""
        await self._calls.stop()
        session, self._session = self._session, None
        if session is not None:
            with suppress(*_FAILURES):
                await asyncio.to_thread(session.sql, f"DROP DATABASE {self._schema} CASCADE")

    async def _work(self, work: Callable[[Any], T], seconds: float | None = None) -> T:
        group = next(self._groups)
        try:
            return await self._calls.run(
                lambda: work(self._opened(group)),
                lambda: self._interrupt(group),
                self._timeout if seconds is None else seconds,
            )
        except _FAILURES as error:
            reason = plain(error) or (
                "Spark has ended or cannot start; check that Java 17 or later is installed"
            )
            raise QueryError(f"connection {self._name!r}: {reason}") from None

    def _opened(self, group: str) -> Any:
        with self._lock:
            if self._session is None:
                self._session = self._open()
            self._session.sparkContext.setJobGroup(group, group, interruptOnCancel=True)
            return self._session

    def _open(self) -> Any:
        try:
            paths = sorted(self._folder.iterdir())
        except OSError:
            raise QueryError(
                f"connection {self._name!r}: its folder of tables cannot be read; check that it"
                " is there"
            ) from None
        session = _spark(self._master).newSession()
        for name, value in _SETTINGS.items():
            if name.startswith("spark.sql."):
                session.conf.set(name, value)
        session.sql(f"DROP DATABASE IF EXISTS {self._schema} CASCADE")
        session.sql(f"CREATE DATABASE {self._schema}")
        for path in paths:
            if path.suffix == ".parquet" or (path.is_dir() and path.name[0] not in "._"):
                name = _NOT_IN_NAMES.sub("_", path.stem)
                session.catalog.createTable(f"{self._schema}.{name}", str(path), "parquet")
        session.sql(f"USE {self._schema}")
        return session

    def _interrupt(self, group: str) -> None:
        if self._session is not None:
            with suppress(*_FAILURES):
                self._session.sparkContext.cancelJobGroup(group)


def _spark(master: str) -> Any:
    """The Spark of this process; the first call starts it."""
    with _starting:
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
        builder: Any = SparkSession.builder
        settings = _SETTINGS | {"spark.sql.warehouse.dir": _warehouse().name}
        return builder.master(master).config(map=settings).getOrCreate()


@cache
def _warehouse() -> TemporaryDirectory[str]:
    """A folder that Spark requires for its own tables; it stays empty."""
    return TemporaryDirectory(dir=scratch(), ignore_cleanup_errors=True)
