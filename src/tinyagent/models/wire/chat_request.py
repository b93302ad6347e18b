"""Requests of chat completions, as each provider wants them.

Source: OpenAI API reference, "Chat Completions"; what other servers want in addition is in
`providers.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tinyagent.core.errors import ModelRefused
from tinyagent.core.messages import Message, Part, ToolCall
from tinyagent.core.parts import Document, Image, Reasoning, Text
from tinyagent.core.types import ModelRequest
from tinyagent.models.providers import LENIENT, Provider
from tinyagent.models.wire.schemas import fitting_format, gemini_schema
from tinyagent.models.wire.shared import Origin, data_uri, short_id
from tinyagent.models.wire.think_tags import END_THINK, THINK

_to_json = json.JSONEncoder(ensure_ascii=False).encode
_AFTER_TOOL = "I will continue from these results."
_SHOWN_NEXT = "(images and documents of this result are in the next user message)"

Json = dict[str, Any]


def encode_request(
    model: str, request: ModelRequest, *, stream: bool, provider: Provider = LENIENT
) -> Json:
    """The body of `POST /chat/completions`, as the provider wants it for this model.

    Raises:
        ModelRefused: there is an image or a document that the provider does not take.
    """
    messages = _messages(request.messages, provider, Origin(provider.name, model))
    body: Json = {
        "model": model,
        "messages": messages if provider.user_after_tool else list(_separated(messages)),
        **_encode_format(request, provider),
    }
    if request.reasoning is not None:
        body |= provider.reasoning_fields(request.reasoning)
    if request.temperature is not None and provider.takes_temperature(request.reasoning):
        body["temperature"] = request.temperature
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
            _gemini_tools(request_format.tools)
            if provider.schema == "gemini"
            else request_format.tools
        )
        if request_format.tool_choice is not None:
            out["tool_choice"] = request_format.tool_choice
    if request_format.response_format is not None:
        out["response_format"] = fitting_format(request_format.response_format, provider.schema)
    return out


def _gemini_tools(tools: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Tools with their parameters in Gemini's subset of JSON Schema, where that is possible."""
    out: list[Json] = []
    for tool in tools:
        function = tool["function"]
        rewritten = gemini_schema(function.get("parameters") or {"type": "object"})
        fitting = function if rewritten is None else {**function, "parameters": rewritten}
        out.append({**tool, "function": fitting})
    return out


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
    elif data.get("key") == THINK:
        pieces.append({"type": "text", "text": f"{THINK}{text}{END_THINK}{data.get('gap', '')}"})
    elif echo and "key" in data:
        out[data["key"]] = out.get(data["key"], "") + text


def _call(call: ToolCall, provider: Provider, origin: Origin) -> Json:
    function = {"name": call.name, "arguments": _to_json(call.arguments)}
    out = {"id": short_id(call.id, provider.ids), "type": "function", "function": function}
    return {**out, **(origin.own(call.opaque) or {})}
