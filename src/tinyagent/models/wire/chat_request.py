"""Requests of chat completions, as each provider wants them.

Source: OpenAI API reference, "Chat Completions"; what other servers want in addition is in
`providers.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tinyagent.core.errors import ModelRefused
from tinyagent.core.messages import Message, Part, ToolCall
from tinyagent.core.parts import Document, Image, Reasoning, Text
from tinyagent.core.types import ModelRequest
from tinyagent.models.provider import Provider
from tinyagent.models.providers import LENIENT
from tinyagent.models.wire.plain_schema import plain_schema
from tinyagent.models.wire.schemas import fitting_format
from tinyagent.models.wire.shared import Origin, caching, data_uri, short_id
from tinyagent.models.wire.think_tags import end_of

_AFTER_TOOL = "I will continue from these results."
_SHOWN_NEXT = "(images and documents of this result are in the next user message)"

Json = dict[str, Any]


def encode_request(
    model: str, request: ModelRequest, *, stream: bool, provider: Provider = LENIENT
) -> Json:
    """The body of `POST /chat/completions`, as the provider wants it for this model.

    Raises:
        ModelRefused: There is an image or a document that the provider does not take.
    """
    messages = _messages(request.messages, provider, Origin(provider.name, model))
    body: Json = {
        "model": model,
        "messages": messages if provider.user_after_tool else list(_separated(messages)),
        **_encode_format(request, provider),
        **caching(request, provider),
    }
    body |= provider.reasoning_fields(request.reasoning)
    temperature = provider.temperature_for(request.temperature, request.reasoning)
    if temperature is not None:
        body["temperature"] = temperature
    if request.max_tokens is not None:
        body[provider.answer_limit] = request.max_tokens
    if stream:
        body["stream"] = True
        if provider.stream_options:
            body["stream_options"] = {"include_usage": True}
    return body


def _encode_format(request: ModelRequest, provider: Provider) -> Json:
    request_format = request.format
    out: Json = {}
    if request_format.tools and (request_format.tool_choice is None or provider.choice_none):
        out["tools"] = (
            _plain_tools(request_format.tools)
            if provider.schema == "plain"
            else request_format.tools
        )
        if request_format.tool_choice is not None:
            out["tool_choice"] = request_format.tool_choice
    if request_format.response_format is not None:
        out["response_format"] = fitting_format(request_format.response_format, provider.schema)
    return out


def _plain_tools(tools: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Tools with their parameters in the plain part of JSON Schema."""
    functions: list[Mapping[str, Any]] = [tool["function"] for tool in tools]
    return [
        {
            "type": "function",
            "function": {**each, "parameters": plain_schema(each.get("parameters") or {})},
        }
        for each in functions
    ]


def _messages(messages: Sequence[Message], provider: Provider, origin: Origin) -> list[Json]:
    out: list[Json] = []
    attached: list[Json] = []  # attachments of results, for a user message after the last result
    for message in messages:
        if attached and message.role != "tool":
            out.append({"role": "user", "content": attached})
            attached = []
        if message.role == "assistant":
            out.append(_assistant(message, provider, origin))
        elif message.role == "tool":
            out.append(_result(message, provider))
            attached += _attachments(message, provider)
        else:
            out.append({"role": message.role, "content": _content(message, provider)})
    if attached:
        out.append({"role": "user", "content": attached})
    return out


def _separated(messages: Sequence[Json]) -> Iterator[Json]:
    """The messages with an assistant message between a tool's result and a user message."""
    before = ""
    for message in messages:
        if before == "tool" and message["role"] == "user":
            yield {"role": "assistant", "content": _AFTER_TOOL}
        before = message["role"]
        yield message


def _result(message: Message, provider: Provider) -> Json:
    text = message.content
    if not isinstance(text, str):
        texts = [part.text for part in text if isinstance(part, Text)]
        text = "\n".join([*texts, _SHOWN_NEXT] if len(texts) < len(text) else texts)
    call_id = short_id(message.tool_call_id or "", provider.ids)
    return {"role": message.role, "content": text, "tool_call_id": call_id}


def _attachments(message: Message, provider: Provider) -> list[Json]:
    """The images and documents of a tool's result: only user messages may hold them."""
    parts = () if isinstance(message.content, str) else message.content
    return [_encode_part(part, provider) for part in parts if isinstance(part, Image | Document)]


def _content(message: Message, provider: Provider) -> str | list[Json]:
    if isinstance(message.content, str):
        return message.content
    return [
        _encode_part(part, provider)
        for part in message.content
        if isinstance(part, Text | Image | Document)
    ]


def _encode_part(part: Text | Image | Document, provider: Provider) -> Json:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Image) and provider.images is not False:
        return {"type": "image_url", "image_url": {"url": data_uri(part)}}
    if isinstance(part, Document) and provider.documents == "file":
        return {"type": "file", "file": {"filename": part.name, "file_data": data_uri(part)}}
    if isinstance(part, Document) and provider.documents:
        return {"type": provider.documents, provider.documents: data_uri(part)}
    kind = "images" if isinstance(part, Image) else "PDFs"
    raise ModelRefused(
        f"{provider.name} does not take {kind} over chat completions, and the conversation contains"
        f" {part.describe()}; pass it as text"
    )


def _assistant(message: Message, provider: Provider, origin: Origin) -> Json:
    out: Json = {"role": "assistant", "content": message.content}
    calls = message.tool_calls
    if not isinstance(message.content, str):
        out |= _assistant_content(message.content, provider, origin)
    if calls:
        out["content"] = out["content"] or provider.empty_content
        out["tool_calls"] = [_call(call, provider, origin) for call in calls]
        if provider.foreign_call and origin.own(calls[0].opaque) is None:
            out["tool_calls"][0] |= provider.foreign_call
    if provider.backfill and (calls or provider.backfill_all):
        key, text = provider.backfill
        out[key] = out.get(key) or text
    return out


def _assistant_content(parts: Sequence[Part], provider: Provider, origin: Origin) -> Json:
    """The content of an assistant message, and the keys that hold this model's reasoning."""
    out: Json = {}
    pieces: list[Json] = []
    for part in parts:
        if isinstance(part, Text):
            pieces.append({"type": "text", "text": part.text})
            out |= origin.own(part.opaque) or {}
        elif isinstance(part, Reasoning):
            data = origin.own(part.opaque) or {}
            _add_reasoning(out, pieces, part.text, data, echo=provider.echo)
    if any(piece["type"] != "text" for piece in pieces):
        return {**out, "content": pieces}
    return {**out, "content": "".join(piece["text"] for piece in pieces)}


def _add_reasoning(
    out: Json, pieces: list[Json], text: str, data: Mapping[str, Any], *, echo: bool
) -> None:
    """Put reasoning back where it came from: a key of the message, or its content."""
    if "reasoning_details" in data:
        out.setdefault("reasoning_details", []).extend(data["reasoning_details"])
    elif "chunk" in data:
        pieces.append({**data["chunk"], "thinking": [{"type": "text", "text": text}]})
    elif "gap" in data:
        if echo:
            tag = data["key"]
            pieces.append({"type": "text", "text": f"{tag}{text}{end_of(tag)}{data['gap']}"})
    elif echo and "key" in data:
        out[data["key"]] = out.get(data["key"], "") + text


def _call(call: ToolCall, provider: Provider, origin: Origin) -> Json:
    function = {"name": call.name, "arguments": call.arguments_json}
    out = {"id": short_id(call.id, provider.ids), "type": "function", "function": function}
    return {**out, **(origin.own(call.opaque) or {})}
