"""The first process of a session, as the host sees it, and the branches that share the session.

Each branch has a chain of processes, which begins with the first one. Branches take turns: a step
of one runs while all processes of the others are stopped, and their files are hidden.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tinyagent.core.errors import CallerError, SandboxUnavailable
from tinyagent.execution.sandbox.channel import Channel
from tinyagent.execution.sandbox.templates import TemplateHandle
from tinyagent.execution.sandbox.worker.codec.wire import Frame, Kind, Packet, pack

_COPY_SECONDS = 30.0
_READY_SECONDS = 30.0


@dataclass(slots=True)
class Holder:
    """A process that holds the variables as they were after a step.

    Args:
        pid: As the session itself counts; 0 for the first.
        known: The injected data that it has.
        waited: How many seconds it has taken so far to fork a step, without success.
    """

    channel: Channel
    pid: int = 0
    known: frozenset[tuple[str, int]] = frozenset()
    waited: float = 0.0


class FirstProcess:
    """The first process of a session, which ends the others and moves the files of branches.

    Args:
        template: What forked it.
        number: Its number there.
        channel: To it.
    """

    def __init__(self, template: TemplateHandle, number: int, channel: Channel) -> None:
        self.template = template
        self.channel = channel
        self._number = number
        self.is_open = True
        self.is_ready = False
        self.sweeps_due = 0
        self.memory_ran_out = False
        self.chains: dict[int, list[Holder]] = {}
        """The processes of each branch by its number; 0 is the one that the session began as."""
        self._branches = 1
        self._turn = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()

    def add(self, chain: list[Holder]) -> int:
        """Add a branch; returns its number."""
        number = len(self.chains) if not self.chains else self._branches
        self._branches = number + 1
        self.chains[number] = chain
        return number

    def holds(self, holder: Holder) -> bool:
        """Whether any branch needs this process."""
        return any(holder is each for chain in self.chains.values() for each in chain)

    def others(self, number: int) -> list[int]:
        """The processes of all branches that this one does not have itself."""
        own = {holder.pid for holder in self.chains.get(number, ())}
        chains = (chain[1:] for each, chain in self.chains.items() if each != number)
        return sorted({holder.pid for chain in chains for holder in chain} - own)

    @property
    def is_shared(self) -> bool:
        """Whether it has ever had more than one branch."""
        return self._branches > 1

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Wait for the turn of a branch, and keep it meanwhile.

        Raises:
            CallerError: A tool of one branch runs code in another, which cannot begin before the
                tool has returned.
        """
        if _current.get() is self:
            raise CallerError(
                "a tool of one branch cannot run code in another branch: they take turns"
            )
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._lock = loop, asyncio.Lock()
        async with self._lock:
            token = _current.set(self)
            try:
                yield
            finally:
                _current.reset(token)

    @property
    def is_idle(self) -> bool:
        """Whether no branch runs a step."""
        return not self._lock.locked()

    async def enter(self, number: int) -> str:
        """Let the working folder hold the files of a branch; returns why no step may run, or "".

        Only between steps, once everything that had to end has ended.
        """
        self._turn = number
        return await self._ask(Kind.TURN, {"branch": number})

    def is_turn_of(self, number: int) -> bool:
        """Whether the working folder holds the files of this branch."""
        return self._turn == number

    async def copy_files(self, pids: Sequence[int], new: Collection[int]) -> str:
        """Give new branches a copy of the files in the working folder; returns why not, or ""."""
        body = {"pids": list(pids), "new": list(new)}
        return await self._ask(Kind.BRANCH, body, set(self.chains) - set(new))

    async def wait_until_ready(self) -> None:
        """Wait until the session has applied its locks; its first order has been sent already.

        Raises:
            SandboxUnavailable: It could not.
        """
        if self.is_ready:
            return
        frame = await self.receive(_READY_SECONDS)
        if not self.is_open:  # it was killed meanwhile
            return
        if frame is None or frame.kind is not Kind.READY:
            self.close()
            reason = "its process ended"
            if isinstance(frame, Frame):
                reason = frame.body.get("error", reason)
            raise SandboxUnavailable(f"a sandbox session does not start: {reason}")
        self.is_ready = True

    async def put(self, frame: Frame) -> None:
        """Send a frame, between steps only."""
        self.channel.send(pack(frame))
        await self.channel.drain()

    async def receive(self, seconds: float | None) -> Frame | Packet | None:
        """The next frame; None if it sends none in time, or is gone."""
        if (frame := self.channel.take()) is not None:  # without the costs of waiting
            return frame
        wake = asyncio.Event()
        self.channel.listen(wake.set)
        try:
            async with asyncio.timeout(seconds):
                while (frame := self.channel.take()) is None and self.channel.is_open:
                    await wake.wait()
                    wake.clear()
                return frame
        except TimeoutError:
            return None
        finally:
            self.channel.unlisten()

    def remove(self, number: int) -> None:
        """Forget a branch, and close the channels that no other needs; the last ends the session.

        If no step runs, its processes are ended at once, and otherwise after that step.
        """
        for holder in self.chains.pop(number, ()):
            if holder.pid and not self.holds(holder):
                holder.channel.close()
        if not self.chains:
            self.close()
        elif self.is_open and self.is_idle:
            self.send_end(next(iter(self.chains)), sweep=True)

    def close(self) -> None:
        """End the session with all its processes and branches."""
        if self.is_open:
            self.is_open = False
            self.template.kill(self._number)
            self.channel.close()
            for chain in self.chains.values():
                for holder in chain:
                    holder.channel.close()

    def pause(self, *, stop: bool, has_forks: bool) -> None:
        """Stop all processes while a tool runs, or let them continue."""
        if has_forks:
            self.channel.send(pack(Frame(Kind.PAUSE, {"stop": stop})))
        else:
            self.template.pause(self._number, stop=stop)

    def send_end(
        self, number: int, *, sweep: bool = False, watch: bool = False, wake: bool = False
    ) -> None:
        """Tell it which processes to keep, for a turn of this branch.

        Args:
            number: Of the branch.
            sweep: Whether all others are to end now.
            watch: Whether to watch the memory.
            wake: Whether the newest process of the branch continues.
        """
        body: dict[str, Any] = {
            "keep": [holder.pid for holder in self.chains.get(number, ())[1:]],
            "others": self.others(number),
            "sweep": sweep,
            "watch": watch,
            "wake": wake,
        }
        self.channel.send(pack(Frame(Kind.END, body)))
        self.sweeps_due += sweep

    async def _ask(
        self, kind: Kind, body: dict[str, Any], living: Collection[int] | None = None
    ) -> str:
        known = self.chains if living is None else living
        self.channel.send(pack(Frame(kind, {**body, "living": sorted({*known, self._turn})})))
        while True:
            frame = await self.receive(_COPY_SECONDS)
            if frame is None:
                self.close()
                return "the session failed"
            if isinstance(frame, Frame) and frame.kind is Kind.TURNED:
                error: str = frame.body["error"]
                if error and kind is Kind.TURN:  # the files of two branches may be mixed
                    self.close()
                if frame.body["full"]:
                    return FULL
                return error


FULL = (
    "the branches of this session take too much memory together: close some, or raise"
    " max_memory_bytes"
)
_current: ContextVar[FirstProcess | None] = ContextVar("turn", default=None)
