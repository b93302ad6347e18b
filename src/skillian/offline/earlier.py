"""What a follow-up question can refer to: the last call and the last comparison."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from skillian.offline.language.filters import years_of
from tinyagent import Message, ToolCall

COMPARE, QUERY, ROWS = "compare_sources", "query_source", "get_comparison_rows"
_CACHE_KEY = re.compile(r'"cache_key":\s*"([^"]+)"')
_KEY = re.compile(r'"key":\s*(\{[^{}]*\})')


@dataclass(frozen=True, slots=True)
class PastComparison:
    """A previous comparison: its arguments, and the keys of its groups, largest first."""

    arguments: Mapping[str, Any]
    cache_key: str
    keys: tuple[Mapping[str, Any], ...] = ()

    @property
    def is_of_rows(self) -> bool:
        """Whether it compared whole rows."""
        return not self.arguments.get("measures")

    @property
    def groups(self) -> list[str]:
        """The dimensions of its groups, as far as they are known."""
        return self.arguments.get("align_on") or list(self.keys[0] if self.keys else ())

    @property
    def sources(self) -> tuple[str, str]:
        """The baseline, and the source compared with it."""
        return str(self.arguments["source_a"]), str(self.arguments["source_b"])


@dataclass(frozen=True, slots=True)
class Earlier:
    """The conversation before a question; `last` is a successful comparison or query."""

    last: ToolCall | None = None
    comparison: PastComparison | None = None
    page: ToolCall | None = None
    sources: tuple[str, ...] = field(default=())

    @property
    def years(self) -> frozenset[int]:
        """The years that the last call's conditions name."""
        return years_of([self.last.arguments.get("filters")] if self.last else ())


def read_earlier(messages: Sequence[Message]) -> Earlier:
    """Read a conversation, oldest message first; what is before the last comparison is not read."""
    calls = {call.id: call for message in messages for call in message.tool_calls}
    results: list[tuple[ToolCall, str, Mapping[str, Any]]] = []
    for message in reversed(messages):
        call = calls.get(message.tool_call_id or "")
        if message.role == "tool" and call is not None and call.name in {COMPARE, QUERY, ROWS}:
            result = as_object(message.text)
            if message.text.lstrip().startswith("{") and not result.get("error"):
                results.append((call, message.text, result))
                if with_result(Earlier(), *results[-1]).comparison is not None:
                    break
    earlier = Earlier()
    for each in reversed(results):
        earlier = with_result(earlier, *each)
    return earlier


def as_object(text: str) -> dict[str, Any]:
    """A tool's result; empty if it was cut because it was too long."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def with_result(earlier: Earlier, call: ToolCall, text: str, result: Mapping[str, Any]) -> Earlier:
    """A conversation with one more call; `text` is what its result is read from if it was cut."""
    if call.name == COMPARE and {"source_a", "source_b"} <= set(call.arguments):
        key = _CACHE_KEY.findall(text)
        if not key:
            return earlier
        keys = _keys(text, result, "top_differences")
        comparison = PastComparison(call.arguments, key[-1], keys)
        return Earlier(call, comparison, None, comparison.sources)
    if call.name == QUERY and "source" in call.arguments:
        return Earlier(call, earlier.comparison, None, (str(call.arguments["source"]),))
    if call.name == ROWS and earlier.comparison is not None:
        known = earlier.comparison
        keys = _keys(text, result, "rows") or known.keys
        comparison = PastComparison(known.arguments, known.cache_key, keys)
        return Earlier(earlier.last, comparison, call, earlier.sources)
    return earlier


def _keys(text: str, result: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], ...]:
    """The keys of the groups in a result; of a cut one, those that can be read."""
    if result:
        return tuple(group["key"] for group in result.get(name) or () if group.get("key"))
    return keys_in(text)


def keys_in(text: str) -> tuple[Mapping[str, Any], ...]:
    """The keys of the groups in a result, which may be cut; text in a cell is not read as a key."""
    return tuple(json.loads(key) for key in _KEY.findall(text) if as_object(key))
