"""Whether two requests are the same, and what is different where they are not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from typing import Any

from tinyagent.core.types import ModelRequest
from tinyagent.models.recording import request_to_dict

_WIDTH = 100
_SHOWN = 24


def digest(request: ModelRequest) -> str:
    """The same for the same request. Call ids count by their place in the conversation only."""
    text = json.dumps(_comparable(request), default=dict)
    return hashlib.sha256(text.encode()).hexdigest()


def nearest(request: ModelRequest, recorded: Sequence[ModelRequest]) -> int:
    """The index of the recorded request that has most lines in common with this one."""
    lines = list(_lines(request))

    def likeness(index: int) -> tuple[int, int, int]:
        others = list(_lines(recorded[index]))
        shared = _same(lines, others) + _same(reversed(lines), reversed(others))
        return shared, -abs(len(lines) - len(others)), -index

    return max(range(len(recorded)), key=likeness)


def difference(recorded: ModelRequest, request: ModelRequest) -> str:
    """A short unified diff of two requests, for people."""
    before, after = list(_lines(recorded)), list(_lines(request))
    diff = list(unified_diff(before, after, "recorded", "asked now", n=1, lineterm=""))
    if len(diff) > _SHOWN:
        diff[_SHOWN:] = [f"… ({len(diff) - _SHOWN} more lines)"]
    return "\n".join(diff)


def _comparable(request: ModelRequest) -> dict[str, Any]:
    """The JSON form with the calls numbered: where a model gives no ids, adapters make up some."""
    out = request_to_dict(request)
    numbers: dict[str, str] = {}
    count = 0
    for message in out["messages"]:
        for call in message.get("tool_calls", ()):
            count += 1
            numbers[call["id"]] = call["id"] = f"call {count}"
        if "tool_call_id" in message:
            message["tool_call_id"] = numbers.get(message["tool_call_id"], message["tool_call_id"])
    return out


def _lines(request: ModelRequest) -> Iterator[str]:
    """A request for people to read, its parts in lines of at most 100 characters."""
    parts = _comparable(request)
    for message in parts.pop("messages"):
        answered = message.get("tool_call_id")
        yield f"[{message['role']}]" if answered is None else f"[result of {answered}]"
        yield from _wrap(message["content"])
        for call in message.get("tool_calls", ()):
            fault = f" (faulty: {call['fault']})" if "fault" in call else ""
            yield from _wrap(f"{call['id']}: {call['name']} {_json(call['arguments'])}{fault}")
    for tool in parts.pop("tools", ()):
        yield "[tool on offer]"
        yield from _wrap(_json(tool))
    for name, part in parts.items():
        yield f"[{name}]"
        yield from _wrap(part if isinstance(part, str) else _json(part))


def _wrap(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        for start in range(0, max(len(line), 1), _WIDTH):
            yield f"  {line[start : start + _WIDTH]}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=dict)


def _same(left: Iterable[str], right: Iterable[str]) -> int:
    """How many lines two texts have in common at their beginning."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
