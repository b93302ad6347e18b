"""What the code gets from the host: names, and answers to its tool calls."""

from __future__ import annotations

import inspect
import keyword
import time
import unicodedata
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.threads import run_in_thread
from tinyagent.core.untrusted import cut_middle
from tinyagent.execution.sandbox.worker.codec.values import encode
from tinyagent.execution.sandbox.worker.codec.wire import (
    Frame,
    Kind,
    WireError,
    kind_of,
    pack_parts,
)

FINAL_ANSWER = "final_answer"
"""The one function that every step has."""
MAX_ERROR = 20_000
"""Characters of an error that the code sees at most."""
_MAX_ARGS = 10
_INT_BITS = 64
_SMALL_TEXT = 10_000


Parts = tuple[bytes, bytes | bytearray]


class ToolReply(NamedTuple):
    """The answer to a call, as the parts of its frame, and the seconds that the tool took."""

    parts: Parts
    seconds: float = 0.0


@dataclass(slots=True)
class _Outcome:
    """The value or error of a function, and how many seconds it took."""

    value: Any = None
    error: Exception | None = None
    seconds: float = 0.0

    @contextmanager
    def watched(self) -> Generator[None]:
        """Record errors and time of the block."""
        began = time.monotonic()
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the code sees it and may deal with it
            self.error = error
        finally:
            self.seconds += time.monotonic() - began


def check_name(name: str) -> None:
    """Check that something may be injected under this name.

    Raises:
        ConfigurationError: It is not an identifier, or Python or the executor uses it.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ConfigurationError(f"inject {name!r}: it cannot be a name in Python code")
    plain = unicodedata.normalize("NFKC", name)
    if plain == FINAL_ANSWER:
        raise ConfigurationError(
            f"inject {name!r}: the name is reserved; {FINAL_ANSWER} exists already, and its "
            "arguments are in the result"
        )
    if plain.startswith("__"):
        raise ConfigurationError(f"inject {name!r}: the name is reserved for Python itself")
    if plain != name:
        raise ConfigurationError(f"inject {name!r}: Python reads it as {plain!r}; use that name")


async def answer_call(tools: Mapping[str, Callable[..., Any]], call: Frame) -> ToolReply:
    """The answer to a CALL whose arguments are decoded: the tool's result, or what it raised.

    Raises:
        BaseException: A tool raised something other than an `Exception`, as on cancellation.
    """
    number, name = call.body["id"], call.body["name"]
    tool = tools.get(name)
    if tool is None:
        return ToolReply(_failed(number, NameError(f"there is no tool {name!r}")))
    outcome = _Outcome()
    if _is_async(tool):
        with outcome.watched():
            outcome.value = await tool(*call.body["args"], **call.body["kwargs"])
    else:
        await run_in_thread(_do, outcome=outcome, tool=tool, body=call.body)
        if inspect.isawaitable(outcome.value):
            with outcome.watched():
                outcome.value = await outcome.value
    return ToolReply(await _packed(number, name, outcome), outcome.seconds)


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
    """The error as the code sees it: bounded, because it may repeat the tool's arguments."""
    message = _text_of(error)
    args: list[Any] = [_shortened(item) for item in error.args]
    if len(args) > _MAX_ARGS or not all(map(_is_plain, args)):
        args = [message]
    blobs = bytearray()
    report = {"type": type(error).__name__, "args": encode(args, blobs), "message": message}
    return pack_parts(Kind.RETURN, {"id": number, "error": report}, blobs)


def _text_of(error: Exception) -> str:
    text = _Outcome()
    with text.watched():
        text.value = str(error)
    message: str = "an error whose text cannot be shown" if text.error else text.value
    return cut_middle(message, MAX_ERROR)


def _shortened(item: Any) -> Any:
    return cut_middle(item, MAX_ERROR) if isinstance(item, str) else item


def _is_plain(item: Any) -> bool:
    is_number = isinstance(item, int) and item.bit_length() <= _INT_BITS
    return is_number or isinstance(item, str | float | None)
