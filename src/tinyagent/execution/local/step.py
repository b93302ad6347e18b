"""One step of LOCAL code, in a daemon thread of its own, with its clock."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import inspect
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any

from tinyagent.core.errors import ExecutionTimeout
from tinyagent.core.untrusted import cut_middle
from tinyagent.execution.deadline import Watch, deadline
from tinyagent.execution.local.compile import CodeRefused, compile_local
from tinyagent.execution.local.figures import begin_step, take_figures
from tinyagent.execution.local.output import Output
from tinyagent.execution.local.session import Session, Stopped
from tinyagent.execution.worker.hints import hint
from tinyagent.execution.worker.reprs import attempt
from tinyagent.execution.worker.tracebacks import describe

GRACE_SECONDS = 0.2
"""After its time the code has this long to end; then its thread is left behind."""
MAX_VALUE_CHARS = 10_000
_DRAWING_SECONDS = 10.0
_LEFT_BEHIND = (
    "It was inside a call that cannot be interrupted (a loop in C). Its thread is left behind, "
    "and the variables of the session are gone with it."
)


class Step:
    """The run of one piece of code.

    Args:
        session: whose variables it uses.
        source: the code.
        filename: the name it is compiled under.
        seconds: its time limit.
        output: where it prints.
    """

    def __init__(
        self, session: Session, source: str, filename: str, seconds: float, output: Output
    ) -> None:
        self.watch = Watch(seconds, Stopped)
        self.output = output
        self.final: tuple[Any, dict[str, Any]] | None = None
        self.value: Any = None
        self.value_text = ""
        self.error: str | None = None
        self.figures: Sequence[bytes] = ()
        self.out_of_memory = self.timed_out = self.left_behind = False
        self._session = session
        self._source = source
        self._filename = filename
        self._seconds = seconds
        self._killed = self._finished = False
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._caller = contextvars.copy_context()
        self._asked: concurrent.futures.Future[Any] | None = None
        self._thread = threading.Thread(target=self._work, name="tinyagent-code", daemon=True)

    async def run(self) -> None:
        """Start it and wait until it has ended, or until it is past its time and the grace."""
        self._thread.start()
        late = self._loop.call_later(self._seconds + GRACE_SECONDS, self._look)
        try:
            await asyncio.shield(self._ended)
        except asyncio.CancelledError:
            self.stop()
            await asyncio.wait([self._ended])
            raise
        finally:
            late.cancel()
            self.left_behind = not self._finished
        self.output.flush()

    def stop(self) -> None:
        """End it now; on the loop."""
        self._killed = True
        self.watch.expire()
        asked = self._asked
        if asked is not None:
            asked.cancel()
        self._loop.call_later(GRACE_SECONDS, self._settle)

    def _look(self) -> None:
        """Give it up if it is late; its clock may have stood still meanwhile."""
        remaining = 0.0 if self.watch.paused else self.watch.remaining
        if remaining + GRACE_SECONDS <= 0:
            self._settle()
        elif not self._ended.done():
            self._loop.call_later(remaining + GRACE_SECONDS, self._look)

    def _settle(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def explain(self) -> None:
        """Say what ended it, where it did not end by itself."""
        if self.final is not None:
            self.error, self.timed_out = None, False
        elif self._killed:
            self.error = f"{self.error or ''}Stopped by the calling program."
        elif self.left_behind:
            self.timed_out = True
            where = _line_of(self._thread.ident, self._filename)
            self.error = f"{where}{_over(self._seconds)} {_LEFT_BEHIND}"

    # in the code's thread

    def _work(self) -> None:
        trace: TracebackType | None = None
        given = begin_step()
        try:
            with self.watch:
                self._run()
        except Stopped as stopped:
            trace = stopped.__traceback__
        if self.watch.over:  # even if the code kept it from being raised: in a finalizer, say
            self._note_end(trace)
        if not (self._killed or self.timed_out):
            self._take_figures(given)
        self._finished = True
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._settle)

    def _run(self) -> None:
        try:
            session = self._session
            code = compile_local(self._source, self._filename, session.allow, session.helpers)
            session.context.run(exec, code, session.variables)
        except CodeRefused as refused:
            self.error = str(refused)
        except Stopped:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever the code raises is its result
            if self.watch.over:  # what `except*` makes of being stopped
                raise Stopped().with_traceback(error.__traceback__) from None
            self.out_of_memory = isinstance(error, MemoryError)
            said = describe(error, self._source, self._filename)
            self.error = said + _hint(error, list(self._session.variables))

    def _take_figures(self, given: Any) -> None:
        """Draw what the code left open, with a clock of its own."""
        self.watch.pause()  # the step is not late meanwhile
        try:
            with deadline(_DRAWING_SECONDS):
                self.figures, remarks = take_figures(given)
        except ExecutionTimeout:
            remarks = [f"the figures were not drawn within {_DRAWING_SECONDS:g} s"]
        for remark in remarks:
            self.output.write(f"[{remark}]\n")

    def _note_end(self, trace: TracebackType | None) -> None:
        """Tell where the code was when it was stopped."""
        if self._killed or self.final is not None:
            return
        over = TimeoutError(_over(self._seconds)).with_traceback(trace)
        self.timed_out = True
        self.error = describe(over, self._source, self._filename)

    def set_value(self, value: Any, text: str) -> None:
        """Keep the last expression's value."""
        self.value = value
        self.value_text = cut_middle(text, MAX_VALUE_CHARS)

    def call_host(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call a function of the host, in the caller's context, while the clock stands still."""
        self.watch.pause()
        try:
            result = self._caller.copy().run(function, *args, **kwargs)
            if inspect.isawaitable(result):
                result = self._await(result)
        finally:
            self.watch.resume()
        self._session.check()
        return result

    def _await(self, awaitable: Awaitable[Any]) -> Any:
        asked = self._caller.copy().run(
            asyncio.run_coroutine_threadsafe, _as_coroutine(awaitable), self._loop
        )
        self._asked = asked
        if self.watch.over:
            asked.cancel()
        try:
            return asked.result()
        finally:
            self._asked = None


async def _as_coroutine(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _hint(error: BaseException, variables: list[str]) -> str:
    """Names near to one that is not there; of Python's own errors: any other's `name` is code."""
    if type(error) not in {NameError, AttributeError} or type(getattr(error, "name", 0)) is not str:
        return ""
    return attempt(partial(hint, error), variables) or ""


def _over(seconds: float) -> str:
    return f"the time limit of {seconds:g} s is over (time in tools does not count)."


def _line_of(thread: int | None, filename: str) -> str:
    """The line of the code that the thread is at."""
    frame = sys._current_frames().get(thread or 0)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename != filename:
        frame = frame.f_back
    return "" if frame is None else f"At line {frame.f_lineno}: "
