"""A remote Spark, by Spark Connect: the tables of one database of a cluster or a warehouse."""

import asyncio
import itertools
import logging
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Self

from pyspark.errors import AnalysisException, PySparkException

from skillian.connectors.arrow import arrow_schema
from skillian.connectors.base import (
    ArrowBatch,
    ColumnType,
    Table,
    UnreadableColumns,
)
from skillian.connectors.servers import ServerConnector, Session
from skillian.connectors.spark.rows import (
    TIMEOUT_SECONDS,
    columns,
    plain,
    renamed,
    select,
    table_of,
    typed,
)
from skillian.errors import UnavailableError, missing_extra

# gRPC would write its log to standard error; its errors say the same.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
_DESCRIBED_AT_ONCE = 8
_TRIES = 5
_LONGEST_WAIT_MS = 1000

_URL = re.compile(r"sc://[^/\s]+(?:/(?:;[^;=\s]+=[^;\s]*)*)?")
_DATABASE = re.compile(r";database=([^;]*)")
_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    # Otherwise a product of more than 38 digits loses its last ones.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.session.timeZone": "UTC",
}
_FAILURES = (PySparkException, OSError)
_numbers = itertools.count(1)


class SparkConnectConnector(ServerConnector["SparkStatement"]):
    """A `Connector` to the tables of one database behind a Spark Connect server.

    Args:
        url: The server's URL in Spark's form; it may contain a token.
        database: The database of the tables; None means the server's default.
        name: The connection's name in the configuration; messages use it in place of the URL.
        timeout: How many seconds a statement may run.
    """

    dialect = "spark"
    failures = _FAILURES
    keeps_time = True

    def __init__(
        self, url: str, database: str | None, name: str, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        super().__init__(
            name,
            timeout,
            lambda seconds: SparkStatement(self._opened, next(self._tags), seconds),
            _explained,
        )
        self._url = url
        self._database = database
        self._lock = Lock()
        self._session: Any = None
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

        def read(statement: SparkStatement) -> tuple[Table, ...]:
            session = statement.session()
            database = session.catalog.currentDatabase()
            names = [table.name for table in session.catalog.listTables()]
            with ThreadPoolExecutor(_DESCRIBED_AT_ONCE) as threads:
                return tuple(threads.map(partial(_table, session, database), names))

        return await self.read(read)

    async def aclose(self) -> None:
        """End the session on the server; its running statements stop."""
        await super().aclose()
        session, self._session = self._session, None
        if session is not None:
            with suppress(*_FAILURES):
                await asyncio.to_thread(session.stop)

    def _opened(self, tag: str) -> Any:
        with self._lock:
            if self._session is None:
                self._session = self._open()
            self._session.addTag(tag)  # for this thread
            return self._session

    def _open(self) -> Any:
        # Spark would write statements, with their values, to standard error.
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")  # the error says it
        warnings.filterwarnings("ignore", "The SQL config .* has been deprecated")
        with warnings.catch_warnings():
            # From pandas, which is not used here.
            warnings.simplefilter("ignore", FutureWarning)
            from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415
            from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415
        builder: Any = SparkSession.builder
        session = builder.remote(self._url).create()
        try:
            policy = DefaultPolicy(max_retries=_TRIES, max_backoff=_LONGEST_WAIT_MS)
            session.client.set_retry_policies([policy])
            for name, value in _SETTINGS.items():
                session.conf.set(name, value)
            if self._database is not None:
                session.catalog.setCurrentDatabase(self._database)
        except BaseException:
            session.client.close()  # an open client asks the server again when the program ends
            raise
        return session


class SparkStatement(Session):
    """A SELECT on a server, which can be stopped by its tag.

    The server holds one partition of the result in memory at a time.
    """

    def __init__(self, opened: Callable[[str], Any], tag: str, seconds: float) -> None:
        super().__init__(seconds)
        self._opened = opened
        self._tag = tag
        self._known: Any = None

    def session(self) -> Any:
        """The session on the server; what this thread starts there carries the tag."""
        self._known = self._opened(self._tag)
        return self._known

    def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without running it."""
        return columns(select(self.session(), statement, {}))

    def start(self, statement: str, parameters: Mapping[str, object]) -> None:
        """Start a SELECT; raises `QueryError` for any other statement, and Spark's errors."""
        kinds, numbered = renamed(select(self.session(), statement, parameters))
        self.columns = [*kinds.items()]
        self.rows = typed(_batches(numbered), arrow_schema(self.columns))
        self.is_ended = False

    def batch(self) -> ArrowBatch | None:
        """The next rows, as the server sends them, None after the last."""
        self.session()
        return super().batch()

    def kill(self) -> None:
        """Have the server stop the statement, if it can be reached."""
        if self._known is not None:
            with suppress(*_FAILURES):
                self._known.interruptTag(self._tag)

    def stop(self) -> None:
        """Have the server stop it, if it still runs."""
        if not self.is_ended:
            self.kill()
            self.is_ended = True


def _table(session: Any, database: str, name: str) -> Table:
    """A table or view; each access to the columns of one that cannot be read is an error."""
    try:
        return table_of(database, name, session.table(_quoted(name)))
    except AnalysisException as error:
        reason = f"{name!r} cannot be read: {plain(error)}"
        return Table(database, name, UnreadableColumns(reason), {}, "spark")


def _explained(error: Exception) -> str:
    return plain(error) or "the server does not answer; check its address, token and use_ssl"


def _batches(frame: Any) -> Iterator[Any]:
    # The public methods either hold the whole result, or make Python objects row by row.
    session = frame.sparkSession
    query = frame._plan.to_proto(session.client)  # noqa: SLF001
    for table in session.client.to_table_as_iterator(query, {}):
        if hasattr(table, "to_batches"):  # the first item is the schema
            yield from table.to_batches()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
