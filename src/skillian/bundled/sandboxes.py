"""Sandboxes that run code: one for each session that uses it, a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from secrets import token_hex
from time import monotonic

from skillian.errors import UnavailableError
from tinyagent import ExecutionLimits, Sandbox
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
class SessionSandbox:
    """The sandbox of a session.

    Attributes:
        executor: The sandbox.
        comparison: The key of the comparison that its code has.
        users: The number of calls that run in it or wait for it.
        used: When the last call ended, on the monotonic clock.
        lock: Held by the call that runs.
    """

    executor: ProcessExecutor
    comparison: str | None = None
    users: int = 0
    used: float = field(default_factory=monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Sandboxes:
    """Opens and closes sandboxes. Variables live as long as their sandbox.

    Args:
        most_open: The maximum number of open sandboxes; a new one replaces the longest idle one.
        idle_seconds: After how long without a call a sandbox is closed.
    """

    def __init__(self, most_open: int = MOST_OPEN, idle_seconds: float = IDLE_SECONDS) -> None:
        self._most_open = most_open
        self._idle_seconds = idle_seconds
        self._open: dict[str, SessionSandbox] = {}

    @asynccontextmanager
    async def use(self, session: str) -> AsyncGenerator[SessionSandbox, None]:
        """The sandbox of a session, for one call at a time.

        Args:
            session: The session; if empty, the sandbox is for this call only.

        Raises:
            UnavailableError: All sandboxes are in use.
        """
        name = session or f"call {token_hex(16)}"
        sandbox = self._open.get(name) or self._make(name)
        sandbox.users += 1
        try:
            async with sandbox.lock:
                yield sandbox
        finally:
            sandbox.users -= 1
            sandbox.used = monotonic()
            if session:
                loop = asyncio.get_running_loop()
                loop.call_later(self._idle_seconds, self._close_unused, name, sandbox.used)
            else:
                self._close(name)

    def close(self) -> None:
        """Close all sandboxes."""
        for name in list(self._open):
            self._close(name)

    def _make(self, name: str) -> SessionSandbox:
        if len(self._open) >= self._most_open:
            idle = [each for each, known in self._open.items() if not known.users]
            if not idle:
                raise UnavailableError("too many sandboxes are in use; try again later")
            self._close(min(idle, key=lambda each: self._open[each].used))
        # Extra imports are loaded before the fork, so the code does not wait for them.
        executor = ProcessExecutor(Sandbox(limits=LIMITS, imports="pandas"))
        self._open[name] = SessionSandbox(executor)
        return self._open[name]

    def _close_unused(self, name: str, since: float) -> None:
        sandbox = self._open.get(name)
        if sandbox is not None and not sandbox.users and sandbox.used == since:
            self._close(name)

    def _close(self, name: str) -> None:
        sandbox = self._open.pop(name, None)
        if sandbox is not None:
            sandbox.executor.kill()
