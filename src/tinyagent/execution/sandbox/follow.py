"""Following one step: its frames, its tool calls, its deadline, and how it ends."""

from __future__ import annotations

import asyncio
import math
import os
import signal
from collections.abc import Awaitable, Callable, Collection
from enum import Enum, auto
from typing import NamedTuple

from tinyagent.core.threads import run_in_thread
from tinyagent.execution.sandbox.calls import ToolReply
from tinyagent.execution.sandbox.channel import Channel, read
from tinyagent.execution.sandbox.collector import StepCollector
from tinyagent.execution.sandbox.worker.codec.wire import Frame, Kind, Packet, WireError

FORK_SECONDS = 3.0
_FINAL_SECONDS = 2.0  # after `final_answer`: time for its files and figures
_FREE_SECONDS = 0.002  # time in a tool beyond this is not the code's time
_LAST_SECONDS = 0.2  # to read what a process sent before it died
_SLICE_SECONDS = 0.005  # on the frames of one step before other tasks get their turn
_TICK_SECONDS = 0.02
_SMALL = 1 << 13  # bytes of a frame that is read at once; a larger one is read in a thread
_TABLE = b'"frame"'

AnswerCall = Callable[[Frame], Awaitable[ToolReply]]


class HostService(NamedTuple):
    """The host's part while the code runs.

    Args:
        answer: Does a tool call.
        tools: What may be called.
        pause: Stops the session's processes, or lets them go on.
    """

    answer: AnswerCall
    tools: Collection[str]
    pause: Callable[[bool], None]


class Bounds(NamedTuple):
    """How much time a step has; moments are on the clock of the event loop.

    Args:
        seconds: That the code may take, tool calls not counted.
        until: When it must have ended, tool calls not counted, however long the fork takes.
        patience: How long the fork may take.
    """

    seconds: float
    until: float = math.inf
    patience: float = FORK_SECONDS


class StepEnding(Enum):
    """How a step ended."""

    DONE = auto()
    TIMED_OUT = auto()
    DIED = auto()
    NEVER_STARTED = auto()


class Follower:
    """Follows the step that runs in the process behind `step`.

    Args:
        turn: Collects its frames.
        service: What the code may ask for.
        step: The process that runs the code.
        holder: The process that forks it, where it runs in a fork.
    """

    def __init__(
        self,
        turn: StepCollector,
        service: HostService,
        step: Channel,
        holder: Channel | None = None,
    ) -> None:
        self._turn = turn
        self._service = service
        self._bounds = Bounds(0.0)
        self._step = step
        self._holder = holder
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._ticked = self._deadline = 0.0
        self.waited = 0.0
        """How many seconds it took to get the fork, without delays of the host itself."""
        self._is_paused = False
        self.pid = 0
        """Of the fork, as its parent reports it, possibly after the first frames of the fork."""
        self.status: int | None = None
        """The wait status of the fork, once it has died."""
        self._last_exit = -1, 0
        self.fault = ""
        """Why the step never started, or what was wrong with a frame."""
        self.out_of_memory = False
        self._is_stopped = False

    async def follow(self, bounds: Bounds) -> StepEnding:
        """Follow the step until it has ended or its time is over.

        Raises:
            BaseException: A tool raised something other than an `Exception`, to end the run.
        """
        self._bounds = bounds
        self._ticked = self._loop.time()  # now that the session is ready
        self._deadline = self._ends()
        channels = [channel for channel in (self._step, self._holder) if channel is not None]
        for channel in channels:
            channel.listen(self._wake.set)
        try:
            while True:
                await self._wait()
                ending = await self._take_frames() or await self._state()
                if ending is not None:
                    return ending
        finally:
            for channel in channels:
                channel.unlisten()

    def stop(self) -> None:
        """Follow it no further: its branch was closed."""
        self._is_stopped = True
        self._wake.set()

    def how_it_died(self) -> str:
        """The reason why the process ended, in words."""
        if self.fault:
            return f"the step's process was ended: it sent a forbidden message ({self.fault})"
        try:
            code = os.waitstatus_to_exitcode(-1 if self.status is None else self.status)
            name = "" if code >= 0 else signal.Signals(-code).name
        except ValueError:  # not known, or not a status that a process can have
            return "the step's process ended before the code did"
        if name:
            return f"the step's process was killed by {name}"
        return f"the step's process ended itself (exit code {code})"

    def _ends(self) -> float:
        """When code that starts now must have ended."""
        return min(self._loop.time() + self._bounds.seconds, self._bounds.until)

    async def _take_frames(self) -> StepEnding | None:
        """Handle the frames that have arrived, for a short time at most."""
        began = self._loop.time()
        while (arrived := self._step.take()) is not None:
            try:
                if not await self._take(arrived):
                    return self._late()
            except WireError as fault:
                self.fault = str(fault)
                return StepEnding.DIED
            if self._turn.is_done and (self.pid or self._holder is None):
                return StepEnding.DONE
            if self._loop.time() - began > _SLICE_SECONDS:
                self._wake.set()
                break
        return None

    async def _take(self, arrived: Frame | Packet) -> bool:
        """Handle a frame; False: the time was over before it was read."""
        frame = await self._read(arrived) if isinstance(arrived, Packet) else arrived
        if frame is None:
            return False
        if frame.kind is Kind.FORKED:
            if not self.pid:
                self.pid = frame.body["pid"]
                self._deadline = self._ends()
        elif frame.kind is not Kind.CALL:
            self._turn.take(frame)
            if frame.kind is Kind.FINAL:
                self._deadline = min(self._deadline, self._loop.time() + _FINAL_SECONDS)
        elif not self._turn.is_final:  # after that, the block has ended
            await self._call(frame)
        return True

    async def _read(self, packet: Packet) -> Frame | None:
        """The frame, read in the code's time; None if that time is over first."""
        tools = self._service.tools
        if len(packet.raw) + len(packet.blob) <= _SMALL and _TABLE not in packet.raw:
            return read(packet, tools)
        try:
            async with asyncio.timeout_at(self._deadline):
                frame: Frame = await run_in_thread(read, packet=packet, tools=tools)
                return frame
        except TimeoutError:
            return None

    async def _call(self, frame: Frame) -> None:
        """Answer a tool call. Meanwhile the session's processes and its clock are stopped."""
        if self._step.has_unsent():
            raise WireError("a tool call before the last answer was read")
        timer = self._loop.call_later(_FREE_SECONDS, self._pause)
        try:
            reply = await self._service.answer(frame)
        finally:
            timer.cancel()
        if self._is_paused:
            self._is_paused = False
            self._service.pause(False)  # noqa: FBT003 - a callback
        if self._step.has_call():
            raise WireError("a tool call before the last one was answered")
        self._step.send(*reply.parts)
        # If each call were free, code that does nothing but call tools would never end.
        free = max(0.0, reply.seconds - _FREE_SECONDS)
        self._deadline += free
        self._turn.tool_seconds += free
        self._bounds = self._bounds._replace(until=self._bounds.until + free)

    def _pause(self) -> None:
        self._is_paused = True
        self._service.pause(True)  # noqa: FBT003 - a callback

    async def _state(self) -> StepEnding | None:
        """How the step has ended as far as its frames do not show it; None: it has not."""
        if self._is_stopped:
            self.fault = self.fault or "it was closed"
            return StepEnding.DIED
        if self._holder is not None:
            self._hear_holder(self._holder)
            if self.status is not None:
                return await self._last_frames()
            if not self.pid:
                return self._without_fork()
        if not self._step.is_open and self._is_last_word():
            self.fault = self._step.fault
            return StepEnding.DIED
        return self._late() if self._loop.time() >= self._deadline else None

    def _late(self) -> StepEnding:
        return StepEnding.DONE if self._turn.is_final else StepEnding.TIMED_OUT

    def _is_last_word(self) -> bool:
        """Whether no process is left that could report how this one ended."""
        return self._holder is None or not self._holder.is_open or bool(self._step.fault)

    def _hear_holder(self, holder: Channel) -> None:
        began = self._loop.time()
        while (frame := holder.take()) is not None:
            if isinstance(frame, Packet):
                pass  # not a frame that a holder sends
            elif frame.kind is Kind.EXITED:
                self._last_exit = frame.body["pid"], frame.body["status"]
            elif frame.kind is Kind.FAILED:
                self.fault = frame.body["error"]
            elif frame.kind is Kind.SWEPT and frame.body["memory"]:
                self.out_of_memory = True
            if self._loop.time() - began > _SLICE_SECONDS:  # other tasks get their turn
                self._wake.set()
                break
        # The end of an earlier step that was killed may be reported this late.
        if self._last_exit[0] == self.pid:
            self.status = self._last_exit[1]
        if not holder.is_open:
            self.fault = self.fault or "the process that holds the variables is gone"

    def _without_fork(self) -> StepEnding | None:
        """How the step has ended before its process was forked; None: it has not."""
        now = self._loop.time()
        self.waited += min(now - self._ticked, 2 * _TICK_SECONDS)
        self._ticked = now
        if self.fault or not self._step.is_open or self.waited >= self._bounds.patience:
            return StepEnding.NEVER_STARTED
        return StepEnding.TIMED_OUT if now >= self._bounds.until else None

    async def _last_frames(self) -> StepEnding:
        """The step's process has died: read what it sent before that."""
        late = min(self._loop.time(), self._deadline) + _LAST_SECONDS
        self._deadline = late
        try:
            # A child of the dead process may send on and on.
            while (arrived := self._step.take()) is not None and self._loop.time() < late:
                if arrived.kind in {Kind.CALL, Kind.FORKED}:
                    continue
                if not await self._take(arrived):
                    break
                await asyncio.sleep(0)
        except WireError as fault:
            self.fault = str(fault)
        return StepEnding.DIED

    async def _wait(self) -> None:
        late = self._deadline
        if self._holder is not None and not self.pid:
            late = self._loop.time() + _TICK_SECONDS
        if not self._wake.is_set():
            timer = self._loop.call_at(late, self._wake.set)
            await self._wake.wait()
            timer.cancel()
        else:
            await asyncio.sleep(0)
        self._wake.clear()
