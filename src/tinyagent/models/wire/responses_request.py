"""Requests of OpenAI's Responses API, stateless: each one holds the whole conversation.

Source: OpenAI API reference, "Responses".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tinyagent.core.messages import Content, Message, Part, ToolCall
from tinyagent.core.parts import Document, Image, Reasoning, Text
from tinyagent.core.types import ModelRequest, RequestFormat
from tinyagent.models.provider import Provider
from tinyagent.models.wire.schemas import fitting_format
from tinyagent.models.wire.shared import Origin, caching, data_uri, short_id

_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}


def encode_request(
    model: str, request: ModelRequest, *, stream: bool, provider: Provider
) -> dict[str, Any]:
    """The body of `POST /responses`; nothing is stored, so reasoning is returned encrypted."""
    system = [message.text for message in request.messages if message.role == "system"]
    origin = responses_origin(provider, model)
    body: dict[str, Any] = {
        "model": model,
        "input": [item for message in request.messages for item in _items(message, origin)],
        "store": False,
        **_encode_format(request.format, provider),
        **caching(request, provider),
    }
    if any(text.strip() for text in system):
        body["instructions"] = "\n\n".join(text for text in system if text.strip())
    if provider.api == "responses":  # models that do not reason refuse it
        body["include"] = ["reasoning.encrypted_content"]
    fields = provider.reasoning_fields(request.reasoning)
    reasoning = dict(fields.get("reasoning", {}))
    if "reasoning_effort" in fields:
        reasoning["effort"] = fields["reasoning_effort"]
    if reasoning:
        body["reasoning"] = reasoning
    temperature = provider.temperature_for(request.temperature, request.reasoning)
    if temperature is not None:
        body["temperature"] = temperature
    if request.max_tokens is not None:
        body["max_output_tokens"] = request.max_tokens
    if stream:
        body["stream"] = True
    return body


def responses_origin(provider: Provider, model: str) -> Origin:
    """The origin of opaque data of this API; chat completions of the model have another."""
    return Origin(f"{provider.name}-responses", model)


def _items(message: Message, origin: Origin) -> Iterator[dict[str, Any]]:
    if message.role == "user":
        yield {"type": "message", "role": "user", "content": _content(message.content)}
    elif message.role == "tool":
        call_id = short_id(message.tool_call_id or "", None)
        plain = isinstance(message.content, str)
        output = message.content if plain else _content(message.content)
        yield {"type": "function_call_output", "call_id": call_id, "output": output}
    elif message.role == "assistant":
        yield from _assistant(message.parts, origin)


def _content(content: Content) -> list[dict[str, Any]]:
    parts = (Text(content),) if isinstance(content, str) else content
    return [_encode_part(part) for part in parts if isinstance(part, Text | Image | Document)]


def _encode_part(part: Text | Image | Document) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    if isinstance(part, Image):
        return {"type": "input_image", "image_url": data_uri(part), "detail": "auto"}
    return {"type": "input_file", "filename": part.name, "file_data": data_uri(part)}


def _assistant(parts: Sequence[Part], origin: Origin) -> Iterator[dict[str, Any]]:
    """The items of one answer in their order.

    Items refer to each other by their ids, so if reasoning cannot be sent, no ids are sent.
    """
    sendable = [
        part for at, part in enumerate(parts) if _can_be_sent(part, parts[at + 1 :], origin)
    ]
    is_whole = len(sendable) == len(parts)
    for part in sendable:
        if isinstance(part, Reasoning):
            yield {**_item_of(part, origin)}
            continue
        own: dict[str, Any] = _item_of(part, origin) if is_whole else {}
        if isinstance(part, Text) and (part.text or own):
            yield {"type": "message", "role": "assistant", **own, "content": _output(part, own)}
        elif isinstance(part, ToolCall):
            yield {
                "type": "function_call",
                **own,
                "call_id": short_id(part.id, None),
                "name": part.name,
                "arguments": json.dumps(part.arguments, ensure_ascii=False),
            }


def _output(part: Text, own: Mapping[str, Any]) -> Any:
    """The content of an assistant message: only one with an id may hold output."""
    if "id" not in own:
        return part.text
    return [{"type": "output_text", "text": part.text, "annotations": []}]


def _can_be_sent(part: Part, behind: Sequence[Part], origin: Origin) -> bool:
    """Whether the API takes a part: reasoning must be its own, encrypted, and precede its item."""
    if isinstance(part, Reasoning):
        follower = next((each for each in behind if not isinstance(each, Reasoning)), None)
        is_followed = follower is not None and "id" in _item_of(follower, origin)
        return is_followed and bool(_item_of(part, origin).get("encrypted_content"))
    # An empty message counts where the reasoning before it belongs to it.
    return not isinstance(part, Text) or bool(part.text) or "id" in _item_of(part, origin)


def _item_of(part: Part, origin: Origin) -> Any:
    """What this origin wants back of an item with this part."""
    opaque = None if isinstance(part, Image | Document) else part.opaque
    return (origin.own(opaque) or {}).get("item", {})


def _encode_format(request_format: RequestFormat, provider: Provider) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if request_format.tools:
        out["tools"] = [_encode_tool(tool["function"]) for tool in request_format.tools]
        if request_format.tool_choice is not None:
            out["tool_choice"] = request_format.tool_choice
    if request_format.response_format is not None:
        fitting = fitting_format(request_format.response_format, provider.schema)
        inner: Mapping[str, Any] = fitting.get("json_schema") or {}
        out["text"] = {"format": {"type": fitting["type"], **inner}}
    return out


def _encode_tool(function: Mapping[str, Any]) -> dict[str, Any]:
    """A function declaration of chat completions as a tool of this API, which is flat."""
    return {
        "type": "function",
        "name": function["name"],
        "description": function.get("description") or "",
        "parameters": function.get("parameters") or _NO_ARGUMENTS,
        "strict": bool(function.get("strict")),
    }
