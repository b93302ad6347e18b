"""Whose call a tool answers: what it keeps from call to call belongs to one session."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_SESSION: ContextVar[str] = ContextVar("skillian_session", default="")


def session_id() -> str:
    """The session of the call that is under way; empty where each call stands alone."""
    return _SESSION.get()


@contextmanager
def in_session(name: str) -> Generator[None, None, None]:
    """What is called in this block, and the tasks that it starts, belong to the session `name`.

    Nothing may be yielded out of the block: a generator's caller would be in the session too.
    """
    token = _SESSION.set(name)
    try:
        yield
    finally:
        _SESSION.reset(token)
