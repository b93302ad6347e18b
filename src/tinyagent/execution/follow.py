"""Following one step: its frames, its tool calls, its deadline, and how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum, auto

from tinyagent.execution.channel import Channel
from tinyagent.execution.turn import Turn
from tinyagent.execution.worker.wire import Frame, Kind, WireError

FORK_SECONDS = 3.0
_FINAL_SECONDS = 2.0  # after `final_answer`: for its files and figures to come
_FREE_SECONDS = 0.002  # what a tool takes beyond that is not the code's time
_FRAMES_AT_ONCE = 64
_LAST_FRAMES = 1024

Answer = Callable[[Frame], Awaitable[bytes]]


class Ending(Enum):
    """How a step ended."""

    DONE = auto()
    TIMED_OUT = auto()
    DIED = auto()
    NEVER_STARTED = auto()


class Follower:
    """Follows the step that runs in the process behind `step`.

    Args:
        turn: what collects its frames.
        answer: does a tool call and gives the frame to send back.
        seconds: that the code may take, tool calls apart.
        step: the process that runs the code.
        holder: the process that forks it, where it runs in a fork.
    """

    def __init__(
        self,
        turn: Turn,
        answer: Answer,
        seconds: float,
        step: Channel,
        holder: Channel | None = None,
    ) -> None:
        self._turn = turn
        self._answer = answer
        self._step = step
        self._holder = holder
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._started = self._deadline = 0.0
        self.pid = 0
        """Of the fork, as its parent says, which may be later than what the fork itself says."""
        self.status: int | None = None
        """The wait status of the fork, once it has died."""
        self._last_exit = -1, 0
        self.fault = ""
        """Why the step never started, or what was wrong with what it sent."""
        self.out_of_memory = False

    async def follow(self) -> Ending:
        """Until the step has ended.

        Raises:
            BaseException: what a tool raised that is no failure, such as the end of the run.
        """
        self._started = self._loop.time()  # now that the session is ready
        self._deadline = self._started + self._seconds
        channels = [channel for channel in (self._step, self._holder) if channel is not None]
        for channel in channels:
            channel.listen(self._wake.set)
        try:
            while True:
                await self._wait()
                ending = await self._take_frames() or self._state()
                if ending is not None:
                    return ending
        finally:
            for channel in channels:
                channel.unlisten()

    async def _take_frames(self) -> Ending | None:
        """Deal with what has arrived; now and then others must have their turn."""
        for _ in range(_FRAMES_AT_ONCE):
            frame = self._step.take()
            if frame is None:
                return None
            try:
                await self._take(frame)
            except WireError as fault:
                self.fault = str(fault)
                return Ending.DIED
            if self._turn.is_done and (self.pid or self._holder is None):
                return Ending.DONE
        await asyncio.sleep(0)
        self._wake.set()
        return None

    async def _take(self, frame: Frame) -> None:
        if frame.kind is Kind.FORKED:
            if not self.pid:
                self.pid = frame.body["pid"]
                self._deadline = self._loop.time() + self._seconds
        elif frame.kind is not Kind.CALL:
            self._turn.take(frame)
            if frame.kind is Kind.FINAL:
                self._deadline = min(self._deadline, self._loop.time() + _FINAL_SECONDS)
        elif not self._turn.is_final:  # after that, the block has ended
            if self._step.has_unsent():
                raise WireError("a tool call before the last answer was read")
            asked = self._loop.time()
            answer = await self._answer(frame)
            if self._step.has_call():
                raise WireError("a tool call before the last one was answered")
            self._step.send(answer)
            taken = self._loop.time() - asked
            # Were each call free, code that only calls would never come to its end.
            self._deadline += taken if taken > _FREE_SECONDS else 0.0

    def _state(self) -> Ending | None:
        """How things stand beside the frames of the step."""
        if self._holder is not None:
            self._hear_holder(self._holder)
            if self.status is not None:
                return self._last_frames()
            if not self.pid:
                ended = self.fault or not self._step.is_open or self._fork_is_late()
                return Ending.NEVER_STARTED if ended else None
        if not self._step.is_open and self._is_last_word():
            self.fault = self._step.fault
            return Ending.DIED
        if self._loop.time() >= self._deadline:
            return Ending.DONE if self._turn.is_final else Ending.TIMED_OUT
        return None

    def _is_last_word(self) -> bool:
        """Whether nobody is left who could tell how the process ended."""
        return self._holder is None or not self._holder.is_open or bool(self._step.fault)

    def _hear_holder(self, holder: Channel) -> None:
        for _ in range(_FRAMES_AT_ONCE):
            if (frame := holder.take()) is None:
                break
            if frame.kind is Kind.EXITED:
                self._last_exit = frame.body["pid"], frame.body["status"]
            elif frame.kind is Kind.FAILED:
                self.fault = frame.body["error"]
            elif frame.kind is Kind.SWEPT and frame.body["memory"]:
                self.out_of_memory = True
        else:  # others must have their turn
            self._wake.set()
        # The end of an earlier step that was killed may be told this late.
        if self._last_exit[0] == self.pid:
            self.status = self._last_exit[1]
        if not holder.is_open:
            self.fault = self.fault or "the process that holds the variables is gone"

    def _fork_is_late(self) -> bool:
        return self._loop.time() > self._started + FORK_SECONDS

    def _last_frames(self) -> Ending:
        """The step's process has died: what it sent before is still there."""
        for _ in range(_LAST_FRAMES):  # a child of the dead process may send on and on
            if (frame := self._step.take()) is None:
                break
            try:
                if frame.kind not in {Kind.CALL, Kind.FORKED}:
                    self._turn.take(frame)
            except WireError as fault:
                self.fault = str(fault)
                break
        return Ending.DIED

    async def _wait(self) -> None:
        late = self._deadline
        if self._holder is not None and not self.pid:
            late = self._started + FORK_SECONDS + 0.01
        if not self._wake.is_set():
            timer = self._loop.call_at(late, self._wake.set)
            await self._wake.wait()
            timer.cancel()
        else:
            await asyncio.sleep(0)
        self._wake.clear()
