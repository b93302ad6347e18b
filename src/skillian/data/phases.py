"""What a long comparison is doing, for those who wait for it.

A caller names the function that is called with each phase, for all that it then awaits; without
one, phases are not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[str, int], None]
"""Called with the name of a source and the number of its rows that have arrived."""

_report: ContextVar[Callable[[str], None] | None] = ContextVar("report", default=None)


@contextmanager
def reporting(report: Callable[[str], None]) -> Generator[None]:
    """Report each phase to a function until the context ends."""
    token = _report.set(report)
    try:
        yield
    finally:
        _report.reset(token)


@contextmanager
def within(words: str) -> Generator[None]:
    """Put these words before the phases that are reported until the context ends."""
    outer = _report.get()
    if outer is None:
        yield
        return
    outer(words)
    with reporting(lambda phase: outer(f"{words}: {phase}")):
        yield


def phase(words: str, rows: int | None = None) -> None:
    """Report what begins or continues, such as `joining`, and how many rows it has had so far."""
    report = _report.get()
    if report is not None:
        report(words if rows is None else f"{words}: {rows:,} rows")
