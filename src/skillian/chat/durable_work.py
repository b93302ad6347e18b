"""DurableWork: what survives the process that works on it (extra `durable`).

Work is enqueued beside the sessions; whichever process takes it works on it, and where that one
dies another takes it up.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from contextvars import Context
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError

from skillian.errors import UnavailableError, how_to_install
from skillian.storage import StorageError, StoreUnavailable
from tinyagent import Event, Memory, RunFinished, RunResult, TinyAgentError, Usage

if TYPE_CHECKING:
    from tinyagent.durable import DurableRuns, QueueOptions

logger = logging.getLogger("skillian")

KEPT = timedelta(hours=1)
"""How long work that has ended is remembered, with its journal."""

_POLL_SECONDS = 0.1
_DRAIN_SECONDS = 10.0
_TEND_SECONDS = 5.0
_FORGET_SECONDS = 300.0

Work = Callable[[str], Awaitable[RunResult[Any]]]
"""Goes through a task from its beginning; what it does once only, its run's journal knows."""

T = TypeVar("T")


class DurableWork:
    """The durable work of a service; a context manager, entered once all kinds are added.

    Args:
        url: the session store's; the work is in the same PostgreSQL, or in a file beside it.

    Raises:
        UnavailableError: the extra `durable` is not installed.
    """

    def __init__(self, url: str) -> None:
        if find_spec("dbos") is None:
            raise UnavailableError(
                "SKILLIAN_DURABLE needs the package 'dbos', which is not installed;"
                f" {how_to_install('durable')}"
            )
        self._url = runs_url(url)
        self._kinds: dict[str, _Kind] = {}
        self._queues: dict[str, QueueOptions] = {}
        self._tended: list[Callable[[], Awaitable[object]]] = [self._wake, self._forget]
        self._forgotten = -math.inf
        self._ending = asyncio.Event()

    def add(
        self,
        kind: str,
        work: Work,
        *,
        at_once: int,
        per_owner: int | None = None,
        tend: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """Work on tasks of a kind.

        Args:
            kind: names it, and the queue that it is taken from.
            work: does it.
            at_once: how much of it in one process.
            per_owner: how much of it for one owner, in all processes; owners take turns.
            tend: is called every few seconds.
        """
        from tinyagent.durable import QueueOptions  # noqa: PLC0415 - an extra

        self._kinds[kind] = _Kind(work)
        self._queues[kind] = QueueOptions(
            per_worker=at_once, per_key=per_owner, poll_seconds=_POLL_SECONDS
        )
        if tend is not None:
            self._tended.append(tend)

    async def __aenter__(self) -> Self:
        """Take work, that of processes that have died too."""
        from tinyagent.durable import DurableRuns  # noqa: PLC0415 - an extra

        if self._url.startswith("sqlite"):
            _make_private(Path(self._url.removeprefix("sqlite:///")))
        self._worker: DurableRuns = DurableRuns(
            self._url, self._kinds, queues=self._queues, drain_seconds=_DRAIN_SECONDS
        )
        await self._worker.__aenter__()
        # What is under way waits for a database that is away; who asks of it is told.
        self.runs: DurableRuns = DurableRuns(self._url)
        await self.runs.__aenter__()
        self._tending = asyncio.create_task(self._tend())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the calls under way end, and leave the work that is not over to others."""
        self._ending.set()  # to cancel it would leave connections behind
        await asyncio.wait([self._tending])
        await self.runs.__aexit__(kind, error, trace)
        await self._worker.__aexit__(kind, error, trace)

    async def enqueue(self, kind: str, task: str, run_id: str, owner: str, **tags: str) -> None:
        """Have a task worked on, here or elsewhere; the same id again is the same task.

        Raises:
            StoreUnavailable: it cannot be written down.
        """
        tags = {"owner": owner, **tags}
        with answering():
            await self.runs.start(kind, task, run_id=run_id, queue=kind, key=owner, tags=tags)

    async def waiting(self, kind: str, owner: str, most: int) -> int:
        """How many tasks of an owner wait to be worked on, counted up to `most`.

        Raises:
            StoreUnavailable: nobody knows.
        """
        with answering():
            tags = {"owner": owner}
            return len(await self.runs.list(state="queued", agent=kind, tags=tags, limit=most))

    async def is_ours(self, run_id: str) -> bool:
        """Whether this process works on it, as far as others know; asked within the work."""
        record = await _apart(self._worker.get(run_id))
        return record.state == "running" and record.executor_id == self._worker.executor_id

    async def note(self, run_id: str, **tags: str) -> None:
        """Tell something of the run; from within the work."""
        await _apart(self._worker.tag(run_id, tags))

    async def _tend(self) -> None:
        while not self._ending.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), _TEND_SECONDS)
            for tend in self._tended:
                try:
                    await tend()
                except (SQLAlchemyError, StorageError) as error:  # what is under way waits for it
                    logger.warning("durable work is not tended now: %s", type(error).__name__)
                except Exception:
                    logger.exception("durable work is not tended now")

    async def _wake(self) -> None:
        await self.runs.tend()

    async def _forget(self) -> None:
        if monotonic() > self._forgotten + _FORGET_SECONDS:
            await self.runs.forget(KEPT, agents=self._kinds)
            self._forgotten = monotonic()


class _Kind:
    """What durable runs are of, to them an agent: work of a kind."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def run(self, task: str, **_: Any) -> RunResult[Any]:
        """Work on the task."""
        return await self._work(task)

    async def stream(self, task: str, **_: Any) -> AsyncGenerator[Event, None]:
        """The same; what happens is told elsewhere."""
        yield RunFinished(await self.run(task))


def _make_private(file: Path) -> None:
    """Make the file for its user alone: what was said is nobody else's business."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)


def result_of(output: object = None, error: str = "", *, cancelled: bool = False) -> RunResult[Any]:
    """What work has come to: an output, an error, or nothing where it was cancelled."""
    fault = TinyAgentError(error) if error else None
    state: Literal["completed", "error", "cancelled"] = "error" if error else "completed"
    if cancelled:
        state = "cancelled"
    return RunResult(output, state, 0, 0.0, Usage(), Memory(), error=fault)


@contextmanager
def answering() -> Generator[None]:
    """Raise `StoreUnavailable` where the database of durable work does not answer in the block."""
    try:
        yield
    except SQLAlchemyError as error:
        logger.error("durable work cannot be reached: %s", type(error).__name__)  # noqa: TRY400 - it may name the database
        raise StoreUnavailable(
            "the database of durable work does not answer; the reason is in skillian's log"
        ) from None


async def _apart(asked: Coroutine[Any, Any, T]) -> T:
    """Await it in a context of its own: what is read within a run would be a step of it."""
    return await asyncio.create_task(asked, context=Context())


def runs_url(url: str) -> str:
    """Where the runs of the store at this URL are: a file beside an SQLite file, or the same."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite" and parsed.database:
        stem, dot, suffix = parsed.database.rpartition(".")
        named = f"{stem}-runs.{suffix}" if dot and "/" not in suffix else f"{parsed.database}-runs"
        return parsed.set(database=named).render_as_string()
    return parsed.set(drivername="postgresql").render_as_string(hide_password=False)
