"""Liveness: runs whose process has died are put back into their queues.

Each process that runs runs holds a lock under its executor id from before its first run until its
end (`beacon.py`); nothing is timed and nothing is renewed. `Liveness` looks for runs whose executor
holds no lock and has DBOS put them back. Being wrong does no harm: a run has one owner, and whoever
lost it is stopped by its next record.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable
from typing import TypeVar

import psycopg
from dbos._dbos import _get_dbos_instance  # pyright: ignore[reportPrivateUsage] - see _recover
from sqlalchemy.exc import SQLAlchemyError

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.logs import logger
from tinyagent.durable.beacon import beacon

# A starved process may take its time between a claim and the first step of the run.
_ORPHAN_SECONDS = 30.0
_ORPHAN_LOOKS_SECONDS = 10.0

K = TypeVar("K")


class Liveness:
    """Holds the lock of this process, and takes care of the runs of those that hold none.

    Call `start` before DBOS is launched and `watch` after it; `stop` before it is destroyed, and
    `close` after that.

    Args:
        url: the runs' database.
        executor_id: what no other process has ever been called.
        interval: seconds between two looks.
    """

    def __init__(self, url: str, executor_id: str, *, interval: float = 1.0) -> None:
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
            ConfigurationError: the database cannot be reached, or its folder not be written.
        """
        try:
            self._beacon.hold()
        except (psycopg.Error, OSError) as error:
            raise ConfigurationError(
                f"the database of the runs cannot be opened ({type(error).__name__}); check its"
                " URL, and that it is running"
            ) from error

    def watch(self) -> None:
        """Look after the dead until `close`, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; before DBOS, which it asks, is destroyed."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()

    def close(self) -> None:
        """Stop looking, and give the lock back."""
        self.stop()
        self._beacon.close()

    def look(self) -> None:
        """Look once."""
        for executor in self._dead.lasting(self._beacon.dead()):
            logger.warning("executor %s has died; its runs go on elsewhere", executor)
            _recover(executor)
        if time.monotonic() > self._looked_at_owned + _ORPHAN_LOOKS_SECONDS:
            self._looked_at_owned = time.monotonic()
            self._look_after_own()

    def _look_after_own(self) -> None:
        """Put back what this process has claimed without learning of it.

        The server may have stopped between the commit of a claim and its answer.
        """
        active = set(_get_dbos_instance()._active_workflows_set.activeList())  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        idle = {claim for claim in self._beacon.owned() if claim[0] not in active}
        for run_id, _ in self._orphans.lasting(idle):
            logger.warning("run %s was claimed but is not running; it goes back", run_id)
            put_back([run_id], self._executor_id)

    def _watch(self) -> None:
        while not self._stopped.wait(self._interval):
            try:
                self._beacon.hold()
                self.look()
            except (psycopg.Error, sqlite3.Error, SQLAlchemyError, OSError) as error:
                logger.warning("the runs' database does not answer (%s)", type(error).__name__)
                # What was seen before may have changed unseen.
                self._dead.forget()
                self._orphans.forget()


def put_back(run_ids: Iterable[str], executor_id: str) -> None:
    """Put runs that `executor_id` has under way back into their queues."""
    database = _get_dbos_instance()._sys_db  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    for run_id in run_ids:
        database.reenqueue_for_recovery(run_id, [executor_id], "_dbos_internal_queue")


class _Sightings(dict[K, float]):
    """Since when something has been seen without a break."""

    def __init__(self, grace_seconds: float) -> None:
        super().__init__()
        self._grace_seconds = grace_seconds

    def lasting(self, seen: set[K]) -> list[K]:
        """What of it has lasted longer than the grace; it is told once."""
        now = time.monotonic()
        for gone in self.keys() - seen:
            del self[gone]
        lasting = [key for key in seen if now - self.setdefault(key, now) >= self._grace_seconds]
        for key in lasting:
            del self[key]
        return lasting

    def forget(self) -> None:
        self.clear()


def _recover(executor_id: str) -> None:
    # The open-source edition has recovery for its own server only, under this private name.
    _get_dbos_instance()._recover_pending_workflows([executor_id])  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
