"""Signals: what a code agent reports about its own thinking.

`uncertain`, `explore` and `commit` send a `Signal` to the collector of the current context, so
concurrent runs do not mix. Code in a sandbox calls the functions that `signal_functions` returns
because the sandbox does not share the context.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from tinyagent.core.logs import logger
from tinyagent.core.untrusted import cut_middle

MAX_CHARS = 2_000
"""Longer messages are cut in the middle."""


class SignalType(StrEnum):
    """The kind of a signal: a doubt, an exploration, a decision."""

    UNCERTAIN = "uncertain"
    EXPLORE = "explore"
    COMMIT = "commit"


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal; `step` is the number (from 1) of the step that sent it."""

    type: SignalType
    message: str
    timestamp: datetime
    step: int

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "type": self.type.value,
            "message": self.message,
            "timestamp": self.timestamp.isoformat(),
            "step": self.step,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Signal:
        """Read the JSON form; raises KeyError or ValueError for a missing or wrong part."""
        when = datetime.fromisoformat(data["timestamp"])
        return cls(SignalType(data["type"]), data["message"], when, data["step"])


SignalHandler = Callable[[Signal], None]
CurrentStep = Callable[[], int]


class Collector(NamedTuple):
    """Receives signals and knows the number of the current step."""

    handle: SignalHandler
    step: CurrentStep


def _no_step() -> int:
    return 0


_current: ContextVar[Collector | None] = ContextVar("signal_collector", default=None)


def uncertain(msg: object) -> None:
    """Report a doubt."""
    _send(_current.get(), SignalType.UNCERTAIN, msg)


def explore(msg: object) -> None:
    """Report what is being tried out."""
    _send(_current.get(), SignalType.EXPLORE, msg)


def commit(msg: object) -> None:
    """Report a decision."""
    _send(_current.get(), SignalType.COMMIT, msg)


def set_signal_collector(
    handler: SignalHandler | None, step: CurrentStep = _no_step
) -> Token[Collector | None]:
    """Send the signals of this context, and of the tasks it starts, to `handler`.

    Args:
        handler: Receives each signal at once; an exception that it raises reaches the sender. None
            stops collecting: signals are then only logged, at debug level.
        step: Returns the number of the current step; without it, the number is 0.

    Returns:
        A token for `reset_signal_collector`.
    """
    return _current.set(None if handler is None else Collector(handler, step))


def reset_signal_collector(token: Token[Collector | None]) -> None:
    """Restore the previous collector; raises ValueError in another context."""
    _current.reset(token)


@contextmanager
def collect_signals(handler: SignalHandler, step: CurrentStep = _no_step) -> Generator[None]:
    """Send the signals of the block to `handler`, like `set_signal_collector`."""
    token = set_signal_collector(handler, step)
    try:
        yield
    finally:
        reset_signal_collector(token)


def signal_functions(
    handler: SignalHandler, step: CurrentStep = _no_step
) -> Mapping[str, Callable[[object], None]]:
    """The three functions by name, bound to `handler`: they work in any thread and context."""
    collector = Collector(handler, step)
    return {kind.value: partial(_send, collector, kind) for kind in SignalType}


def _send(collector: Collector | None, kind: SignalType, msg: object) -> None:
    message = cut_middle(str(msg), MAX_CHARS)
    if collector is None:
        logger.debug("a signal without a collector: %s: %s", kind.value, message)
        return
    collector.handle(Signal(kind, message, datetime.now(UTC), collector.step()))
