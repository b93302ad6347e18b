"""Tool calls that a model wrote into its text instead of calling.

Small models and servers without a tool parser do that. Three spellings count: a JSON object between
`<tool_call>` tags, one that fills a fence at the end, and a text that is nothing but one. It is
`{"name": …, "arguments": {…}}`; some models say `tool` for the name and `parameters` for the rest.
Outside tags it must name a tool there is. The `<think>` block with which some models begin is not
searched: drafts are no calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from tinyagent.adapters.arguments import read_call
from tinyagent.core.errors import MalformedReply
from tinyagent.core.json_shape import as_object
from tinyagent.core.messages import ToolCall

_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|$)", re.DOTALL)
_FENCED = re.compile(r"```(?:json|tool_call)?[ \t\r]*\n(.*?)(?:```|$)", re.DOTALL | re.IGNORECASE)
_CUT_OFF = re.compile(
    r'\{\s*"(?:name|tool)"\s*:\s*"(?P<name>[^"]*)"\s*,\s*"(?:arguments|parameters)"\s*:'
)
_SPACE = re.compile(r"\s*")
_KEYS_OF_A_CALL = {"name", "tool", "arguments", "parameters", "id", "type"}
_decode = json.JSONDecoder().raw_decode

ONLY_A_CALL = (
    "Your reply is only a call, written as text: it is not an answer, and it was not run, as it"
    " cannot be read or names no tool that there is. Call the function through the tool interface,"
    " or give your answer in words."
)
"""What a model is told whose reply is nothing but a call that cannot be run."""


def find_text_calls(text: str, names: Collection[str]) -> tuple[ToolCall, ...]:
    """The calls written into `text`; none when it is an answer.

    Raises:
        MalformedReply: a `<tool_call>` tag holds something that is no call.
    """
    if not names:
        return ()
    text = _without_thoughts(text)
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


def is_only_calls(text: str, names: Collection[str]) -> bool:
    """Whether `text` is nothing but calls, whether or not they can be read.

    Words beside a call may make it a quotation; a reply without any is never an answer.
    """
    text = _without_thoughts(text).strip()
    if text.startswith("<tool_call>"):
        return not _TAGGED.sub("", text).strip()
    only_fences = not _FENCED.sub("", text).strip()
    bodies = _FENCED.findall(text) if only_fences else [text]
    return bool(bodies) and all(_is_meant_as_call(body.strip(), names) for body in bodies)


def _is_meant_as_call(body: str, names: Collection[str]) -> bool:
    """Whether it is JSON objects with the keys of a call and no others, or one that is cut off."""
    at = 0
    while at < len(body):
        try:
            value, end = _decode(body, at)
        except (ValueError, RecursionError):
            cut_off = _CUT_OFF.match(body, at)
            return cut_off is not None and cut_off["name"] in names
        entry = as_object(value) or {}
        if not _KEYS_OF_A_CALL.issuperset(entry) or _call_of(entry) is None:
            return False
        space = _SPACE.match(body, end)
        at = space.end() if space else end
    return at > 0


def _without_thoughts(text: str) -> str:
    """What stands behind a `<think>` block at the beginning."""
    begins, _, rest = text.partition("</think>")
    return rest if begins.lstrip().startswith("<think>") and rest.strip() else text


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
    return _call_of(as_object(value) or {})


def _call_of(entry: Mapping[str, Any]) -> ToolCall | None:
    name = entry.get("name", entry.get("tool"))
    arguments = entry.get("arguments", entry.get("parameters"))
    if not isinstance(name, str) or not isinstance(arguments, dict | str):
        return None
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return read_call("", name, written)
