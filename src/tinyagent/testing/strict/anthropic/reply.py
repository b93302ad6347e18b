"""Anthropic's Messages API: replies, whole or as named events, and the prompt cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tinyagent.testing.http import Reply, json_reply
from tinyagent.testing.strict.anthropic.request import marked
from tinyagent.testing.strict.anthropic.thinking import (
    CACHEABLE,
    THOUGHTS,
    claude,
    flattened,
    is_on,
    order_of,
    prefix_of,
    shows,
    thought_key,
    with_role,
)
from tinyagent.testing.strict.script import Output
from tinyagent.testing.strict.session import (
    Issued,
    Json,
    ProviderExchange,
    Refused,
    as_dict,
    as_list,
    pieces,
    sse,
    tokens,
)

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    529: "overloaded_error",
}
_LOOKBACK = 20


def refuse(refused: Refused) -> Reply:
    """A refusal in the form of Anthropic."""
    return json_reply(_error(refused.message, refused.status), status=refused.status)


def _error(message: str, status: int) -> Json:
    kind = _TYPES.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_mock"}


def reply(exchange: ProviderExchange, output: Output) -> Reply:
    """The reply to a request that was accepted."""
    if output.error and not exchange.streams:
        raise Refused(output.error, status=529)
    model = claude(exchange.model)
    if not is_on(exchange.body, model):
        output = output.without_reasoning()
    visible = shows(exchange.body, model)
    content = [
        b for section in output.sections for b in _blocks(exchange, section, visible=visible)
    ]
    output = output.joined()
    _remember(exchange, output, content)
    message: Json = {
        "id": exchange.session.new_id("msg_01", 22),
        "type": "message",
        "role": "assistant",
        "model": exchange.model,
        "content": content,
        "stop_sequence": None,
        "usage": _usage(exchange, output, model.cache_minimum),
    }
    message |= _stop(output)
    if exchange.dropped:
        message["input_transformations"] = [
            {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
            for path in exchange.dropped
        ]
    if not exchange.streams:
        return json_reply(message)
    return Reply(b"".join(_stream(message, output)), content_type="text/event-stream")


def _blocks(exchange: ProviderExchange, output: Output, *, visible: bool) -> list[Json]:
    """The blocks of one section."""
    texts = [{"type": "text", "text": text} for text in (output.text, output.refusal) if text]
    calls: list[Json] = []
    for call in output.calls:
        name = exchange.session.new_id("toolu_01", 22)
        arguments = dict(call.arguments)
        calls.append({"type": "tool_use", "id": name, "name": call.name, "input": arguments})
    return [*_thoughts(exchange, output, visible=visible), *texts, *calls]


def _thoughts(exchange: ProviderExchange, output: Output, *, visible: bool) -> list[Json]:
    if output.reasoning is None:
        return []
    blob = exchange.session.new_blob()
    if output.redacted:
        return [{"type": "redacted_thinking", "data": blob}]
    text = output.reasoning if visible else ""
    return [{"type": "thinking", "thinking": text, "signature": blob}]


def _remember(exchange: ProviderExchange, output: Output, content: list[Json]) -> None:
    """Record the turn, and what precedes each of its thoughts."""
    session = exchange.session
    before = [block for _, block in flattened(exchange.body)]
    for block in content:
        if block["type"] in THOUGHTS:
            keys = [thought_key(each) for each in before if each.get("type") in THOUGHTS]
            session.chains[thought_key(block)] = keys
            session.prefixes[thought_key(block)] = prefix_of(exchange.body, before)
        before.append(with_role({"role": "assistant"}, block))
    thoughts = [block for block in content if block["type"] in THOUGHTS]
    ids = tuple(block["id"] for block in content if block["type"] == "tool_use")
    session.turns.append(Issued(output, exchange.model, ids, thoughts, order_of(content)))


def _stop(output: Output) -> Json:
    reason = "max_tokens" if output.cut else "tool_use" if output.calls else "end_turn"
    if output.refusal is None:
        return {"stop_reason": reason, "stop_details": None}
    details = {"type": "refusal", "category": None, "explanation": output.refusal}
    return {"stop_reason": "refusal", "stop_details": details}


def _usage(exchange: ProviderExchange, output: Output, minimum: int) -> Json:
    total, read, written = cached(exchange, minimum)
    answer, thinking = output.tokens
    hour = '"ttl": "1h"' in json.dumps(exchange.body)
    return {
        "input_tokens": total - read - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": 0 if hour else written,
            "ephemeral_1h_input_tokens": written if hour else 0,
        },
        "output_tokens": answer + thinking,
        "output_tokens_details": {"thinking_tokens": thinking},
        "service_tier": "standard",
    }


def cached(exchange: ProviderExchange, minimum: int) -> tuple[int, int, int]:
    """Tokens of the prompt, those read from the cache, and those written to it.

    A marker writes everything before it; it reads the longest earlier entry that ends in the 20
    blocks before it. Tools, system, model, `thinking` and `tool_choice` belong to the prefix.
    """
    body = exchange.body
    parts = [part for place, part in marked(body) if ".tool_result.content." not in place]
    if isinstance(body.get("system"), str):
        parts.insert(len(as_list(body.get("tools"))), {"type": "text", "text": body["system"]})
    settings = [exchange.model, body.get("thinking"), body.get("tool_choice")]
    text, ends = json.dumps(settings), list[int]()
    for part in parts:
        plain = {key: value for key, value in part.items() if key != "cache_control"}
        text += "\n" + json.dumps(plain)
        ends.append(len(text))
    marks = [i for i, part in enumerate(parts) if _holds_marker(part)]
    if body.get("cache_control"):
        able = [i for i, p in enumerate(parts) if p.get("type") in CACHEABLE or "name" in p]
        marks += able[-1:]
    entries = [
        text[: ends[mark]] for mark in sorted(marks) if tokens(text[: ends[mark]]) >= minimum
    ]
    read = 0
    for mark in marks:
        for end in ends[max(0, mark + 1 - _LOOKBACK) : mark + 1]:
            if text[:end] in exchange.session.prompts:
                read = max(read, tokens(text[:end]))
    written = max((tokens(entry) for entry in entries), default=0)
    exchange.session.prompts += entries
    return tokens(text), read, max(0, written - read)


def _holds_marker(part: Json) -> bool:
    return any("cache_control" in as_dict(p) for p in [part, *as_list(part.get("content"))])


def _stream(message: Json, output: Output) -> Iterator[bytes]:
    """The named events of a streamed reply."""
    usage = message["usage"]
    opening: Json = {**message, "content": [], "stop_reason": None, "stop_details": None}
    opening["usage"] = {**usage, "output_tokens": 1}
    yield _event("message_start", message=opening)
    yield _event("ping")
    for index, block in enumerate(message["content"]):
        yield from _block_events(index, block)
    if output.error:
        yield sse(_error(output.error, 529), "error")
        return
    stop = {key: message[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    input_keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    counts = {key: usage[key] for key in (*input_keys, "output_tokens", "output_tokens_details")}
    yield _event("message_delta", delta=stop, usage=counts)
    yield _event("message_stop")


def _event(kind: str, **fields: Any) -> bytes:
    return sse({"type": kind, **fields}, kind)


def _block_events(index: int, block: Json) -> Iterator[bytes]:
    """A block: it starts empty and comes in deltas; redacted thinking comes whole."""
    empty: dict[str, Json] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"input": {}},
    }
    kind = block["type"]
    yield _event("content_block_start", index=index, content_block={**block, **empty.get(kind, {})})
    deltas: list[Json] = []
    if kind == "text":
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    elif kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": p} for p in pieces(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif kind == "tool_use":
        written = ["", *pieces(json.dumps(block["input"]))]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in written]
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)
