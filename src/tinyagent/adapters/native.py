"""NativeToolAdapter: for models with function calling.

Small models, and servers without a tool parser, write their calls into the text instead. Three
spellings count: a JSON object between `<tool_call>` tags, one that fills a fence at the end, and a
text that is nothing but one. The object is `{"name": ..., "arguments": {...}}`; some models write
`tool` for the name and `parameters` for the arguments. Outside tags it must name an existing tool.
A `<think>` block at the beginning is not searched because drafts are not calls.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tinyagent.core.errors import MalformedReply
from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.types import ModelResponse, RawToolCall, RequestFormat, ToolSpec
from tinyagent.core.untrusted import as_array, as_object, without_thoughts

_KEPT = 2_000
_MAX_DEPTH = 100
_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|$)", re.DOTALL)
_FENCED = re.compile(r"```(?:json|tool_call)?[ \t\r]*\n(.*?)(?:```|$)", re.DOTALL | re.IGNORECASE)
_CUT_OFF = re.compile(
    r'\{\s*"(?:name|tool)"\s*:\s*"(?P<name>[^"]*)"\s*,\s*"(?:arguments|parameters)"\s*:'
)
_SPACE = re.compile(r"\s*")
_SEARCHED = 100_000
_MAX_STARTS = 200
_KEYS_OF_A_CALL = {"name", "tool", "arguments", "parameters", "id", "type"}
_decode = json.JSONDecoder().raw_decode

_CUT_OFF_CALL = "its arguments were cut off. Send the whole call again."
_CUT_OFF_ANSWER = (
    "Your answer was cut off at its maximum length, so it was not used. Give a shorter one."
)
ONLY_A_CALL = (
    "Your reply is only a call, written as text: it is not an answer, and it was not run because it"
    " cannot be read or names an unknown tool. Call the function through the tool interface,"
    " or give your answer in words."
)
"""Shown to a model whose reply is nothing but a call that cannot be run."""
NO_CALL = (
    "You have not called a tool. If your answer holds anything that a tool can look up, call that"
    " tool now; if not, give your answer again."
)
"""Shown to a small model that answers without having called a tool."""
ONLY_AN_ECHO = (
    "Your reply repeats the result of a tool: it is not an answer. Call another tool, or answer the"
    " task in your own words."
)
"""Shown to a model whose reply is nothing but a result."""


class NativeToolAdapter:
    """Declares the tools as functions; several calls in one answer run concurrently."""

    def format_request(
        self,
        tools: Sequence[ToolSpec],
        output_schema: Mapping[str, Any] | None = None,
        *,
        answer_only: bool = False,
    ) -> RequestFormat:
        """The tools as function declarations of chat completions; a schema is only described."""
        del output_schema
        return RequestFormat(
            tool_choice="none" if answer_only and tools else None,
            tools=tuple(
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.json_schema,
                    },
                }
                for tool in tools
            ),
        )

    def format_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages as they are."""
        return messages

    def extract_tool_calls(
        self, response: ModelResponse, tools: Sequence[ToolSpec]
    ) -> tuple[ToolCall, ...]:
        """The calls of the answer, or those written into its text.

        Raises:
            MalformedReply: The answer is empty, or its text holds an unreadable call.
        """
        if response.tool_calls:
            calls = [_read_native(call) for call in response.tool_calls]
            if response.finish_reason == "length" and not calls[-1].arguments:
                calls[-1] = replace(calls[-1], arguments={"_unreadable": ""}, fault=_CUT_OFF_CALL)
            return with_own_ids(calls)
        text = response.content or ""
        if not text.strip():
            wish = "Call a tool or give your answer" if tools else "Give your answer"
            if response.finish_reason == "length":
                wish = f"It ended at its maximum length: think less. {wish}"
            raise MalformedReply(f"Your reply was empty. {wish}.")
        return with_own_ids(find_text_calls(text, {tool.name for tool in tools}))

    def extract_answer(self, response: ModelResponse) -> str:
        """The text.

        Raises:
            MalformedReply: It was cut off.
        """
        if response.finish_reason == "length":
            raise MalformedReply(_CUT_OFF_ANSWER)
        return response.content or ""

    def text_beside_calls(self, response: ModelResponse) -> str:
        """The text, without the calls that were written into it: they are remembered as calls."""
        text = response.content or ""
        return text if response.tool_calls else without_text_calls(text)


def _read_native(call: RawToolCall) -> ToolCall:
    read = read_call(call.id, call.name, call.arguments)
    return read if call.opaque is None else replace(read, opaque=call.opaque)


def read_call(call_id: str, name: str, arguments: str) -> ToolCall:
    """A call with its arguments read, or with a `fault` if they cannot be read.

    Only complete JSON objects count. A cut-off one is never completed by guessing: half an argument
    may be valid and wrong.
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
    """Refuse what Python's parser accepts and other parsers of the conversation would not."""
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
    """The calls with unique ids; missing and repeated ids are replaced."""
    seen: set[str] = set()
    out: list[ToolCall] = []
    for call in calls:
        call_id = call.id
        if not call_id or call_id in seen:
            call_id = f"call_{os.urandom(6).hex()}"
        seen.add(call_id)
        out.append(call if call_id == call.id else replace(call, id=call_id))
    return tuple(out)


def find_text_calls(text: str, names: Collection[str]) -> tuple[ToolCall, ...]:
    """The calls written into `text`; none when it is an answer.

    Raises:
        MalformedReply: A `<tool_call>` tag holds something that is not a call.
    """
    if not names:
        return ()
    text = without_thoughts(text)
    tagged = _TAGGED.findall(text)
    if tagged:
        return tuple(_read_tagged(body) for body in tagged)
    ends_fenced = text.rstrip().endswith("```")
    bodies = [match.strip() for match in _FENCED.findall(text)] if ends_fenced else [text.strip()]
    calls = [call for body in bodies if (call := _as_call(body)) is not None]
    return tuple(call for call in calls if call.name in names)


def without_text_calls(text: str) -> str:
    """The text before the first call that is written into `text`."""
    tagged = _TAGGED.search(text) or _FENCED.search(text)
    return text[: tagged.start()].strip() if tagged else ""


def calls_among_words(text: str) -> Iterator[tuple[str, ToolCall]]:
    """The calls that `text` holds somewhere, each as it is written and as it is read.

    Only JSON objects count that fill a fence, or begin a line and have the keys of a call and no
    others.
    """
    text = without_thoughts(text)[:_SEARCHED]
    at = text.find("{")
    for _ in range(_MAX_STARTS):
        if at < 0:
            return
        end = at + 1
        if not text[:at].rpartition("\n")[2].strip():
            try:
                value, end = _decode(text, at)
            except (ValueError, RecursionError):
                value = None
            entry = as_object(value) or {}
            call = _call_of(entry) if _KEYS_OF_A_CALL.issuperset(entry) else None
            if call is not None:
                yield text[at:end], call
        at = text.find("{", end)


def is_echo(text: str) -> bool:
    """Whether `text` is nothing but a tool's result in the tags in which the model was shown it."""
    before, tag, rest = text.partition("<tool_response>")
    return bool(tag) and not before.strip() and not rest.rpartition("</tool_response>")[2].strip()


def is_only_calls(text: str, names: Collection[str]) -> bool:
    """Whether `text` is nothing but calls, whether or not they can be read.

    Words next to a call may make it a quotation; a reply without any words is never an answer.
    """
    text = without_thoughts(text).strip()
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
