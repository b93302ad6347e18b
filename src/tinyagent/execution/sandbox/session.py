"""One session on the host: the processes that hold its variables, newest last.

The first process is the pristine session. With checkpoints, each step is run by a fork of the
newest one. If it ends well, the fork is the newest from then on, and those before it are the
checkpoints.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

from tinyagent.core.errors import CallerError
from tinyagent.execution.protocol import ExecutionResult
from tinyagent.execution.sandbox.channel import Channel
from tinyagent.execution.sandbox.collector import SPARE_SECONDS, StepCollector
from tinyagent.execution.sandbox.first import FULL, FirstProcess, Holder
from tinyagent.execution.sandbox.follow import (
    FORK_SECONDS,
    AnswerCall,
    Bounds,
    Follower,
    HostService,
    StepEnding,
)
from tinyagent.execution.sandbox.orders import StepOrder
from tinyagent.execution.sandbox.worker.codec.wire import Frame, Kind
from tinyagent.execution.sandbox.worker.folders import MAX_BRANCHES
from tinyagent.execution.trust import ExecutionLimits

_SWEEP_SECONDS = 3.0
_WATCH_AFTER_SECONDS = 0.02
_PASS_SECONDS = 10.0
_MOST_STALE = 1000
_MOST_BROKEN = 2
_NO_STATE = "no earlier state is kept while there are threads such as {}, which no fork has"
_AS_BEFORE = "the variables are as they were before this step"


class SandboxSession:
    """The processes of one session, as the host sees them.

    Args:
        first: Its first process, which branches of the session share.
        limits: Of the code.
        checkpoints: How many earlier states to keep; 0: steps run in the first process itself.
        chain: The processes of a branch; a new session has the first one only.
    """

    def __init__(
        self,
        first: FirstProcess,
        limits: ExecutionLimits,
        checkpoints: int,
        chain: Sequence[Holder] = (),
    ) -> None:
        self.first = first
        self._limits = limits
        self._checkpoints = checkpoints
        self._chain = list(chain) or [Holder(first.channel)]
        self.number = first.add(self._chain)
        self._follower: Follower | None = None
        self._forgot = False
        self._pool = ""
        """A library's thread in the newest process, which no fork of it has."""
        self._noted = ""
        self._broken = 0
        """How many processes that held variables have failed since a step was last started."""
        self._until = math.inf
        """When the running step must have ended, tool calls not counted."""
        self.is_open = True

    @property
    def known(self) -> frozenset[tuple[str, int]]:
        """The injected data that the code has already."""
        return self._chain[-1].known

    @property
    def newest(self) -> int:
        """The number of the process that holds the variables; 0 for the first."""
        return self._chain[-1].pid

    @property
    def kept(self) -> int:
        """How many steps back it can go."""
        return len(self._chain) - (2 if self._forgot else 1)

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Wait for the turn of this branch; each step and each fork needs it."""
        return self.first.turn()

    async def fork(
        self, orders: Sequence[StepOrder], answer: AnswerCall
    ) -> tuple[SandboxSession, ...]:
        """Make branches that continue from here, each with a copy of the files.

        Args:
            orders: A step without code for each.
            answer: Does tool calls, of which there are none.

        Raises:
            CallerError: What the code holds cannot be copied, or there is no room.
            SandboxUnavailable: The session does not start, or has ended.
        """
        branches: list[SandboxSession] = []
        why = "cut off"
        try:
            why = await self._make_branches(orders, answer, branches)
        finally:
            if why:
                for branch in branches:
                    branch.close()
                self._end_all_others()
        if why:
            raise CallerError(f"fork: {why}")
        return tuple(branches)

    async def _make_branches(
        self, orders: Sequence[StepOrder], answer: AnswerCall, branches: list[SandboxSession]
    ) -> str:
        """Add the branches to the list; returns why they cannot be used, or ""."""
        why = self._why_no_branches(len(orders)) or await self._enter()
        if why or self._pool:
            return why or f"no fork has the threads of {self._pool}"
        for order in orders:
            newest = self._chain[-1]
            chain = [self._chain[0], *([newest] if newest.pid else [])]
            branch = SandboxSession(self.first, self._limits, self._checkpoints, chain)
            branches.append(branch)
            if why := await branch.begin(order, answer):
                return why
        if not await self.settle():
            return "the session failed"
        pids = [branch.newest for branch in branches]
        return await self.first.copy_files(pids, [branch.number for branch in branches])

    def _why_no_branches(self, count: int) -> str:
        if not self._checkpoints:
            return "steps of this session run in no forks (checkpoints=0, or no namespaces)"
        if len(self.first.chains) + count > MAX_BRANCHES:
            return f"a session has at most {MAX_BRANCHES} branches at a time"
        return ""

    async def begin(self, order: StepOrder, answer: AnswerCall) -> str:
        """Fork a process of its own for a new branch; returns why not, or ""."""
        turn = StepCollector(self._limits, None, order.token)
        self._until = math.inf
        shared = self._chain[1:]
        is_awake = await self._wake()
        result = await self._run_in_fork(order, turn, answer, seed=True) if is_awake else None
        if result is None or not _is_fine(result) or self._chain[1:] == shared:
            return (result and result.error) or "the process that holds the variables is gone"
        self._forgot = True
        for holder in shared:
            self._chain.remove(holder)
        return ""

    async def _enter(self) -> str:
        """Begin a turn of this branch; returns why it cannot, or ""."""
        if not self.first.is_shared:
            return "" if await self.settle() else "the session failed"
        is_settled = await self.settle()
        if is_settled and not self.first.is_turn_of(self.number):
            self._end_all_others()
            is_settled = await self.settle()
        if not is_settled:
            return "the session failed"
        return await self.first.enter(self.number)

    async def run(
        self, order: StepOrder, turn: StepCollector, answer: AnswerCall
    ) -> ExecutionResult:
        """Run one step until it ends, however it ends.

        Raises:
            SandboxUnavailable: The session does not start.
        """
        if not self._checkpoints:
            return await self._run_here(order, turn, answer)
        broken = 0
        self._until = math.inf
        if not self.is_open:
            return self._lose(turn, "it was closed before its turn")
        if self.first.is_shared:
            why = await self._enter()
            if why and self.first.is_open and self.is_open:
                return turn.result(why, undone=True, out_of_memory=why == FULL)
        while await self._wake():
            if self._pool:
                note = "" if self._noted == self._pool else _NO_STATE.format(self._pool)
                self._noted = self._pool
                return replace(await self._run_here(order, turn, answer), note=note)
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
        if self.first.is_idle:  # otherwise the step of another branch ends with that
            self._end_all_others()

    def close(self) -> None:
        """End it with all its processes; other branches of the session continue."""
        if self.is_open:
            self.is_open = False
            self.first.remove(self.number)
            if self._follower is not None and self.first.is_open:
                self._follower.stop()

    async def _run_here(
        self, order: StepOrder, turn: StepCollector, answer: AnswerCall
    ) -> ExecutionResult:
        """Run a step in the process that holds the variables; both are lost together."""
        holder = self._chain[-1]
        self._forgot = len(self._chain) > 1
        while len(self._chain) > 2:  # noqa: PLR2004 - the first, and this one
            self._release(self._chain.pop(1))
        if self.first.is_ready and not self._forget_frames(holder.channel):
            return self._lose(turn, "the session does not stop sending")
        holder.channel.send(order.packed(fork=False))
        await self.first.wait_until_ready()
        follower = Follower(turn, self._service(order, answer), holder.channel)
        self._follower = follower
        try:
            ending = await follower.follow(Bounds(self._limits.timeout_seconds))
        except BaseException:
            self.close()
            raise
        if ending is StepEnding.DONE and turn.is_done:
            holder.known |= order.brings
            if self._checkpoints:
                self._end_all_others()
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
        self, order: StepOrder, turn: StepCollector, answer: AnswerCall, *, seed: bool = False
    ) -> ExecutionResult | None:
        """The result; None if the newest process could not start the step."""
        holder = self._chain[-1]
        self.first.memory_ran_out = False
        message = order.packed(fork=True, seed=seed)
        ours, theirs = socket.socketpair()
        ours.setblocking(False)  # noqa: FBT003 - the socket module's own signature
        step = Channel(ours)
        # Most steps end before they could have taken too much memory.
        watch = asyncio.get_running_loop().call_later(_WATCH_AFTER_SECONDS, self._watch_memory)
        follower = Follower(turn, self._service(order, answer), step, holder.channel)
        self._follower = follower
        ending = StepEnding.NEVER_STARTED
        try:
            with theirs:
                async with asyncio.timeout(self._patience(holder)):
                    await holder.channel.send_with(theirs, message)
            await self.first.wait_until_ready()
            ending = await follower.follow(self._bounds(holder))
        except TimeoutError:  # it does not listen
            follower.waited = FORK_SECONDS
            if asyncio.get_running_loop().time() >= self._until:
                ending = StepEnding.TIMED_OUT
        finally:
            watch.cancel()
            holder.waited = 0.0 if follower.pid else holder.waited + follower.waited
            self._broken = 0 if follower.pid else self._broken
            has_ended = _has_ended_well(ending, turn, follower)
            if order.changes_state and has_ended and self.is_open:
                known = holder.known | order.brings
                self._chain.append(Holder(step, follower.pid, known))
                if len(self._chain) > self._checkpoints + 2:
                    self._release(self._chain.pop(1))
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
        if not self.first.is_ready:
            return _PASS_SECONDS
        until, patience = self._bounds(holder)[1:]
        return min(patience, until - asyncio.get_running_loop().time())

    def _service(self, order: StepOrder, answer: AnswerCall) -> HostService:
        return HostService(answer, frozenset(order.tools), self._pause)

    def _pause(self, stop: bool) -> None:  # noqa: FBT001 - a callback
        """Stop all processes of the session while a tool runs, or let them continue."""
        self.first.pause(stop=stop, has_forks=bool(self._checkpoints))

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
        elif self.first.memory_ran_out or follower.out_of_memory:
            most, fields = self._limits.max_memory_bytes, {"out_of_memory": True}
            what = "the step" if len(self.first.chains) == 1 else "the step and the other branches"
            error = f"{what} took more than {most:,} bytes"
        else:
            error = follower.how_it_died()
        if not has_settled:
            return self._lose(turn, f"{error}; the session was ended", **fields)
        return turn.result(f"{error}; {_AS_BEFORE}", undone=True, **fields)

    def _drop_newest(self) -> None:
        self._release(self._chain.pop())

    def _release(self, holder: Holder) -> None:
        if not self.first.holds(holder):
            holder.channel.close()

    def _watch_memory(self) -> None:
        self.first.send_end(self.number, watch=True)

    def _end_all_others(self) -> None:
        """End every process of the session that holds no kept state."""
        self.first.send_end(self.number, sweep=True)

    async def _wake(self) -> bool:
        """Let the newest process continue, once all others have ended; False: it is closed."""
        if self._chain[-1].pid:
            self.first.send_end(self.number, wake=True)
        return await self.settle()

    async def settle(self) -> bool:
        """Wait until all processes that had to end have ended; if not, close the session: False."""
        first = self.first
        while first.is_open and first.sweeps_due:
            frame = await self.first.receive(_SWEEP_SECONDS)
            if frame is None:
                first.close()
                self.close()
                return False
            if isinstance(frame, Frame) and frame.kind is Kind.SWEPT:
                first.memory_ran_out |= frame.body["memory"]
                first.sweeps_due -= not frame.body["memory"]
                self._pool = self._pool if frame.body["memory"] else frame.body["pool"]
        return self.is_open and first.is_open

    def _lose(self, turn: StepCollector, reason: str, **ending: Any) -> ExecutionResult:
        self.close()
        if self._pool:
            reason = f"{reason}; no earlier state was kept, because of threads such as {self._pool}"
        return turn.result(f"{reason}; all variables are lost", state_lost=True, **ending)

    def _too_late(self) -> str:
        return f"the step was stopped after {self._limits.timeout_seconds:g} s"


def _is_fine(result: ExecutionResult) -> bool:
    return result.error is None and not result.undone


def _has_ended_well(ending: StepEnding, turn: StepCollector, follower: Follower) -> bool:
    """Whether the variables are from now on those of the fork."""
    is_whole = turn.is_done and not turn.ran_out_of_memory
    return ending is StepEnding.DONE and is_whole and bool(follower.pid)
