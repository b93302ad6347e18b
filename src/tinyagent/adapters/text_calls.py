"""Tool calls that a model wrote into its text instead of calling.

Small models and servers without a tool parser do that. Three spellings count: a JSON object between
`<tool_call>` tags, one that fills a fence at the end, and a text that is nothing but one. It is
`{"name": …, "arguments": {…}}`; some models say `tool` for the name and `parameters` for the rest.
Outside tags it must name a tool there is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from tinyagent.adapters.arguments import read_call
from tinyagent.core.errors import MalformedReply
from tinyagent.core.json_shape import as_object
from tinyagent.core.messages import ToolCall

_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|$)", re.DOTALL)
_FENCED = re.compile(r"```(?:json|tool_call)?[ \t\r]*\n(.*?)```", re.DOTALL | re.IGNORECASE)


def find_text_calls(text: str, names: Collection[str]) -> tuple[ToolCall, ...]:
    """The calls written into `text`; none when it is an answer.

    Raises:
        MalformedReply: a `<tool_call>` tag holds something that is no call.
    """
    if not names:
        return ()
    tagged = _TAGGED.findall(text)
    if tagged:
        return tuple(_read_tagged(body) for body in tagged)
    ends_fenced = text.rstrip().endswith("```")
    bodies = [match.strip() for match in _FENCED.findall(text)] if ends_fenced else [text.strip()]
    calls = [call for body in bodies if (call := _as_call(body)) is not None]
    return tuple(call for call in calls if call.name in names)


def without_text_calls(text: str) -> str:
    """What stands before the first call that is written into `text`."""
    tagged = _TAGGED.search(text) or _FENCED.search(text)
    return text[: tagged.start()].strip() if tagged else ""


def _read_tagged(body: str) -> ToolCall:
    call = _as_call(body.strip())
    if call is None:
        raise MalformedReply(
            "Your <tool_call> could not be read. Call the tool through the tool interface, or write"
            ' <tool_call>{"name": "...", "arguments": {...}}</tool_call> with valid JSON.'
        )
    return call


def _as_call(text: str) -> ToolCall | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    entry = as_object(value) or {}
    name = entry.get("name", entry.get("tool"))
    arguments = entry.get("arguments", entry.get("parameters"))
    if not isinstance(name, str) or not isinstance(arguments, dict | str):
        return None
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return read_call("", name, written)
