"""Giving signals: a doubt, a look around, a decision.

`uncertain`, `explore` and `commit` give theirs to the collector of the current context, so runs
side by side do not mix. Code in a sandbox is given `signal_functions`: it has no context of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from tinyagent.core.logs import logger
from tinyagent.core.signals import Signal, SignalType
from tinyagent.core.text import cut_middle

MAX_CHARS = 2_000
"""A longer message is cut in the middle."""

SignalHandler = Callable[[Signal], None]
CurrentStep = Callable[[], int]


class Collector(NamedTuple):
    """Who is given the signals, and who knows the step's number."""

    handle: SignalHandler
    step: CurrentStep


def _no_step() -> int:
    return 0


_current: ContextVar[Collector | None] = ContextVar("signal_collector", default=None)


def uncertain(msg: object) -> None:
    """Say what is in doubt."""
    _give(_current.get(), SignalType.UNCERTAIN, msg)


def explore(msg: object) -> None:
    """Say what is being looked at."""
    _give(_current.get(), SignalType.EXPLORE, msg)


def commit(msg: object) -> None:
    """Say what is decided."""
    _give(_current.get(), SignalType.COMMIT, msg)


def set_signal_collector(
    handler: SignalHandler | None, step: CurrentStep = _no_step
) -> Token[Collector | None]:
    """Have the signals of this context, and of the tasks it starts, given to `handler`.

    Args:
        handler: takes each signal as it is given; what it raises reaches whoever gave it. None
            stops collecting: signals are then only logged, at debug level.
        step: tells the number of the step that is going on; without it, it is 0.

    Returns:
        What `reset_signal_collector` takes.
    """
    return _current.set(None if handler is None else Collector(handler, step))


def reset_signal_collector(token: Token[Collector | None]) -> None:
    """Go back to the collector there was before; raises ValueError in another context."""
    _current.reset(token)


@contextmanager
def collect_signals(handler: SignalHandler, step: CurrentStep = _no_step) -> Generator[None]:
    """Have the signals given within the block given to `handler`, as `set_signal_collector`."""
    token = set_signal_collector(handler, step)
    try:
        yield
    finally:
        reset_signal_collector(token)


def signal_functions(
    handler: SignalHandler, step: CurrentStep = _no_step
) -> Mapping[str, Callable[[object], None]]:
    """The three functions by name, bound to a handler: they work in any thread and context."""
    collector = Collector(handler, step)
    return {kind.value: partial(_give, collector, kind) for kind in SignalType}


def _give(collector: Collector | None, kind: SignalType, msg: object) -> None:
    message = cut_middle(str(msg), MAX_CHARS)
    if collector is None:
        logger.debug("a signal that nobody collects: %s: %s", kind.value, message)
        return
    collector.handle(Signal(kind, message, datetime.now(UTC), collector.step()))
