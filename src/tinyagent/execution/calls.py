"""Doing on the host what the code asks for: a call of a tool."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from tinyagent.core.threads import run_in_thread
from tinyagent.core.untrusted import cut_middle
from tinyagent.execution.worker.values import encode
from tinyagent.execution.worker.wire import Frame, Kind, WireError, kind_of, pack_parts

MAX_ERROR = 20_000
"""Characters of an error that the code gets to see."""
_MAX_ARGS = 10
_INT_BITS = 64
_SMALL_TEXT = 10_000


Parts = tuple[bytes, bytes | bytearray]


class Reply(NamedTuple):
    """The answer to a call, as the parts of its frame, and how long the tool itself took."""

    parts: Parts
    seconds: float = 0.0


@dataclass(slots=True)
class _Outcome:
    """What a function gave or raised, and how long it took itself."""

    value: Any = None
    error: Exception | None = None
    seconds: float = 0.0

    @contextmanager
    def watched(self) -> Generator[None]:
        """Note what happens inside."""
        began = time.monotonic()
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the code sees it and may deal with it
            self.error = error
        finally:
            self.seconds += time.monotonic() - began


async def answer_call(tools: Mapping[str, Callable[..., Any]], call: Frame) -> Reply:
    """The answer to a CALL whose arguments are decoded: the tool's result, or what it raised.

    Raises:
        BaseException: what a tool raised that is no `Exception`, such as a cancellation.
    """
    number, name = call.body["id"], call.body["name"]
    tool = tools.get(name)
    if tool is None:
        return Reply(_failed(number, NameError(f"there is no tool {name!r}")))
    outcome = _Outcome()
    if _is_async(tool):
        with outcome.watched():
            outcome.value = await tool(*call.body["args"], **call.body["kwargs"])
    else:
        await run_in_thread(_do, outcome=outcome, tool=tool, body=call.body)
        if inspect.isawaitable(outcome.value):
            with outcome.watched():
                outcome.value = await outcome.value
    return Reply(await _packed(number, name, outcome), outcome.seconds)


def _is_async(tool: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(
        getattr(tool, "__call__", None)  # noqa: B004 - a callable object with an async __call__
    )


def _do(outcome: _Outcome, tool: Callable[..., Any], body: Mapping[str, Any]) -> None:
    with outcome.watched():
        outcome.value = tool(*body["args"], **body["kwargs"])


async def _packed(number: int, name: str, outcome: _Outcome) -> Parts:
    if outcome.error is not None:
        return _failed(number, outcome.error)
    try:
        if _is_small(outcome.value):
            return _returned(number, outcome.value)
        parts: Parts = await run_in_thread(_returned, number=number, value=outcome.value)
    except WireError as fault:
        return _failed(number, ValueError(f"the result of {name}: {fault}"))
    return parts


def _is_small(value: Any) -> bool:
    kind = kind_of(value)
    return value is None or kind in {bool, int, float} or (kind is str and len(value) < _SMALL_TEXT)


def _returned(number: int, value: Any) -> Parts:
    blobs = bytearray()
    body = {"id": number, "value": encode(value, blobs)}
    return pack_parts(Kind.RETURN, body, blobs)


def _failed(number: int, error: Exception) -> Parts:
    """The error as the code sees it: bounded, as it may repeat all that the tool was given."""
    message = _text_of(error)
    args: list[Any] = [_shortened(item) for item in error.args]
    if len(args) > _MAX_ARGS or not all(map(_is_plain, args)):
        args = [message]
    blobs = bytearray()
    told = {"type": type(error).__name__, "args": encode(args, blobs), "message": message}
    return pack_parts(Kind.RETURN, {"id": number, "error": told}, blobs)


def _text_of(error: Exception) -> str:
    text = _Outcome()
    with text.watched():
        text.value = str(error)
    said: str = "an error whose text cannot be had" if text.error else text.value
    return cut_middle(said, MAX_ERROR)


def _shortened(item: Any) -> Any:
    return cut_middle(item, MAX_ERROR) if isinstance(item, str) else item


def _is_plain(item: Any) -> bool:
    is_number = isinstance(item, int) and item.bit_length() <= _INT_BITS
    return is_number or isinstance(item, str | float | None)
