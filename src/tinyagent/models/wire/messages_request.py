"""Requests of Anthropic's Messages API.

Source: Anthropic API reference, "Messages", version 2026-10-21.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from tinyagent.core.errors import ModelFormatRefused
from tinyagent.core.messages import Message, Part, ToolCall
from tinyagent.core.parts import Document, Image, Reasoning, Text, to_base64
from tinyagent.core.types import ModelRequest, RequestFormat
from tinyagent.models.provider import Provider
from tinyagent.models.wire.schemas import anthropic_schema
from tinyagent.models.wire.shared import Origin

_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}
_NOT_IN_AN_ID = re.compile(r"[^a-zA-Z0-9_-]")
_THINKING = {"thinking", "redacted_thinking"}
_ANSWER_TOKENS = 4_096  # left for the answer in addition to a budget for reasoning

Blocks = Iterator[tuple[str, dict[str, Any]]]


def encode_request(
    model: str, request: ModelRequest, *, max_tokens: int, stream: bool, provider: Provider
) -> dict[str, Any]:
    """The body of `POST /v1/messages`; `max_tokens` applies if the request names none.

    The temperature is left out: the API refuses it, at any value.

    Raises:
        ModelFormatRefused: The request has a `response_format` that the API does not know.
    """
    system = [message.text for message in request.messages if message.role == "system"]
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens or max_tokens,
        **_encode_format(request.format),
        **provider.prompt_cache,
    }
    if any(system):
        body["system"] = "\n\n".join(text for text in system if text.strip())
    blocks = _blocks(request.messages, body, Origin(provider.name, model), provider)
    body["messages"] = [
        {"role": role, "content": [block for _, block in turn]}
        for role, turn in groupby(blocks, key=itemgetter(0))
    ]
    _add_reasoning(body, request, provider)
    if stream:
        body["stream"] = True
    return body


def prefix_of(body: Mapping[str, Any]) -> str:
    """A digest of everything that precedes a reply to the request: reasoning is bound to it."""
    digest = _digest(body)
    for message in body["messages"]:
        for block in message["content"]:
            digest.update(_bytes([message["role"], block]))
    return str(digest.hexdigest())


def _blocks(
    messages: Sequence[Message], body: Mapping[str, Any], origin: Origin, provider: Provider
) -> Blocks:
    """The blocks of all turns, each with its role."""
    thinks = any(isinstance(part, Reasoning) for m in messages for part in _parts(m))
    digest = _digest(body) if thinks and provider.binds_reasoning else None
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        prefix = None if digest is None else digest.hexdigest()
        for block in _encode_blocks(message, origin, prefix):
            if digest is not None:
                digest.update(_bytes([role, block]))
            yield role, block


def _parts(message: Message) -> Sequence[Part]:
    return () if isinstance(message.content, str) else message.content


def _digest(body: Mapping[str, Any]) -> Any:
    return hashlib.sha256(_bytes([body.get("system"), body.get("tools")]))


def _bytes(value: object) -> bytes:
    return json.dumps(value, default=dict).encode()


def _encode_blocks(
    message: Message, origin: Origin, prefix: str | None
) -> Iterator[dict[str, Any]]:
    if message.tool_call_id is not None:
        yield _encode_result(message)
        return
    for part in message.parts:
        block = (
            _encode_reasoning(part, origin, prefix)
            if isinstance(part, Reasoning)
            else _encode_part(part)
        )
        if block is not None:
            yield block


def _encode_result(message: Message) -> dict[str, Any]:
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": _call_id(message.tool_call_id or ""),
        "content": message.content,
    }
    if not isinstance(message.content, str):
        encoded = [_encode_part(part) for part in message.content]
        block["content"] = [each for each in encoded if each is not None] or ""
    if message.is_error:
        block["is_error"] = True
    return block


def _encode_part(part: Part) -> dict[str, Any] | None:
    """A part as a block; None if the API does not take it."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text} if part.text.strip() else None
    if isinstance(part, ToolCall):
        arguments = dict(part.arguments)
        call_id = _call_id(part.id)
        return {"type": "tool_use", "id": call_id, "name": part.name, "input": arguments}
    if isinstance(part, Image):
        return {"type": "image", "source": _source(part)}
    if isinstance(part, Document):
        return {"type": "document", "source": _source(part), "title": part.name}
    return None


def _encode_reasoning(part: Reasoning, origin: Origin, prefix: str | None) -> dict[str, Any] | None:
    """The block as received; None if another model made it or what precedes it has changed."""
    data = origin.own(part.opaque)
    if data is None or (prefix is not None and data.get("prefix") != prefix):
        return None
    block = dict(data["block"])
    return {**block, "thinking": part.text} if block["type"] == "thinking" else block


def _source(part: Image | Document) -> dict[str, Any]:
    return {"type": "base64", "media_type": part.media_type, "data": to_base64(part.data)}


def _call_id(call_id: str) -> str:
    """An id as the API takes it: another model of the conversation may use other characters."""
    return _NOT_IN_AN_ID.sub("_", call_id)


def _encode_format(request_format: RequestFormat) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if request_format.tools:
        out["tools"] = [_encode_tool(tool["function"]) for tool in request_format.tools]
    if request_format.tool_choice is not None:
        out["tool_choice"] = {"type": request_format.tool_choice}
    if request_format.response_format is not None:
        kind = request_format.response_format.get("type")
        if kind != "json_schema":
            raise ModelFormatRefused(f"Anthropic's API has no response_format of type {kind!r}")
        schema = anthropic_schema(request_format.response_format["json_schema"]["schema"])
        if schema is not None:  # otherwise only the prompt describes the form
            out["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return out


def _encode_tool(function: Mapping[str, Any]) -> dict[str, Any]:
    """A function declaration of chat completions as a tool of this API."""
    return {
        "name": function["name"],
        "description": function.get("description") or "",
        "input_schema": function.get("parameters") or _NO_ARGUMENTS,
    }


def _add_reasoning(body: dict[str, Any], request: ModelRequest, provider: Provider) -> None:
    """Add the requested reasoning; a budget is part of `max_tokens`, and takes half if it must."""
    for key, value in provider.reasoning_fields(request.reasoning).items():
        body[key] = {**body.get(key, {}), **value}
    thinking = body.get("thinking", {})
    budget = thinking.get("budget_tokens")
    if budget is not None and request.max_tokens is None:
        body["max_tokens"] = max(body["max_tokens"], budget + _ANSWER_TOKENS)
    elif budget is not None and budget >= body["max_tokens"]:
        budget = body["max_tokens"] // 2
        body["thinking"] = {**thinking, "budget_tokens": budget}
    if budget is not None:
        may_think = budget >= provider.budgets[0] and _may_think(body["messages"])
    else:
        may_think = "type" in thinking
    if thinking and not may_think:
        del body["thinking"]


def _may_think(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the current turn has its reasoning: a model with a budget needs it from the start.

    It is missing if another model began the turn, or if the turn began without reasoning.
    """
    for message in reversed(messages):
        kinds = [block["type"] for block in message["content"]]
        if message["role"] == "user" and set(kinds) - {"tool_result"}:
            return True
        if "tool_use" in kinds and kinds[0] not in _THINKING:
            return False
    return True
