"""Sandboxes that run code, one for each session that wants one, few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from secrets import token_hex
from time import monotonic

from skillian.errors import UnavailableError
from tinyagent import ExecutionLimits
from tinyagent.execution import ProcessExecutor

MOST_OPEN = 8
IDLE_SECONDS = 600.0
LIMITS = ExecutionLimits(
    timeout_seconds=20,
    max_output_bytes=6000,
    max_processes=16,
    max_file_bytes=64 * 1024 * 1024,
)


@dataclass(slots=True)
class Interpreter:
    """A session's sandbox; `comparison` is the key of the comparison that its code knows.

    `users` counts the calls that run in it or wait for it.
    """

    executor: ProcessExecutor
    comparison: str | None = None
    users: int = 0
    used: float = field(default_factory=monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Interpreters:
    """Opens and closes them. Variables live as long as their sandbox does.

    Args:
        most_open: how many there are at a time; the one idle for longest makes room.
        idle_seconds: after how long without a call one is closed.
    """

    def __init__(self, most_open: int = MOST_OPEN, idle_seconds: float = IDLE_SECONDS) -> None:
        self._most_open = most_open
        self._idle_seconds = idle_seconds
        self._open: dict[str, Interpreter] = {}

    @asynccontextmanager
    async def use(self, session: str) -> AsyncGenerator[Interpreter, None]:
        """The session's own, for one call at a time; without a session one for this call only.

        Raises:
            UnavailableError: all that there may be are at work.
        """
        name = session or f"call {token_hex(16)}"
        found = self._open.get(name) or self._make(name)
        found.users += 1
        try:
            async with found.lock:
                yield found
        finally:
            found.users -= 1
            found.used = monotonic()
            if session:
                loop = asyncio.get_running_loop()
                loop.call_later(self._idle_seconds, self._close_unused, name, found.used)
            else:
                self._close(name)

    def close(self) -> None:
        """Close all."""
        for name in list(self._open):
            self._close(name)

    def _make(self, name: str) -> Interpreter:
        if len(self._open) >= self._most_open:
            idle = [each for each, known in self._open.items() if not known.users]
            if not idle:
                raise UnavailableError("too much code runs at the moment; try again in a while")
            self._close(min(idle, key=lambda each: self._open[each].used))
        # What is allowed by name is loaded before the fork, and costs the code no time.
        executor = ProcessExecutor(limits=LIMITS, extra_imports=("pandas",))
        self._open[name] = Interpreter(executor)
        return self._open[name]

    def _close_unused(self, name: str, since: float) -> None:
        found = self._open.get(name)
        if found is not None and not found.users and found.used == since:
            self._close(name)

    def _close(self, name: str) -> None:
        found = self._open.pop(name, None)
        if found is not None:
            found.executor.kill()
