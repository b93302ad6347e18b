"""A conversation as the messages of chat completions, as its provider wants them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tinyagent.core.errors import ModelRefused
from tinyagent.core.messages import Message, Part, ToolCall
from tinyagent.core.parts import Document, Image, Reasoning, Text
from tinyagent.models.encoding import Origin, check_attachments, data_uri, short_id
from tinyagent.models.providers import Provider

THINK, END_THINK = "<think>", "</think>"
_to_json = json.JSONEncoder(ensure_ascii=False).encode
_AFTER_TOOL = "I will go on from these results."
_SHOWN_NEXT = "(images and documents of this result are in the next user message)"


def encode_messages(
    messages: Sequence[Message], provider: Provider, origin: Origin
) -> list[dict[str, Any]]:
    """The messages for the body of a request.

    Raises:
        ModelRefused: there is an image or a document that the provider does not take.
        ModelContextTooLong: the images and documents are too large for one request.
    """
    check_attachments(messages)
    encoded = _encoded(messages, provider, origin)
    return encoded if provider.user_after_tool else list(_kept_apart(encoded))


def _encoded(
    messages: Sequence[Message], provider: Provider, origin: Origin
) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []  # attachments of results, for the message behind them
    for message in messages:
        if shown and message.role != "tool":
            out.append({"role": "user", "content": shown})
            shown = []
        if message.role == "assistant":
            out.append(_assistant(message, provider, origin))
        elif message.role == "tool":
            out.append(_result(message, provider))
            if not isinstance(message.content, str):
                shown += _attachments(message.content, provider)
        else:
            out.append({"role": message.role, "content": _content(message, provider)})
    if shown:
        out.append({"role": "user", "content": shown})
    return out


def _kept_apart(encoded: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The messages with a word of the assistant between a tool's result and a user's message."""
    before = ""
    for message in encoded:
        if before == "tool" and message["role"] == "user":
            yield {"role": "assistant", "content": _AFTER_TOOL}
        before = message["role"]
        yield message


def _result(message: Message, provider: Provider) -> dict[str, Any]:
    text = message.content
    if not isinstance(text, str):
        texts = [part.text for part in text if isinstance(part, Text)]
        attached = len(texts) < len(text)
        text = "\n".join([*texts, _SHOWN_NEXT] if attached else texts)
    call_id = short_id(message.tool_call_id or "", provider.ids)
    return {"role": message.role, "content": text, "tool_call_id": call_id}


def _attachments(parts: Sequence[Part], provider: Provider) -> list[dict[str, Any]]:
    """The images and documents of a tool's result: only users' messages may hold them."""
    return [_encode_part(part, provider) for part in parts if isinstance(part, Image | Document)]


def _content(message: Message, provider: Provider) -> str | list[dict[str, Any]]:
    if isinstance(message.content, str):
        return message.content
    return [
        _encode_part(part, provider)
        for part in message.content
        if isinstance(part, Text | Image | Document)
    ]


def _encode_part(part: Text | Image | Document, provider: Provider) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Image) and provider.images is not False:
        return {"type": "image_url", "image_url": {"url": data_uri(part)}}
    if isinstance(part, Document) and provider.documents == "file":
        return {"type": "file", "file": {"filename": part.name, "file_data": data_uri(part)}}
    if isinstance(part, Document) and provider.documents:
        return {"type": provider.documents, provider.documents: data_uri(part)}
    raise ModelRefused(
        f"{provider.name} takes no {'image' if isinstance(part, Image) else 'PDF'} over chat"
        f" completions, and the conversation holds {part.describe()}; give it as text"
    )


def _assistant(message: Message, provider: Provider, origin: Origin) -> dict[str, Any]:
    out: dict[str, Any] = {"role": "assistant", "content": message.content}
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


def _assistant_content(parts: Sequence[Part], provider: Provider, origin: Origin) -> dict[str, Any]:
    """The keys of an assistant's message of parts: its content, and reasoning of this model."""
    out: dict[str, Any] = {}
    pieces: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Text):
            pieces.append({"type": "text", "text": part.text})
            out |= origin.own(part.opaque) or {}
        elif isinstance(part, Reasoning):
            data = origin.own(part.opaque)
            if data is not None:
                _add_reasoning(out, pieces, part.text, data, echo=provider.echo)
    if any(piece["type"] != "text" for piece in pieces):
        return {**out, "content": pieces}
    return {**out, "content": "".join(piece["text"] for piece in pieces)}


def _add_reasoning(
    out: dict[str, Any],
    pieces: list[dict[str, Any]],
    text: str,
    data: Mapping[str, Any],
    *,
    echo: bool,
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


def _call(call: ToolCall, provider: Provider, origin: Origin) -> dict[str, Any]:
    out = {
        "id": short_id(call.id, provider.ids),
        "type": "function",
        "function": {
            "name": call.name,
            "arguments": _to_json(call.arguments),
        },
    }
    return out if call.opaque is None else {**out, **(origin.own(call.opaque) or {})}
