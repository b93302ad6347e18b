"""Liveness: runs whose process has died are put back into their queues.

Each worker process holds a lock under its executor id from before its first run until its end
(`beacon.py`); nothing is timed and nothing is renewed. `Liveness` puts back the runs whose executor
holds no lock. A wrong guess does no harm: a run has one owner, and an execution that has lost its
run is stopped by its next record.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Collection
from typing import TypeVar

import psycopg

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.logs import logger
from tinyagent.durable.beacon import beacon

# A starved process may take its time between a claim and the first step of the run.
_ORPHAN_SECONDS = 30.0
_ORPHAN_LOOKS_SECONDS = 10.0

K = TypeVar("K")


class Liveness:
    """Holds the lock of this process, and puts back the runs of processes that hold none.

    Call `start` before DBOS is launched and `watch` after it; `stop` before it is destroyed, and
    `close` after that.

    Args:
        url: The runs' database.
        executor_id: An id that no other process has ever had.
        executing: Returns the runs that this process executes now.
        interval: Seconds between two looks.
    """

    def __init__(
        self,
        url: str,
        executor_id: str,
        executing: Callable[[], Collection[str]] = tuple,
        *,
        interval: float = 1.0,
    ) -> None:
        self._executing = executing
        self._beacon = beacon(url, executor_id)
        self._executor_id = executor_id
        self._interval = interval
        self._stopped = threading.Event()
        self._dead: _Sightings[str] = _Sightings(self._beacon.grace_seconds)
        self._orphans: _Sightings[tuple[str, str]] = _Sightings(_ORPHAN_SECONDS)
        self._looked_at_owned = 0.0
        self._thread = threading.Thread(target=self._watch, name="liveness", daemon=True)

    def start(self) -> None:
        """Take the lock.

        Raises:
            ConfigurationError: The database cannot be reached, or its folder cannot be written to.
        """
        try:
            self._beacon.hold()
        except (psycopg.Error, OSError) as error:
            raise ConfigurationError(
                f"the database of the runs cannot be opened ({type(error).__name__}); check its"
                " URL, and that it is running"
            ) from error

    def watch(self) -> None:
        """Look for dead workers until `stop`, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop looking."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()

    def close(self) -> None:
        """Stop looking, and release the lock."""
        self.stop()
        self._beacon.close()

    def look(self) -> None:
        """Look once."""
        for executor in self._dead.lasting(self._beacon.dead()):
            logger.warning("executor %s has died; its runs continue elsewhere", executor)
            self.put_back([run_id for run_id, _ in self._beacon.owned(executor)], executor)
        if time.monotonic() > self._looked_at_owned + _ORPHAN_LOOKS_SECONDS:
            self._looked_at_owned = time.monotonic()
            self._look_after_own()

    def put_back(self, run_ids: Collection[str], executor_id: str | None = None) -> None:
        """Put running runs back into their queues.

        Args:
            run_ids: The runs.
            executor_id: Whose they are; by default, those of this process.

        Raises:
            psycopg.Error: The database does not answer.
            sqlite3.Error: The database does not answer.
        """
        self._beacon.put_back(run_ids, executor_id or self._executor_id)

    def _look_after_own(self) -> None:
        """Put back what this process has claimed without learning of it.

        The server may have stopped between the commit of a claim and its answer.
        """
        executing = self._executing()
        claims = self._beacon.owned(self._executor_id)
        idle = {claim for claim in claims if claim[0] not in executing}
        for run_id, _ in self._orphans.lasting(idle):
            logger.warning("run %s was claimed but is not running; it goes back", run_id)
            self.put_back([run_id])

    def _watch(self) -> None:
        while not self._stopped.wait(self._interval):
            try:
                self._beacon.hold()
                self.look()
            except (psycopg.Error, sqlite3.Error, OSError) as error:
                logger.warning("the runs' database does not answer (%s)", type(error).__name__)
                # What was seen before may have changed in the meantime.
                self._dead.forget()
                self._orphans.forget()


class _Sightings(dict[K, float]):
    """Since when each thing has been seen without interruption."""

    def __init__(self, grace_seconds: float) -> None:
        super().__init__()
        self._grace_seconds = grace_seconds

    def lasting(self, seen: set[K]) -> list[K]:
        """The things seen for longer than the grace period; each is returned once."""
        now = time.monotonic()
        for gone in self.keys() - seen:
            del self[gone]
        lasting = [key for key in seen if now - self.setdefault(key, now) >= self._grace_seconds]
        for key in lasting:
            del self[key]
        return lasting

    def forget(self) -> None:
        self.clear()
