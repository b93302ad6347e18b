"""A session of LOCAL code: its variables and all that its steps have in common."""

from __future__ import annotations

import contextvars
import pprint
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Self

from tinyagent.execution.local.builtins import make_builtins
from tinyagent.execution.local.guards import Guards
from tinyagent.execution.local.modules import Modules
from tinyagent.execution.local.names import CHECK, LAST
from tinyagent.execution.worker.scalars import check_numbers

if TYPE_CHECKING:
    from tinyagent.execution.local.step import Step

_SLICE_SECONDS = 0.02
_OUTSIDE_SECONDS = 5.0
_PAUSE_SECONDS = 0.5


class Stopped(BaseException):
    """The step is over: its time, its answer, or the caller's word. The code never keeps it."""


class HostCall:
    """A function of the host, as the code sees it: it can be called, and that is all."""

    __slots__ = ("__name__", "_function", "_session")

    def __init__(self, session: Session, name: str, function: Callable[..., Any]) -> None:
        self.__name__ = name
        self._session = session
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it on the host, while the clock of the step stands still."""
        check_numbers(args, kwargs)
        return self._session.running().call_host(self._function, args, kwargs)

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: Any) -> Self:
        return self

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError("a function of the host cannot be copied")


class _Outside:
    """The code's functions may be called between its steps, by the host that was given them.

    So may its generators be closed, in whatever thread the garbage collector happens to run: what
    would go on in there is ended, as no clock runs for it.
    """

    def __init__(self) -> None:
        self._since = self._last = 0.0

    def check(self) -> None:
        """Leave a generator that is being closed, and whatever does not come to an end.

        Raises:
            GeneratorExit: to close it quietly.
            TimeoutError: calls followed each other for too long.
        """
        if isinstance(sys.exception(), GeneratorExit):
            raise GeneratorExit
        now = time.monotonic()
        if now - self._last > _PAUSE_SECONDS:
            self._since = now
        self._last = now
        if now - self._since > _OUTSIDE_SECONDS:
            raise TimeoutError(f"code outside of a step ran on for {_OUTSIDE_SECONDS:g} s")


class Session:
    """Variables, guards and modules.

    Args:
        extra_imports: what the calling program allows besides the usual modules.
    """

    def __init__(self, extra_imports: frozenset[str]) -> None:
        self.check = self._make_check()
        self.context = contextvars.Context()
        self.variables: dict[str, Any] = {}
        self.helpers = frozenset[str]()
        guards = Guards(self.variables)
        printing = {"pprint": self._pprint, "pp": self._pprint}
        added: dict[str, dict[str, Any]] = {"time": {"sleep": self._sleep}, "pprint": printing}
        self._modules = Modules(guards, extra_imports, added)
        self._guards = guards
        self._builtins = make_builtins(guards) | {
            "__import__": self._modules.load,
            "print": self._print,
            CHECK: self.check,
            LAST: self._last,
        }

    @property
    def allow(self) -> frozenset[str]:
        """The modules that may be imported."""
        return self._modules.allow

    def bind(self, step: Step, injected: Mapping[str, Any]) -> None:
        """Make ready for a step: what the host offers is bound anew."""
        self._steps[0] = step
        self.variables["__name__"] = "__main__"
        self.variables["__builtins__"] = self._builtins
        for name, value in injected.items():
            made = HostCall(self, name, value) if callable(value) else value
            self.variables[name] = made
        self.variables["final_answer"] = self._final_answer
        functions = {name for name, value in injected.items() if callable(value)}
        self.helpers = frozenset({*functions, "final_answer"})

    def running(self) -> Step:
        """The step that runs.

        Raises:
            Stopped: it is over.
            RuntimeError: none does.
        """
        step = self.step
        if step is None:
            raise RuntimeError("this works only while the code runs")
        self.check()
        return step

    @property
    def step(self) -> Step | None:
        """The step that runs, if one does."""
        return self._steps[0]

    def end(self) -> None:
        """Take note that no step runs; functions of the code can still be called."""
        self._steps[0] = None

    def _make_check(self) -> Callable[[], None]:
        steps: list[Step | None] = [None]
        self._steps = steps
        outside = _Outside()

        def check() -> None:
            """Stop here if the step is over; a closure, as every loop and function calls it."""
            step = steps[0]
            if step is None:
                outside.check()
            elif step.watch.over:
                raise Stopped

        return check

    def _last(self, value: Any) -> None:
        if value is not None:
            self.running().set_value(value, repr(value))

    def _final_answer(self, value: Any, **metadata: Any) -> NoReturn:
        """End the block with the answer."""
        step = self.running()
        check_numbers(value, metadata)
        step.final = (value, metadata)
        step.watch.over = True
        raise Stopped

    def _print(
        self,
        *values: Any,
        sep: str | None = " ",
        end: str | None = "\n",
        file: Any = None,
        flush: bool = False,
    ) -> None:
        """Print values, or write them to a text buffer."""
        del flush
        text = (" " if sep is None else sep).join(map(str, values)) + ("\n" if end is None else end)
        if file is None:
            self.running().output.write(text)
        else:
            self._guards.getattr(file, "write")(text)

    def _pprint(self, value: Any, **options: Any) -> None:
        """Print a value over several lines."""
        self._print(pprint.pformat(value, **options))

    def _sleep(self, seconds: float) -> None:
        """Wait, within the time limit."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.check()
            time.sleep(min(left, _SLICE_SECONDS))
