"""DurableRuns: runs of agents that survive the process they run in."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import psycopg
from dbos import DBOS, DBOSClient, DBOSConfig
from dbos import error as dbos_error
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.logs import logger
from tinyagent.durable.database import is_sqlite, open_engine
from tinyagent.durable.liveness import Liveness
from tinyagent.durable.queues import VERSION, QueueOptions
from tinyagent.durable.records import JSONSerializer
from tinyagent.durable.store import NAME, RunStore
from tinyagent.durable.workflow import AnyAgent, Executions, Listener, serve

_TEND_SECONDS = 5.0
_CANCELLED = (dbos_error.DBOSAwaitedWorkflowCancelledError, dbos_error.DBOSWorkflowCancelledError)


class DurableRuns(RunStore):
    """Runs of agents that survive the process they run in; an async context manager.

    With `agents`, their runs are executed on this event loop, next to any number of other
    processes on the same database; a process that dies leaves its runs to those. Without agents,
    runs are started, read and answered here, and executed elsewhere.

    Args:
        database: URL of a SQLite file (`sqlite:///runs.sqlite`) or of a PostgreSQL database.
        agents: The agents of the runs, by name.
        deps: What an agent's tools receive as `context.deps`, by the agent's name; each process
            that executes runs passes its own, as they are not stored.
        queues: The queues to take runs from; a mapping holds the options of each.
        listener: Called with the events of the runs executed here.
        drain_seconds: How long, at the end, to wait for calls in progress.
        dbos_options: More of DBOS's configuration, such as `sys_db_pool_size`.

    Raises:
        ConfigurationError: The database cannot be opened, `deps` names an agent that is not
            given, or this process executes runs already.
    """

    def __init__(  # noqa: PLR0913 - what a process needs to execute runs
        self,
        database: str = "sqlite:///tinyagent-runs.sqlite",
        agents: Mapping[str, AnyAgent] | None = None,
        *,
        deps: Mapping[str, Any] | None = None,
        queues: Sequence[str] | Mapping[str, QueueOptions] = ("default",),
        listener: Listener | None = None,
        drain_seconds: float = 30.0,
        dbos_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.executor_id = uuid.uuid4().hex
        self._url = _checked(database)
        self._engine = open_engine(self._url)
        self._agents = agents
        self._deps = _deps_of(agents or {}, deps or {})
        self._queues = queues
        self._listener = listener
        self._drain_seconds = drain_seconds
        self._options = dict(dbos_options or {})
        self._executions: Executions | None = None

    @property
    def in_flight(self) -> int:
        """How many calls of models and tools are in progress in this process."""
        return 0 if self._executions is None else self._executions.gate.in_progress

    async def __aenter__(self) -> Self:
        """Open the database, with its tables; take runs, if there are agents."""
        _prepare_file(self._url)
        if self._agents is not None:
            await self._launch(self._agents)
        else:
            await asyncio.to_thread(self._migrate)
            self._connect()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the calls in progress end, and leave the runs that are not over to others."""
        if self._executions is not None:
            try:
                await asyncio.wait_for(self.drain(), self._drain_seconds)
            except TimeoutError:
                logger.warning("calls are still in progress after %g s", self._drain_seconds)
            await self._shut_down(self._executions)
        await asyncio.to_thread(self._client.destroy)
        if self._engine is not None:
            await asyncio.to_thread(self._engine.dispose)

    async def work(self, stop: asyncio.Event) -> None:
        """Take runs until `stop` is set; leave the `async with` block then, which drains.

        Meanwhile, runs that were answered while they were being suspended are woken.
        """
        while not stop.is_set():
            try:
                await self.tend()
            except SQLAlchemyError as error:  # runs in progress wait for the database
                logger.warning("the runs' database does not answer (%s)", type(error).__name__)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _TEND_SECONDS)

    async def drain(self) -> None:
        """Take no more runs, begin no call, and wait until the calls in progress have ended."""
        if self._executions is not None:
            # Not documented by DBOS; tests/tinyagent/durable/test_dbos.py checks it.
            for stop in self._dbos.background_thread_stop_events:
                stop.set()
            self._executions.gate.close()
            await self._executions.gate.idle()

    async def _launch(self, agents: Mapping[str, AnyAgent]) -> None:
        self._liveness = Liveness(self._url, self.executor_id, self._executing)
        await asyncio.to_thread(self._liveness.start)
        self._dbos = DBOS(config=self._config())
        logging.getLogger("dbos").addFilter(_is_unexpected)
        DBOS.listen_queues(list(self._queues))
        # On this thread, so that DBOS runs the agents on its loop. Nothing is awaited before
        # everything is ready, because runs may be waiting.
        DBOS.launch()
        self._connect()
        self._executions = Executions(agents, self._client, self._listener, self._deps)
        serve(self._executions)
        for name in self._queues:
            if isinstance(self._queues, Mapping):
                await self._queues[name].register(name)
            else:
                await QueueOptions().register(name, overwrite=False)
        self._liveness.watch()

    def _executing(self) -> set[str]:
        return set() if self._executions is None else self._executions.run_ids()

    def _config(self) -> DBOSConfig:
        config: DBOSConfig = {
            "name": NAME,
            "application_version": VERSION,
            "executor_id": self.executor_id,
            "system_database_url": self._url,
            "serializer": JSONSerializer(),
            "system_database_engine": self._engine,
            "log_level": "WARNING",
        }
        return cast("DBOSConfig", {**config, **self._options})

    async def _shut_down(self, executions: Executions) -> None:
        left = await executions.stop()
        try:
            await asyncio.to_thread(self._liveness.put_back, left)
        except (psycopg.Error, sqlite3.Error, OSError) as fault:
            logger.warning("runs are left for others to find (%s)", type(fault).__name__)
        serve(None)
        await asyncio.to_thread(self._liveness.stop)
        await asyncio.to_thread(DBOS.destroy)
        # DBOS has made its own thread pool the default of this loop, and has now shut it down.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
        await asyncio.to_thread(self._liveness.close)

    def _migrate(self) -> None:
        try:
            DBOS.migrate(self._url)
        except SQLAlchemyError as fault:
            raise ConfigurationError(
                f"the database of the runs cannot be opened ({type(fault).__name__}); check its"
                " URL, and that it is running"
            ) from fault

    def _connect(self) -> None:
        client = DBOSClient(
            system_database_url=self._url,
            system_database_engine=self._engine,
            retry_connection_errors=self._agents is not None,
            serializer=JSONSerializer(),
            application_name=NAME,
        )
        super().__init__(client, is_sqlite=is_sqlite(self._url))


def _deps_of(agents: Mapping[str, AnyAgent], deps: Mapping[str, Any]) -> Mapping[str, Any]:
    unknown = sorted(deps.keys() - agents.keys())
    if unknown:
        known = ", ".join(sorted(agents)) or "none"
        raise ConfigurationError(f"deps: there is no agent {unknown[0]!r}, only: {known}")
    return deps


def _is_unexpected(record: logging.LogRecord) -> bool:
    """Whether DBOS logs something other than the traceback of a run that was cancelled."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, _CANCELLED)


def _checked(database: str) -> str:
    try:
        backend = make_url(database).get_backend_name()
    except ArgumentError:
        backend = ""
    if backend not in ("sqlite", "postgresql"):
        raise ConfigurationError(
            "the database of durable runs must be a URL of SQLite or PostgreSQL: write"
            " sqlite:///runs.sqlite or postgresql://user@host/name"
        )
    return database


def _file(url: str) -> Path | None:
    parsed = make_url(url)
    return Path(parsed.database or "") if parsed.get_backend_name() == "sqlite" else None


def _prepare_file(url: str) -> None:
    """Make readers and the writer of a SQLite file not wait for each other."""
    file = _file(url)
    if file is None:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(file, timeout=30)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        finally:
            connection.close()
    except (OSError, sqlite3.Error) as fault:
        raise ConfigurationError(f"{file.name} cannot be opened: {fault}") from fault
