"""The code's door to the host: its output, its tools, its answer.

It lives as long as the session, so that what an earlier step has stored of it (a tool in a
variable, a logger on standard error) still works in a later step, over that step's link.
"""

from __future__ import annotations

import builtins
import codecs
import io
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from threading import RLock
from typing import Any, cast

from ..codec.budget import Budget
from ..codec.values import decode, encode
from ..codec.wire import Kind, WireError
from .link import Link

_PIECE = 1 << 16  # bytes that go in one message, and that are kept of the end at most


class OutputSink(io.RawIOBase):
    """The end of standard output: passes text on up to the limit, then keeps the last part only.

    Args:
        send: Takes each piece of text.
        max_bytes: What is passed on of each step, in UTF-8; the last part is kept of the rest.
    """

    def __init__(self, send: Callable[[str], None], max_bytes: int) -> None:
        self._send = send
        self._max_bytes = max_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.begin()

    def begin(self) -> None:
        """Start a step: nothing has been printed."""
        self._room = self._max_bytes
        self._tail = b""
        self._skipped = 0
        self._decoder.reset()

    def writable(self) -> bool:
        """Yes."""
        return True

    def write(self, data: object, /) -> int:
        """Accept all the bytes."""
        view = memoryview(data).cast("B")  # type: ignore[arg-type]  # a buffer, as io promises
        head = view[: self._room]
        self._room -= len(head)
        for start in range(0, len(head), _PIECE):
            text = self._decoder.decode(bytes(head[start : start + _PIECE]))
            if text:
                self._send(text)
        rest = len(view) - len(head)
        if rest:
            tail_size = min(self._max_bytes // 2, _PIECE)
            last = bytes(view[max(len(head), len(view) - tail_size) :])
            tail = (self._tail + last)[-tail_size:]
            self._skipped += len(self._tail) + rest - len(tail)
            self._tail = tail
        return len(view)

    def ending(self) -> tuple[str, int]:
        """The last part beyond the limit, and how many bytes before it are lost."""
        return self._tail.decode("utf-8", "replace"), self._skipped


def open_output(sink: OutputSink) -> io.TextIOWrapper:
    """A text stream into the sink, flushed at each line.

    There is no buffered writer in between: a thread may hold its lock while the process forks.
    """
    return io.TextIOWrapper(
        cast("io.BufferedWriter", sink),
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=True,
    )


class FinalAnswerGiven(BaseException):
    """Ends the block. The host has the answer already, so raising it forges nothing."""


class Door:
    """The functions by which the code reaches the host.

    Args:
        max_output_bytes: What is passed on of one step's output.
    """

    def __init__(self, max_output_bytes: int) -> None:
        self._link: Link | None = None
        self._max_output_bytes = max_output_bytes
        self._turn = RLock()
        self._sink = OutputSink(self._print, max_output_bytes)
        self._stream = open_output(self._sink)

    def open(self, link: Link) -> None:
        """Start a step, which talks to the host over `link`."""
        self._link = link
        self._turn = RLock()  # a thread that is gone since a fork may have held the last one
        self._sink.begin()
        if not _is_usable(self._stream):
            self._sink = OutputSink(self._print, self._max_output_bytes)
            self._stream = open_output(self._sink)
        sys.stdout = sys.stderr = self._stream

    def close(self) -> tuple[str, int]:
        """End the output; returns the last part beyond the limit, and how many bytes are lost."""
        self._flush()
        return self._sink.ending()

    def tool(self, name: str) -> Callable[..., Any]:
        """The function with which the code calls a tool of the host."""

        def tool(*args: Any, **kwargs: Any) -> Any:
            return self._ask(name, args, kwargs)

        tool.__name__ = tool.__qualname__ = name
        return tool

    def answer(self) -> Callable[..., None]:
        """The function with which the code gives its answer; several values are a list."""

        def final_answer(*values: Any, **metadata: Any) -> None:
            if not values and "value" in metadata:
                values = (metadata.pop("value"),)
            if not values:
                raise TypeError("final_answer needs the answer: final_answer(value)")
            self._finish(values[0] if len(values) == 1 else list(values), metadata)

        final_answer.__qualname__ = "final_answer"
        return final_answer

    def _finish(self, value: Any, metadata: dict[str, Any]) -> None:
        """End the block with the answer."""
        self._flush()
        _check_names(metadata)
        blobs = bytearray()
        with _reported_to_the_code():
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
            with _reported_to_the_code():
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
    """Whether the code has neither closed nor detached it."""
    try:
        return not stream.closed
    except ValueError:
        return False


def _check_names(keywords: dict[str, Any]) -> None:
    wrong = [name for name in keywords if not name.isidentifier()]
    if wrong:
        raise TypeError(f"{wrong[0]!r} cannot be the name of an argument")


@contextmanager
def _reported_to_the_code() -> Generator[None]:
    """Raise what is too large to cross as an error of the code."""
    try:
        yield
    except WireError as fault:
        raise ValueError(str(fault)) from None


def _raised(name: str, args: list[Any], message: str) -> Exception:
    """The exception that the tool raised; a RuntimeError if its type is unknown here."""
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        with suppress(TypeError):
            return kind(*args)
    return RuntimeError(f"{name}: {message}")
