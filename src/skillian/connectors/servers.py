"""What connectors to servers have in common: sessions, limits of time, streams and states.

Their drivers block, so that each call of one runs in a thread of its own.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar, Generic, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from skillian.connectors.arrow import arrow_schema
from skillian.connectors.base import (
    STREAM_TIMEOUT_SECONDS,
    ArrowBatch,
    Column,
    ColumnType,
    Connector,
    StateConnector,
    Table,
    table_within_budget,
)
from skillian.errors import QueryError, UnavailableError, too_slow
from skillian.tasks import BlockingCalls

T = TypeVar("T")

_GRACE_SECONDS = 10.0
"""How much longer than a statement may run its server may take to say so."""


class CannotConnectError(Exception):
    """The server refused the connection; the first argument is the driver's error."""


class StoppedError(Exception):
    """The statement was stopped before it was done."""


class Session(ABC):
    """A connection that runs one statement after another, or a single statement.

    Its methods block, except `interrupt`, which any thread may call. They raise `QueryError`, or
    the driver's errors.

    Attributes:
        seconds: How long each of its statements may run.
        columns: The columns of the statement that was started last.
        rows: Its rows, as they are read from the server.
        is_ended: Whether the server runs no statement of it any more.
        is_stopped: Whether it was interrupted, and runs nothing more.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.columns: list[Column] = []
        self.rows: Iterator[ArrowBatch] = iter(())
        self.is_ended = True
        self.is_stopped = False
        self._killer: Thread | None = None

    @property
    def is_usable(self) -> bool:
        """Whether it is connected, and free for another statement."""
        return False

    @abstractmethod
    def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without running it."""

    @abstractmethod
    def start(self, statement: str, parameters: Mapping[str, object]) -> None:
        """Start a SELECT, and set what is known of it; raises `QueryError` for anything else."""

    def batch(self) -> ArrowBatch | None:
        """The next rows of the statement, None after the last."""
        self.check()
        batch = next(self.rows, None)
        self.is_ended = self.is_ended or batch is None
        return batch

    @abstractmethod
    def kill(self) -> None:
        """Have the server stop the statement, if it can be reached."""

    @abstractmethod
    def stop(self) -> None:
        """Have the server stop a running statement, and disconnect."""

    def table(self, statement: str, parameters: Mapping[str, object]) -> ArrowBatch:
        """The rows of a SELECT, within the budget."""
        self.start(statement, parameters)
        return table_within_budget(iter(self.batch, None), arrow_schema(self.columns))

    def interrupt(self) -> None:
        """Stop the statement, whether it has started or not; returns at once."""
        self.is_stopped = True
        if self._killer is None or not self._killer.is_alive():
            self._killer = Thread(target=self.kill, name="skillian-kill", daemon=True)
            self._killer.start()

    def wait_for_kill(self) -> None:
        """Wait until `kill`, which may use the connection, has ended."""
        if self._killer is not None:
            self._killer.join()

    def check(self) -> None:
        """Raise `StoppedError` if it was interrupted."""
        if self.is_stopped:
            raise StoppedError


S = TypeVar("S", bound=Session)


class ServerConnector(ABC, Generic[S]):
    """The common part of connectors to servers.

    Args:
        name: The connection's name in the configuration; messages use it in place of the URL.
        timeout: How many seconds a statement may run.
        new_session: Returns a session whose statements may run so many seconds; its first
            statement connects.
        explain: What one of `failures` says of a statement; None if it ran too long.
    """

    keeps_catalog = False
    dialect: str
    connections: ClassVar[int] = 1_000_000
    """How many statements run at once, each on its own connection; by default, any number."""
    patience: ClassVar[float | None] = None
    """How many seconds a statement waits for a free connection; None: without a limit."""
    limits_sessions: ClassVar[bool] = False
    """Whether a session has the same limit of time for all of its statements."""
    failures: tuple[type[Exception], ...]
    """What its sessions raise, besides `QueryError`."""
    keeps_time: ClassVar[bool] = False
    """Whether the limit of time is kept here, and not by the server."""
    form: ClassVar[str]
    """The form of its URLs, for messages."""
    options: ClassVar[tuple[str, ...]] = ()
    """What a URL may have after a `?`, each with an example of its value, or `FILE`."""

    def __init__(
        self,
        name: str,
        timeout: float,
        new_session: Callable[[float], S],
        explain: Callable[[Exception], str | None],
    ) -> None:
        self._name = name
        self._timeout = timeout
        self._new_session = new_session
        self._explain = explain
        self._free = asyncio.Semaphore(self.connections)
        self._calls = BlockingCalls()
        self._idle: list[S] = []
        self._busy: set[S] = set()
        # The holder of a state also runs statements outside of it, which need connections.
        self._states = asyncio.Semaphore(self.connections // 2)

    @classmethod
    def login_of(cls, name: str, url: str, folder: Path) -> dict[str, Any]:
        """What `login` makes of the URL of connection `name`; files are relative to `folder`.

        Raises `UnavailableError` for a malformed URL, and for options that it does not take.
        """
        values = {name: value for name, _, value in (each.partition("=") for each in cls.options)}
        with suppress(KeyError, ValueError, OSError):
            parts = urlsplit(url)
            options = {
                name: str(folder / value) if values[name] == "FILE" else value
                for name, value in parse_qsl(parts.query, strict_parsing=bool(parts.query))
            }
            return cls.login(parts, options)
        after = f"; after a ? it may have {', '.join(cls.options)}" if values else ""
        raise UnavailableError(f"connection {name!r}: its URL is not {cls.form}{after}")

    @classmethod
    def login(cls, parts: SplitResult, options: Mapping[str, str]) -> dict[str, Any]:
        """The driver's arguments for a URL; by default its options.

        Raises `KeyError`, `ValueError` or `OSError` for a malformed URL.
        """
        del parts
        return dict(options)

    @abstractmethod
    async def catalog(self) -> tuple[Table, ...]:
        """All tables and views; those of the default schema first."""

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without running it."""
        return await self.read(lambda session: session.describe(statement))

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowBatch:
        """Run one SELECT with named parameters and return its rows, within the budget."""
        return await self.read(lambda session: session.table(statement, parameters))

    async def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and yield its rows in batches, without a limit on their number."""
        async with self.session(STREAM_TIMEOUT_SECONDS) as session:
            await self.work(session, lambda: session.start(statement, parameters))
            while (batch := await self.work(session, session.batch)) is not None:
                yield batch

    async def aclose(self) -> None:
        """Stop running statements and disconnect; the next statement connects again."""
        await self._calls.stop()
        sessions = (*self._idle, *self._busy)
        self._idle.clear()
        self._busy.clear()
        for session in sessions:  # all of them, before any other task runs
            session.is_stopped = True
        for session in sessions:
            await asyncio.to_thread(session.stop)

    async def read(self, read: Callable[[S], T]) -> T:
        """What `read` returns for a session."""
        async with self.session(self._timeout) as session:
            return await self.work(session, lambda: read(session))

    @asynccontextmanager
    async def session(self, seconds: float) -> AsyncGenerator[S]:
        """A session whose statements may run so long; it is kept for the next statement.

        Raises `QueryError` if no connection becomes free.
        """
        await self._wait_for_free(seconds)
        alike = seconds == self._timeout or not self.limits_sessions
        session = self._idle.pop() if alike and self._idle else self._new_session(seconds)
        session.seconds = seconds
        self._busy.add(session)
        try:
            yield session
        finally:
            try:
                if session in self._busy:  # otherwise `aclose` stops it
                    self._busy.discard(session)
                    if alike and session.is_usable:
                        self._idle.append(session)
                    else:
                        await asyncio.to_thread(session.stop)
            finally:
                self._free.release()

    async def work(self, session: S, work: Callable[[], T]) -> T:
        """What `work` returns, run in a thread.

        Raises `QueryError` for what the server refuses, and if it does not answer in time.
        """
        seconds = session.seconds if self.keeps_time else None
        try:
            async with asyncio.timeout(session.seconds + _GRACE_SECONDS):
                return await self._calls.run(work, session.interrupt, seconds)
        except TimeoutError:
            raise QueryError(
                f"connection {self._name!r}: the server does not answer; check that it runs, and"
                " the network"
            ) from None
        except StoppedError:
            raise QueryError(f"connection {self._name!r}: the statement was stopped") from None
        except self.failures as error:
            reason = self._explain(error)
            if reason is None:
                raise too_slow(session.seconds) from None
            raise QueryError(f"connection {self._name!r}: {reason}") from None

    async def _wait_for_free(self, seconds: float) -> None:
        patience = None if self.patience is None else min(seconds, self.patience)
        try:
            async with asyncio.timeout(patience):
                await self._free.acquire()
        except TimeoutError:
            raise QueryError(
                f"connection {self._name!r}: all {self.connections} of its connections are busy;"
                " try again later"
            ) from None


def decoded(text: str | None) -> str:
    """A part of a URL without its percent-encoding; raises `ValueError` if it is missing."""
    if not text:
        raise ValueError
    return unquote(text)


class StateSession(Session):
    """A session that can hold the state of a database for several statements."""

    @abstractmethod
    def begin(self) -> None:
        """Start a transaction in which all statements read the state of now."""

    @abstractmethod
    def end_statement(self) -> None:
        """Have the server stop a running statement, and go on with the transaction."""


H = TypeVar("H", bound=StateSession)


class StateServerConnector(ServerConnector[H]):
    """The common part of connectors to servers whose transactions hold a state."""

    @asynccontextmanager
    async def one_state(self) -> AsyncGenerator[Connector]:
        """A connector whose streams run in one transaction, one after another."""
        lock = asyncio.Lock()
        async with self._states, self.session(STREAM_TIMEOUT_SECONDS) as session:

            async def stream(
                statement: str, parameters: Mapping[str, object]
            ) -> AsyncGenerator[ArrowBatch]:
                async with lock:
                    try:
                        await self.work(session, lambda: session.start(statement, parameters))
                        while (batch := await self.work(session, session.batch)) is not None:
                            yield batch
                    finally:
                        await self.work(session, session.end_statement)

            await self.work(session, session.begin)
            yield StateConnector(self, stream)
