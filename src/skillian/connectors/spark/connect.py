"""A remote Spark, by Spark Connect: the tables of one database of a cluster or a warehouse."""

import asyncio
import itertools
import logging
import re
import warnings
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Self, TypeVar

from pyspark.errors import PySparkException

from skillian.connectors import base
from skillian.connectors.arrow import arrow_schema
from skillian.connectors.base import ArrowBatch, ArrowTable, ColumnType, Table
from skillian.connectors.spark.rows import (
    TIMEOUT_SECONDS,
    columns,
    plain,
    renamed,
    select,
    table_of,
    typed,
)
from skillian.errors import QueryError, UnavailableError, missing_extra
from skillian.tasks import BlockingCalls

T = TypeVar("T")

_TRIES = 5

_URL = re.compile(r"sc://[^/\s]+(?:/(?:;[^;=\s]+=[^;\s]*)*)?")
_DATABASE = re.compile(r";database=([^;]*)")
_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    # Otherwise a product of more than 38 digits loses its last ones.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.session.timeZone": "UTC",
}
_FAILURES = (PySparkException, OSError)
_numbers = itertools.count(1)


class SparkConnectConnector:
    """A `Connector` to the tables of one database behind a Spark Connect server.

    Args:
        url: The server's URL in Spark's form; it may contain a token.
        database: The database of the tables; None means the server's default.
        name: The connection's name in the configuration; messages use it in place of the URL.
        timeout: How many seconds a statement may run.
    """

    dialect = "spark"
    keeps_catalog = False

    def __init__(
        self, url: str, database: str | None, name: str, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        self._url = url
        self._database = database
        self._name = name
        self._timeout = timeout
        self._lock = Lock()
        self._session: Any = None
        self._calls = BlockingCalls()
        self._tags = (f"skillian-{next(_numbers)}-{number}" for number in itertools.count())

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:  # noqa: ARG003 - the URL has no paths
        """The connector for `sc://host:15002/;use_ssl=true;token=…;database=…`.

        Raises `UnavailableError` for a malformed URL, or if gRPC is not installed.
        """
        if _URL.fullmatch(url) is None:
            raise UnavailableError(
                f"connection {name!r}: its URL is not sc://host:15002/;database=name, with other"
                " parameters of Spark Connect in the same form"
            )
        if find_spec("grpc") is None:
            reason = missing_extra("Spark Connect", "spark")
            raise UnavailableError(f"connection {name!r}: {reason}")
        match = _DATABASE.search(url)
        return cls(_DATABASE.sub("", url), match[1] if match else None, name)

    async def catalog(self) -> tuple[Table, ...]:
        """All tables of the database."""

        def read(session: Any) -> tuple[Table, ...]:
            database = session.catalog.currentDatabase()
            return tuple(
                table_of(database, table.name, session.table(_quoted(table.name)))
                for table in session.catalog.listTables()
            )

        return await self._work(read)

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without running it."""
        return await self._work(lambda session: columns(select(session, statement, {})))

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters and return its rows, within the budget."""

        def read(session: Any) -> ArrowTable:
            frame = select(session, statement, parameters).limit(base.ROW_BUDGET + 1)
            schema, rows = _rows(frame)
            return base.table_within_budget(rows, schema)

        return await self._work(read)

    async def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and yield its rows in batches, as the server sends them.

        The server holds one partition of the result in memory at a time.
        """
        tag = next(self._tags)
        _, rows = await self._work(
            lambda session: _rows(select(session, statement, parameters)), tag
        )
        try:
            while (batch := await self._work(lambda _: next(rows, None), tag)) is not None:
                yield batch
        finally:
            await asyncio.to_thread(self._interrupt, tag)

    async def aclose(self) -> None:
        """End the session on the server; its running statements stop."""
        session, self._session = self._session, None
        if session is not None:
            with suppress(*_FAILURES):
                await asyncio.to_thread(session.interruptAll)
            with suppress(*_FAILURES):
                await asyncio.to_thread(session.stop)

    async def _work(self, work: Callable[[Any], T], tag: str | None = None) -> T:
        """What `work` returns; a statement that it starts carries the tag."""
        seconds = self._timeout if tag is None else base.STREAM_TIMEOUT_SECONDS
        named = tag or next(self._tags)
        try:
            return await self._calls.run(
                lambda: work(self._opened(named)), lambda: self._interrupt(named), seconds
            )
        except _FAILURES as error:
            reason = plain(error) or "the server does not answer; check its address and token"
            raise QueryError(f"connection {self._name!r}: {reason}") from None

    def _opened(self, tag: str) -> Any:
        with self._lock:
            if self._session is None:
                self._session = self._open()
            self._session.addTag(tag)  # for this thread
            return self._session

    def _open(self) -> Any:
        # Spark would write statements, with their values, to standard error.
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
        with warnings.catch_warnings():
            # From pandas, which is not used here.
            warnings.simplefilter("ignore", FutureWarning)
            from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415
            from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415
        builder: Any = SparkSession.builder
        session = builder.remote(self._url).create()
        session.client.set_retry_policies([DefaultPolicy(max_retries=_TRIES)])
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        if self._database is not None:
            session.catalog.setCurrentDatabase(self._database)
        return session

    def _interrupt(self, tag: str) -> None:
        session = self._session
        if session is not None:
            with suppress(*_FAILURES):
                session.interruptTag(tag)


def _rows(frame: Any) -> tuple[Any, Iterator[ArrowBatch]]:
    """The `pyarrow.Schema` of a data frame, and its rows as they arrive."""
    kinds, numbered = renamed(frame)
    schema = arrow_schema(kinds.items())
    return schema, typed(_batches(numbered), schema)


def _batches(frame: Any) -> Iterator[Any]:
    # The public methods either hold the whole result, or make Python objects row by row.
    session = frame.sparkSession
    query = frame._plan.to_proto(session.client)  # noqa: SLF001
    for table in session.client.to_table_as_iterator(query, {}):
        if hasattr(table, "to_batches"):  # the first item is the schema
            yield from table.to_batches()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
