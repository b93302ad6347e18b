"""One session on the host: the processes that hold its variables, newest last.

The first process is the pristine session. With checkpoints, each step is run by a fork of the
newest one. If it ends well, the fork is the newest from then on, and those before it are the
checkpoints.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tinyagent.core.errors import SandboxUnavailable
from tinyagent.execution.protocol import ExecutionResult
from tinyagent.execution.sandbox.channel import Channel
from tinyagent.execution.sandbox.collector import StepCollector
from tinyagent.execution.sandbox.follow import (
    FORK_SECONDS,
    SPARE_SECONDS,
    AnswerCall,
    Bounds,
    Follower,
    HostService,
    StepEnding,
)
from tinyagent.execution.sandbox.templates import TemplateHandle
from tinyagent.execution.sandbox.worker.codec.wire import Frame, Kind, Packet, pack
from tinyagent.execution.trust import ExecutionLimits

_READY_SECONDS = 30.0
_SWEEP_SECONDS = 3.0
_WATCH_AFTER_SECONDS = 0.02
_PASS_SECONDS = 10.0
_MOST_STALE = 1000
_MOST_BROKEN = 2
_AS_BEFORE = "the variables are as they were before this step"


@dataclass(frozen=True, slots=True)
class StepOrder:
    """One step: its number, its code, and the tools and data it gets.

    Args:
        tools: names of functions that are called on the host.
        values: names of data, as encoded; their binary parts are in `blob`.
        brings: the injected data that the variables hold once the step has run.
        token: the last frame must repeat it; a frame that the code itself sends does not.
    """

    step: int
    code: str
    tools: tuple[str, ...]
    values: dict[str, Any]
    blob: bytes
    brings: frozenset[tuple[str, int]]
    token: str

    def packed(self, *, fork: bool) -> bytes:
        """The frame that the session gets.

        Raises:
            WireError: it is too large.
        """
        body = {
            "step": self.step,
            "code": self.code,
            "tools": self.tools,
            "values": self.values,
            "fork": fork,
            "token": self.token,
        }
        return pack(Frame(Kind.RUN, body, self.blob))


@dataclass(slots=True)
class Holder:
    """A process that holds the variables as they were after a step.

    Args:
        pid: as the session itself counts; 0 for the first.
        known: the injected data that it has.
        waited: how many seconds it has taken so far to fork a step, without success.
    """

    channel: Channel
    pid: int = 0
    known: frozenset[tuple[str, int]] = frozenset()
    waited: float = 0.0


class SandboxSession:
    """The processes of one session, as the host sees them.

    Args:
        template: what forked it.
        number: its number there.
        sock: to its first process.
        limits: of the code.
        checkpoints: how many earlier states to keep; 0: steps run in the first process itself.
    """

    def __init__(
        self,
        template: TemplateHandle,
        number: int,
        sock: socket.socket,
        limits: ExecutionLimits,
        checkpoints: int,
    ) -> None:
        self._template = template
        self._number = number
        self._limits = limits
        self._checkpoints = checkpoints
        self._chain = [Holder(Channel(sock))]
        self._sweeps_due = 0
        self._waits_for_wake = False
        self._memory_ran_out = False
        self._forgot = False
        self._broken = 0
        """How many processes that held variables have failed since a step was last started."""
        self._is_ready = False
        self._until = math.inf
        """When the running step must have ended, tool calls not counted."""
        self.is_open = True

    @property
    def known(self) -> frozenset[tuple[str, int]]:
        """The injected data that the code has already."""
        return self._chain[-1].known

    @property
    def kept(self) -> int:
        """How many steps back it can go."""
        return len(self._chain) - (2 if self._forgot else 1)

    def take_descriptors(self, take: Callable[[Sequence[int]], None]) -> None:
        """Call `take` with what the session hands over once it is ready."""
        self._chain[0].channel.take_descriptors(take)

    async def wait_until_ready(self) -> None:
        """Wait until the session has applied its locks; its first order has been sent already.

        Raises:
            SandboxUnavailable: it could not.
        """
        if self._is_ready:
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
        self._is_ready = True

    async def put(self, frame: Frame) -> None:
        """Send a frame to its first process, between steps only."""
        self._chain[0].channel.send(pack(frame))
        await self._chain[0].channel.drain()

    async def run(
        self, order: StepOrder, turn: StepCollector, answer: AnswerCall
    ) -> ExecutionResult:
        """Run one step until it ends, however it ends.

        Raises:
            SandboxUnavailable: the session does not start.
        """
        if not self._checkpoints:
            return await self._run_here(order, turn, answer)
        broken = 0
        self._until = math.inf
        while await self._wake():
            result = await self._run_in_fork(order, turn, answer)
            if result is not None:
                return replace(result, state_lost=True) if broken else result
            broken += 1
            self._broken += 1
            if len(self._chain) == 1 or self._broken > _MOST_BROKEN:
                break
            self._drop_newest()  # an earlier step has damaged the process that holds its variables
        return self._lose(turn, "the session failed")

    def rewind(self, steps: int) -> None:
        """Go back to the variables as they were `steps` steps ago; at most `kept`."""
        for _ in range(steps):
            self._drop_newest()
        self._waits_for_wake = False
        self._end_all_others()

    def close(self) -> None:
        """End it with all its processes."""
        if self.is_open:
            self.is_open = False
            self._template.kill(self._number)
            for holder in self._chain:
                holder.channel.close()

    async def _run_here(
        self, order: StepOrder, turn: StepCollector, answer: AnswerCall
    ) -> ExecutionResult:
        first = self._chain[0]
        if self._is_ready and not self._forget_frames(first.channel):
            return self._lose(turn, "the session does not stop sending")
        first.channel.send(order.packed(fork=False))
        await self.wait_until_ready()
        follower = Follower(turn, self._service(order, answer), first.channel)
        ending = await self._follow(follower, Bounds(self._limits.timeout_seconds))
        if ending is StepEnding.DONE and turn.is_done:
            first.known |= order.brings
            return turn.result()
        if ending is StepEnding.DONE:  # it called `final_answer` and does not end
            self.close()
            return turn.result()
        if ending is StepEnding.TIMED_OUT:
            return self._lose(turn, self._too_late(), timed_out=True)
        return self._lose(turn, follower.how_it_died())

    def _forget_frames(self, channel: Channel) -> bool:
        """Drop the frames that came before the order; returns whether there was an end to them."""
        return any(channel.take() is None for _ in range(_MOST_STALE))

    async def _run_in_fork(
        self, order: StepOrder, turn: StepCollector, answer: AnswerCall
    ) -> ExecutionResult | None:
        """The result; None if the newest process could not start the step."""
        holder = self._chain[-1]
        self._memory_ran_out = False
        message = order.packed(fork=True)
        ours, theirs = socket.socketpair()
        ours.setblocking(False)  # noqa: FBT003 - the socket module's own signature
        step = Channel(ours)
        # Most steps end before they could have taken too much memory.
        watch = asyncio.get_running_loop().call_later(_WATCH_AFTER_SECONDS, self._watch_memory)
        follower = Follower(turn, self._service(order, answer), step, holder.channel)
        ending = StepEnding.NEVER_STARTED
        try:
            with theirs:
                async with asyncio.timeout(self._patience(holder)):
                    await holder.channel.send_with(theirs, message)
            await self.wait_until_ready()
            ending = await self._follow(follower, self._bounds(holder))
        except TimeoutError:  # it does not listen
            follower.waited = FORK_SECONDS
            if asyncio.get_running_loop().time() >= self._until:
                ending = StepEnding.TIMED_OUT
        finally:
            watch.cancel()
            holder.waited = 0.0 if follower.pid else holder.waited + follower.waited
            self._broken = 0 if follower.pid else self._broken
            # One that was stopped and woken meanwhile may not wait for the next step's wake.
            has_ended_well = _has_ended_well(ending, turn, follower)
            stands_still = self._template.report["namespaces"]  # else nothing stops its processes
            self._waits_for_wake = has_ended_well and stands_still and not follower.was_paused
            if has_ended_well:
                known = holder.known | order.brings
                self._chain.append(Holder(step, follower.pid, known))
                if len(self._chain) > self._checkpoints + 2:
                    self._chain.pop(1).channel.close()
                    self._forgot = True
            else:
                step.close()
            self._end_all_others()
        return await self._tell(ending, follower, turn)

    def _bounds(self, holder: Holder) -> Bounds:
        """The time of a step that starts now, or of another attempt to start it."""
        seconds = self._limits.timeout_seconds
        now = asyncio.get_running_loop().time()
        self._until = min(self._until, now + seconds + SPARE_SECONDS)
        return Bounds(seconds, self._until, max(0.0, FORK_SECONDS - holder.waited))

    def _patience(self, holder: Holder) -> float:
        """How many seconds the newest process may take to accept the order."""
        if not self._is_ready:
            return _PASS_SECONDS
        until, patience = self._bounds(holder)[1:]
        return min(patience, until - asyncio.get_running_loop().time())

    def _service(self, order: StepOrder, answer: AnswerCall) -> HostService:
        return HostService(answer, frozenset(order.tools), self._pause)

    def _pause(self, stop: bool) -> None:  # noqa: FBT001 - a callback
        """Stop all processes of the session while a tool runs, or let them continue."""
        if self._checkpoints:
            self._chain[0].channel.send(pack(Frame(Kind.PAUSE, {"stop": stop})))
        else:
            self._template.pause(self._number, stop=stop)

    async def _tell(
        self, ending: StepEnding, follower: Follower, turn: StepCollector
    ) -> ExecutionResult | None:
        if ending is StepEnding.DONE and turn.ran_out_of_memory:
            error = f"{turn.result().error}; {_AS_BEFORE}"
            return turn.result(error, out_of_memory=True, undone=True)
        if ending is StepEnding.DONE:
            return turn.result()
        if ending is StepEnding.NEVER_STARTED:
            return None
        has_settled = await self.settle()
        fields: dict[str, Any] = {}
        if ending is StepEnding.TIMED_OUT:
            is_late = "the session did not start the step in time"
            error = self._too_late() if follower.pid else is_late
            fields = {"timed_out": True}
        elif self._memory_ran_out or follower.out_of_memory:
            most = self._limits.max_memory_bytes
            error, fields = f"the step took more than {most:,} bytes", {"out_of_memory": True}
        else:
            error = follower.how_it_died()
        if not has_settled:
            return self._lose(turn, f"{error}; the session was ended", **fields)
        return turn.result(f"{error}; {_AS_BEFORE}", undone=True, **fields)

    async def _follow(self, follower: Follower, bounds: Bounds) -> StepEnding:
        try:
            return await follower.follow(bounds)
        except BaseException:
            if not self._checkpoints:
                self.close()
            raise

    def _drop_newest(self) -> None:
        self._chain.pop().channel.close()

    def _watch_memory(self) -> None:
        self._send_end(watch=True)

    def _end_all_others(self) -> None:
        """End every process of the session that holds no kept state."""
        self._send_end(sweep=True)
        self._sweeps_due += 1

    def _send_end(self, *, sweep: bool = False, watch: bool = False, wake: bool = False) -> None:
        keep = [holder.pid for holder in self._chain[1:]]
        self._chain[0].channel.send(
            pack(Frame(Kind.END, {"keep": keep, "sweep": sweep, "watch": watch, "wake": wake}))
        )

    async def _wake(self) -> bool:
        """Let the newest process continue, once all others have ended; False: it is closed.

        A process that has just ended a step does nothing until it is woken, so it can be sent its
        next order without waiting.
        """
        if self._chain[-1].pid:
            self._send_end(wake=True)
        return await self.settle(1 if self._waits_for_wake else 0)

    async def settle(self, sweeps: int = 0) -> bool:
        """Wait until all processes that had to end have ended; if not, close the session: False.

        Args:
            sweeps: how many sweeps may still be running.
        """
        while self.is_open and self._sweeps_due > sweeps:
            frame = await self.receive(_SWEEP_SECONDS)
            if frame is None:
                self.close()
                return False
            if isinstance(frame, Frame) and frame.kind is Kind.SWEPT:
                self._memory_ran_out |= frame.body["memory"]
                self._sweeps_due -= not frame.body["memory"]
        return self.is_open

    async def receive(self, seconds: float) -> Frame | Packet | None:
        """The next frame of the first process; None if it sends none in time, or is gone."""
        channel = self._chain[0].channel
        wake = asyncio.Event()
        channel.listen(wake.set)
        try:
            async with asyncio.timeout(seconds):
                while (frame := channel.take()) is None and channel.is_open:
                    await wake.wait()
                    wake.clear()
                return frame
        except TimeoutError:
            return None
        finally:
            channel.unlisten()

    def _lose(self, turn: StepCollector, reason: str, **ending: Any) -> ExecutionResult:
        self.close()
        return turn.result(f"{reason}; all variables are lost", state_lost=True, **ending)

    def _too_late(self) -> str:
        return f"the step was stopped after {self._limits.timeout_seconds:g} s"


def _has_ended_well(ending: StepEnding, turn: StepCollector, follower: Follower) -> bool:
    """Whether the variables are from now on those of the fork."""
    is_whole = turn.is_done and not turn.ran_out_of_memory
    return ending is StepEnding.DONE and is_whole and bool(follower.pid)
