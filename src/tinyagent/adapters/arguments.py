"""Reading what a model wrote as the arguments of a call."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tinyagent.core.json_shape import as_array, as_object
from tinyagent.core.messages import ToolCall

_KEPT = 2_000
_MAX_DEPTH = 100


def read_call(call_id: str, name: str, arguments: str) -> ToolCall:
    """A call with its arguments read, or with the `fault` that kept them from being read.

    Only whole JSON objects count. A cut-off one is never completed by guessing: half an argument
    may be a valid and wrong one.
    """
    try:
        value: Any = json.loads(arguments) if arguments.strip() else {}
        _check(value)
    except (ValueError, RecursionError) as error:
        fault = f"its arguments are not valid JSON: {_reason(error, arguments)}"
    else:
        read = as_object(value)
        if read is not None:
            return ToolCall(call_id, name, read)
        fault = f"its arguments must be a JSON object, got {type(value).__name__}"
    return ToolCall(
        call_id, name, {"_unreadable": arguments[:_KEPT]}, f"{fault}. Send the whole call again."
    )


def _check(value: object, depth: int = 0) -> None:
    """Refuse what Python's reader takes and other readers of the conversation would not."""
    if depth > _MAX_DEPTH:
        raise RecursionError
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is NaN or infinite")
    entries = as_object(value)
    for child in entries.values() if entries is not None else as_array(value) or ():
        _check(child, depth + 1)


def _reason(error: Exception, text: str) -> str:
    if isinstance(error, json.JSONDecodeError):
        end = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        cut = "; they look cut off" if end else ""
        return f"{error.msg} at character {error.pos + 1} of {len(text)}{cut}"
    return str(error) if isinstance(error, ValueError) else "nested too deeply"


def with_own_ids(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """The calls, each with an id that no other of them has; missing ids are made up."""
    seen: set[str] = set()
    out: list[ToolCall] = []
    for call in calls:
        call_id = call.id
        if not call_id or call_id in seen:
            call_id = f"call_{os.urandom(6).hex()}"
        seen.add(call_id)
        out.append(call if call_id == call.id else replace(call, id=call_id))
    return tuple(out)
