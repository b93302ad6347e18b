"""The code's door to the host: its output, its tools, its answer.

It lives as long as the session, so that what an earlier step has kept of it (a tool in a variable,
a logger on standard error) still works in a later one, over that step's link.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from threading import RLock
from typing import Any

from ..codec.budget import Budget
from ..codec.values import decode, encode
from ..codec.wire import Kind, WireError
from .link import Link
from .output import OutputSink, open_output


class FinalAnswerGiven(BaseException):
    """Ends the block; the host has the answer already, so raising it forges none."""


class Door:
    """What the code reaches the host by.

    Args:
        max_output_bytes: what is passed on of one step's output.
    """

    def __init__(self, max_output_bytes: int) -> None:
        self._link: Link | None = None
        self._max_output_bytes = max_output_bytes
        self._turn = RLock()
        self._sink = OutputSink(self._print, max_output_bytes)
        self._stream = open_output(self._sink)

    def open(self, link: Link) -> None:
        """Start a step, which is heard over `link`."""
        self._link = link
        self._turn = RLock()  # a thread that is gone since a fork may have held the last one
        self._sink.begin()
        if not _is_usable(self._stream):
            self._sink = OutputSink(self._print, self._max_output_bytes)
            self._stream = open_output(self._sink)
        sys.stdout = sys.stderr = self._stream

    def close(self) -> tuple[str, int]:
        """End the output; gives the last part of what is over the limit, and what is lost."""
        self._flush()
        return self._sink.ending()

    def tool(self, name: str) -> Callable[..., Any]:
        """The function by which the code calls a tool of the host."""

        def tool(*args: Any, **kwargs: Any) -> Any:
            return self._ask(name, args, kwargs)

        tool.__name__ = tool.__qualname__ = name
        return tool

    def final_answer(self, value: Any, **metadata: Any) -> None:
        """End the block with the answer."""
        self._flush()
        _check_names(metadata)
        blobs = bytearray()
        with _told_to_the_code():
            budget = Budget(of_code=True)
            body = {"value": encode(value, blobs, budget)}
            body["metadata"] = encode(metadata, blobs, budget)
            self.send(Kind.FINAL, body, bytes(blobs))
        raise FinalAnswerGiven

    def send(self, kind: Kind, body: dict[str, Any], blob: bytes = b"") -> None:
        """Send a frame over the link of the step that runs."""
        if self._link is not None:
            self._link.send(kind, body, blob)

    def _print(self, text: str) -> None:
        self.send(Kind.OUTPUT, {"text": text})

    def _flush(self) -> None:
        with suppress(ValueError):  # the code closed it
            self._stream.flush()

    def _ask(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._link is None:
            raise RuntimeError(f"{name} was called while no step runs")
        _check_names(kwargs)
        with self._turn:
            self._flush()
            blobs = bytearray()
            with _told_to_the_code():
                budget = Budget(of_code=True)
                body = {"id": 0, "name": name, "args": encode(list(args), blobs, budget)}
                body["kwargs"] = encode(kwargs, blobs, budget)
                self.send(Kind.CALL, body, bytes(blobs))
            answer = self._link.receive()
        error = answer.body.get("error")
        if error is None:
            return decode(answer.body["value"], answer.blob)
        raise _raised(error["type"], decode(error["args"], answer.blob), error["message"])


def _is_usable(stream: TextIOWrapper) -> bool:
    """Whether the code has neither closed it nor taken it apart."""
    try:
        return not stream.closed
    except ValueError:
        return False


def _check_names(keywords: dict[str, Any]) -> None:
    wrong = [name for name in keywords if not name.isidentifier()]
    if wrong:
        raise TypeError(f"{wrong[0]!r} cannot be the name of an argument")


@contextmanager
def _told_to_the_code() -> Generator[None]:
    """What is too large to cross is the code's to mend."""
    try:
        yield
    except WireError as fault:
        raise ValueError(str(fault)) from None


def _raised(name: str, args: list[Any], message: str) -> Exception:
    """The exception that the tool raised; one of a type unknown here as a RuntimeError."""
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        with suppress(TypeError):
            return kind(*args)
    return RuntimeError(f"{name}: {message}")
