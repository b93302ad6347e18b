"""Adapters for models without function calling: the model writes an action as JSON text.

{"scratchpad": "...", "tool": "name", "arguments": {...}}
{"scratchpad": "...", "answer": ...}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tinyagent.adapters.json_text import find_object
from tinyagent.adapters.native import read_call, with_own_ids
from tinyagent.core.errors import MalformedReply
from tinyagent.core.messages import Message, Part, ToolCall, plain_content
from tinyagent.core.parts import Reasoning, Text
from tinyagent.core.provenance import join
from tinyagent.core.types import ModelResponse, RequestFormat, ToolSpec
from tinyagent.core.untrusted import as_object

ACTION_FORM = (
    'Reply with one JSON object only: {"scratchpad": "your thoughts", "tool": "name", "arguments":'
    ' {...}} to call a tool, or {"scratchpad": "your thoughts", "answer": "..."} to answer.'
)

ANSWER_FORM = (
    'Reply with one JSON object only: {"scratchpad": "your thoughts", "answer": "..."}.'
    " Answer from the results above."
)


class OpenAIStructuredAdapter:
    """Sends `response_format` with a schema that allows only the given tools and an answer."""

    def format_request(
        self,
        tools: Sequence[ToolSpec],
        output_schema: Mapping[str, Any] | None = None,
        *,
        answer_only: bool = False,
    ) -> RequestFormat:
        """The schema for the server, the tools in words for the model."""
        admitted = () if answer_only else tools
        schema = action_schema(admitted, output_schema)
        form = ACTION_FORM if admitted else ANSWER_FORM
        return RequestFormat(
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "action", "schema": schema},
            },
            instructions=f"{describe_tools(admitted)}\n\n{form}",
        )

    def format_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Calls as JSON texts, results as user messages."""
        return as_plain_messages(messages)

    def extract_tool_calls(
        self, response: ModelResponse, tools: Sequence[ToolSpec]
    ) -> tuple[ToolCall, ...]:
        """The call, if the action is one.

        Raises:
            MalformedReply: The text is not an action.
        """
        del tools
        call = read_action(_action(response))
        return () if call is None else with_own_ids([call])

    def extract_answer(self, response: ModelResponse) -> str:
        """The action's answer; raises `MalformedReply` if it is empty."""
        return answer_text(_action(response))

    def text_beside_calls(self, response: ModelResponse) -> str:
        """The text: here it is the action itself."""
        return response.content or ""


class ParsedAdapter(OpenAIStructuredAdapter):
    """Asks for the JSON form only in the prompt, and tolerates deviations from it."""

    def format_request(
        self,
        tools: Sequence[ToolSpec],
        output_schema: Mapping[str, Any] | None = None,
        *,
        answer_only: bool = False,
    ) -> RequestFormat:
        """The tools and the form, in words."""
        structured = super().format_request(tools, output_schema, answer_only=answer_only)
        return RequestFormat(instructions=structured.instructions)


def action_schema(
    tools: Sequence[ToolSpec], output_schema: Mapping[str, Any] | None
) -> dict[str, Any]:
    """JSON Schema that allows a call of one of `tools` with its arguments, or an answer."""
    definitions: dict[str, Any] = {}
    options: list[dict[str, Any]] = []
    for tool in tools:
        arguments = _with_definitions(tool.json_schema, tool.name, definitions)
        options.append(_object({"tool": {"const": tool.name}, "arguments": arguments}))
    answer = _with_definitions(output_schema or {"type": "string"}, "answer", definitions)
    options.append(_object({"answer": answer}))
    schema = {"anyOf": options} if len(options) > 1 else options[0]
    return {**schema, "$defs": definitions} if definitions else schema


def describe_tools(tools: Sequence[ToolSpec]) -> str:
    """The tools for a prompt: name, description, JSON Schema of the arguments."""
    lines = [
        f"- {tool.name}: {tool.description}\n  arguments: {json.dumps(tool.json_schema)}"
        for tool in tools
    ]
    return "\n".join(["Tools:", *lines]) if lines else "No tool is available."


def read_action(action: Mapping[str, Any]) -> ToolCall | None:
    """The call of an action; None if it is an answer.

    Raises:
        MalformedReply: It is neither.
    """
    name = action.get("tool", action.get("name"))
    if not name and "answer" in action:
        return None
    if not isinstance(name, str) or not name:
        keys = ", ".join(sorted(action)[:8]) or "none"
        raise MalformedReply(
            f'Your JSON has neither "tool" nor "answer" (its keys: {keys}). {ACTION_FORM}'
        )
    arguments = action.get("arguments", action.get("parameters", {}))
    return read_call("", name, arguments if isinstance(arguments, str) else _as_json(arguments))


def answer_text(action: Mapping[str, Any]) -> str:
    """The answer of an action as text; JSON if it is not text.

    Raises:
        MalformedReply: It is empty.
    """
    answer = action.get("answer")
    if answer is None or (isinstance(answer, str) and not answer.strip()):
        raise MalformedReply(f"Your answer is empty. {ACTION_FORM}")
    return answer if isinstance(answer, str) else _as_json(answer)


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        raise MalformedReply(f"Your JSON is nested too deeply. {ACTION_FORM}") from None


def as_plain_messages(messages: Sequence[Message]) -> list[Message]:
    """The conversation without function calls: calls as JSON texts, results as user messages."""
    return list(_plain(messages))


def _plain(messages: Sequence[Message]) -> Iterator[Message]:
    names: dict[str, str] = {}
    results: list[Message] = []
    for message in messages:
        if message.role == "tool":
            results.append(message)
            continue
        if results:
            yield _as_one(results, names)
            results = []
        names |= {call.id: call.name for call in message.tool_calls}
        yield _without_calls(message) if message.tool_calls else message
    if results:
        yield _as_one(results, names)


def _as_one(results: Sequence[Message], names: Mapping[str, str]) -> Message:
    """The results of tools as one message of the user."""
    parts: list[Part] = []
    for result in results:
        gap = "\n\n" if parts else ""
        name = names.get(result.tool_call_id or "", "the tool")
        parts += [Text(f"{gap}Result of {name}:\n"), *result.parts]
    labels = [result.label for result in results]
    return Message("user", plain_content(parts), label=join(labels) if any(labels) else None)


def _without_calls(message: Message) -> Message:
    """The text of the model, or the calls in the format that it is asked for."""
    text = message.text
    if as_object(_parsed(text)) is not None:
        parts = (part for part in message.parts if not isinstance(part, ToolCall))
        return Message(message.role, plain_content(parts), label=message.label)
    actions = [
        json.dumps(
            {"scratchpad": text, "tool": call.name, "arguments": dict(call.arguments)},
            ensure_ascii=False,
        )
        for call in message.tool_calls
    ]
    thoughts = [part for part in message.parts if isinstance(part, Reasoning)]
    content = plain_content((*thoughts, Text("\n".join(actions))))
    return Message(message.role, content, label=message.label)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    fields = {"scratchpad": {"type": "string"}, **properties}
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def _with_definitions(
    schema: Mapping[str, Any], owner: str, definitions: dict[str, Any]
) -> dict[str, Any]:
    """The schema with its `$defs` moved to the root, where its references point to.

    They are renamed if another tool has different definitions with the same names.
    """
    own: Mapping[str, Any] = schema.get("$defs", {})
    if any(definitions.get(name, part) != part for name, part in own.items()):
        text = json.dumps(schema)
        for name in own:
            new = json.dumps(f"#/$defs/{owner}.{name}")
            text = text.replace(json.dumps(f"#/$defs/{name}"), new)
        schema = json.loads(text)
        own = {f"{owner}.{name}": part for name, part in schema["$defs"].items()}
    definitions |= own
    return {key: value for key, value in schema.items() if key != "$defs"}


def _action(response: ModelResponse) -> Mapping[str, Any]:
    """The action in the text of a reply, ignoring fences and words around it."""
    text = response.content or ""
    action = find_object(text)
    if action is not None:
        inner = as_object(action.get("action")) if len(action) == 1 else None
        return action if inner is None else inner  # some servers want an object around the action
    if response.tool_calls:  # some servers find calls in the text and take them out of it
        call = response.tool_calls[0]
        return {"tool": call.name, "arguments": call.arguments}
    if not text.strip():
        raise MalformedReply(f"Your reply was empty. {ACTION_FORM}")
    cut = " It looks cut off." if response.finish_reason == "length" else ""
    raise MalformedReply(f"Your reply contains no readable JSON object.{cut} {ACTION_FORM}")
