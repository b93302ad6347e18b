"""Work that runs at the same time, and one computation for simultaneous requests of a thing."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from skillian.errors import ToolError

T = TypeVar("T")


@dataclass(slots=True)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class SingleFlight(Generic[T]):
    """Shares running work by key; results are not cached."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[T]] = {}

    async def run(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of `work`, or of the work that already runs for this key.

        The work is cancelled when the last caller that waits for it is. Raises what it raises.
        """
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(work()))
            flight.task.add_done_callback(lambda task: self._forget(key, task))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._forget(key, flight.task)  # a later caller starts new work
                flight.task.cancel()
                with suppress(asyncio.CancelledError):
                    await flight.task

    def _forget(self, key: Hashable, task: asyncio.Task[T]) -> None:
        flight = self._flights.get(key)
        if flight is not None and flight.task is task:
            del self._flights[key]


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """Run all at once and return their results; the first failure cancels the others."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except ExceptionGroup as failures:  # before Python 3.11.4, `except*` would raise a group
        first = failures.exceptions[0]
        if isinstance(first, ToolError):
            raise first from None
        raise
    return [task.result() for task in tasks]
