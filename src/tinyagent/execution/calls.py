"""Doing on the host what the code asks for: a call of a tool."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from tinyagent.core.threads import run_in_thread
from tinyagent.execution.worker.values import decode, encode
from tinyagent.execution.worker.wire import Frame, Kind, WireError, pack


async def answer_call(tools: Mapping[str, Callable[..., Any]], call: Frame) -> bytes:
    """The packed frame that answers a CALL: the tool's result, or what it raised.

    Raises:
        WireError: the call's arguments are no values.
        BaseException: what a tool raised that is no `Exception`, such as a cancellation.
    """
    number, name = call.body["id"], call.body["name"]
    args, kwargs = decode(call.body["args"], call.blob), decode(call.body["kwargs"], call.blob)
    tool = tools.get(name)
    if tool is None:
        return _failed(number, NameError(f"there is no tool {name!r}"))
    try:
        value = await _call(tool, args, kwargs)
    except Exception as error:  # noqa: BLE001 - the code sees it and may deal with it
        return _failed(number, error)
    blobs = bytearray()
    try:
        body = {"id": number, "value": encode(value, blobs)}
        return pack(Frame(Kind.RETURN, body, bytes(blobs)))
    except WireError as fault:
        return _failed(number, ValueError(f"the result of {name}: {fault}"))


async def _call(tool: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(
        getattr(tool, "__call__", None)  # noqa: B004 - a callable object with an async __call__
    ):
        return await tool(*args, **kwargs)
    value = await run_in_thread(lambda: tool(*args, **kwargs))
    return await value if inspect.isawaitable(value) else value


def _failed(number: int, error: Exception) -> bytes:
    blobs = bytearray()
    plain = all(isinstance(item, str | int | float | bool | None) for item in error.args)
    args = encode(list(error.args) if plain else [str(error)], blobs)
    told = {"type": type(error).__name__, "args": args, "message": str(error)}
    return pack(Frame(Kind.RETURN, {"id": number, "error": told}, bytes(blobs)))
