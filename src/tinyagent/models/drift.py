"""Whether two requests are the same, and how they differ."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from tinyagent.core.types import ModelRequest
from tinyagent.core.untrusted import as_array
from tinyagent.models.recording import request_to_dict

_WIDTH = 100  # of a line
_BEFORE = 40  # characters of a long line shown before the difference
_SIDE = 6  # lines of each side of one change
_SHOWN = 24  # lines in all


def digest(request: ModelRequest) -> str:
    """A digest that is equal for equal requests. Call ids count only by their position."""
    text = json.dumps(_comparable(request), default=dict)
    return hashlib.sha256(text.encode()).hexdigest()


def nearest(request: ModelRequest, recorded: Sequence[ModelRequest]) -> int:
    """The index of the recorded request with the most lines in common with this one."""
    lines = list(_lines(request))

    def likeness(index: int) -> tuple[int, int, int]:
        others = list(_lines(recorded[index]))
        shared = _same(lines, others) + _same(reversed(lines), reversed(others))
        return shared, -abs(len(lines) - len(others)), -index

    return max(range(len(recorded)), key=likeness)


def difference(recorded: ModelRequest, request: ModelRequest) -> str:
    """A short unified diff of two requests; long lines are cut around the change."""
    before, after = list(_lines(recorded)), list(_lines(request))
    out: list[str] = []
    for group in SequenceMatcher(None, before, after).get_grouped_opcodes(1):
        out.append("@@")
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                out += [f" {_cut(line, 0)}" for line in before[start:end]]
            else:
                out += _change(before[start:end], after[new_start:new_end])
    if len(out) > _SHOWN:
        out[_SHOWN:] = [f"… ({len(out) - _SHOWN} more lines)"]
    return "\n".join(["--- recorded", "+++ requested now", *out]) if out else ""


def _change(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    places = [_same(*pair) for pair in zip_longest(old, new, fillvalue="")]
    for sign, lines in (("-", old), ("+", new)):
        yield from (
            f"{sign}{_cut(line, at)}" for line, at in zip(lines[:_SIDE], places, strict=False)
        )
        if len(lines) > _SIDE:
            yield f"{sign}  … ({len(lines) - _SIDE} more lines)"


def _cut(line: str, at: int) -> str:
    """At most 100 characters of a line, around the character `at`."""
    if len(line) <= _WIDTH:
        return line
    start = max(0, min(at - _BEFORE, len(line) - _WIDTH))
    head, tail = "…" if start else "", "…" if start + _WIDTH < len(line) else ""
    return f"{head}{line[start : start + _WIDTH]}{tail}"


def _comparable(request: ModelRequest) -> dict[str, Any]:
    """The JSON form with the calls numbered: adapters make up ids if a model sends none."""
    out = request_to_dict(request)
    numbers: dict[str, str] = {}
    count = 0
    for message in out["messages"]:
        message.pop("is_error", None)  # the text shows it too; older recordings have no such flag
        for call in _calls(message):
            count += 1
            numbers[call["id"]] = call["id"] = f"call {count}"
        if "tool_call_id" in message:
            message["tool_call_id"] = numbers.get(message["tool_call_id"], message["tool_call_id"])
    return out


def _lines(request: ModelRequest) -> Iterator[str]:
    """A request as readable lines: each part has a heading and indented lines."""
    parts = _comparable(request)
    for message in parts.pop("messages"):
        result_of = message.get("tool_call_id")
        yield f"[{message['role']}]" if result_of is None else f"[result of {result_of}]"
        content = message["content"]
        texts = [content] if isinstance(content, str) else map(_part_line, content)
        for text in texts:
            yield from _indented(text)
        for call in message.get("tool_calls", ()):
            fault = f" (faulty: {call['fault']})" if "fault" in call else ""
            yield from _indented(f"{call['id']}: {call['name']} {_json(call['arguments'])}{fault}")
    for tool in parts.pop("tools", ()):
        yield "[tool]"
        yield from _indented(_json(tool))
    for name, part in parts.items():
        yield f"[{name}]"
        yield from _indented(part if isinstance(part, str) else _json(part))


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls of a message in its JSON form: among the parts, or in `tool_calls`."""
    parts: list[dict[str, Any]] = as_array(message["content"]) or []
    return [
        *(part for part in parts if part["type"] == "tool_call"),
        *message.get("tool_calls", ()),
    ]


def _part_line(part: dict[str, Any]) -> str:
    """A part as a readable line: its text, or its JSON with a checksum in place of bytes."""
    if part["type"] == "text" and "opaque" not in part:
        return str(part["text"])
    hidden = {
        key: hashlib.sha256(_json(part[key]).encode()).hexdigest()[:8]
        for key in ("data", "opaque")
        if key in part
    }
    return _json(part | hidden)


def _indented(text: str) -> Iterator[str]:
    return (f"  {line}" for line in text.split("\n"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=dict)


def _same(left: Iterable[str], right: Iterable[str]) -> int:
    """How many items two sequences have in common at the start."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
