"""Gemini's generateContent: replies, whole or as a stream without an end mark."""

from __future__ import annotations

import json
from typing import Any

from tinyagent.testing.http import Reply, json_reply
from tinyagent.testing.strict.gemini_check import camel
from tinyagent.testing.strict.script import Output
from tinyagent.testing.strict.session import (
    Exchange,
    Issued,
    Json,
    Refused,
    as_list,
    pieces,
    render,
    tokens,
)

_STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED"}


def refuse(refused: Refused) -> Reply:
    """A refusal as Gemini words it."""
    status = _STATUS.get(refused.status, "NOT_FOUND" if refused.status == 404 else "INTERNAL")  # noqa: PLR2004
    error = {"code": refused.status, "message": refused.message, "status": status}
    return json_reply({"error": error}, status=refused.status)


def reply(exchange: Exchange, output: Output) -> Reply:
    """The reply to a request that was accepted."""
    if output.error and not exchange.streams:
        raise Refused(output.error, status=500)
    signature = exchange.session.new_blob()
    ids = tuple(exchange.session.new_id("", 8) for _ in output.calls)
    exchange.session.turns.append(Issued(output, exchange.model, ids, signature))
    reason = "MAX_TOKENS" if output.cut else "SAFETY" if output.refusal is not None else "STOP"
    end: Json = {"finishReason": reason, "index": 0}
    usage = _usage(exchange, output)
    frame = {"modelVersion": exchange.model, "responseId": exchange.session.new_id()}
    if not exchange.streams:
        parts = [*_spoken(exchange, output, signature), *_calls(output, ids, signature)]
        candidate: Json = {"content": {"role": "model", "parts": parts}, **end}
        return json_reply({"candidates": [candidate], "usageMetadata": usage, **frame})
    steps = [[part] for part in _streamed(exchange, output)]
    steps += [[part] for part in _calls(output, ids, signature)]
    if not output.calls:
        steps.append([{"text": "", "thoughtSignature": signature}])
    chunks: list[Json] = []
    for number, parts in enumerate(steps):
        ending = end if number == len(steps) - 1 else {"index": 0}
        step: Json = {"content": {"role": "model", "parts": parts}, **ending}
        chunks.append({"candidates": [step], "usageMetadata": usage, **frame})
    if output.error:
        error = {"code": 500, "message": output.error, "status": "INTERNAL"}
        chunks[-1] = {"error": error}
    return _written(exchange, chunks)


def _written(exchange: Exchange, chunks: list[Json]) -> Reply:
    if exchange.request.query.get("alt") != "sse":
        return json_reply(chunks)
    body = b"".join(f"data: {json.dumps(chunk)}\r\n\r\n".encode() for chunk in chunks)
    return Reply(body, content_type="text/event-stream")


def _shows_thoughts(exchange: Exchange) -> bool:
    config = camel(camel(exchange.body).get("generationConfig"))
    return bool(camel(config.get("thinkingConfig")).get("includeThoughts"))


def _spoken(exchange: Exchange, output: Output, signature: str) -> list[Json]:
    parts: list[Json] = []
    if output.reasoning is not None and _shows_thoughts(exchange):
        parts.append({"text": output.reasoning, "thought": True})
    if output.text is not None:
        signed = {} if output.calls else {"thoughtSignature": signature}
        parts.append({"text": output.text, **signed})
    return parts


def _streamed(exchange: Exchange, output: Output) -> list[Json]:
    thought = output.reasoning if _shows_thoughts(exchange) else None
    shown: list[Json] = [{"text": piece, "thought": True} for piece in pieces(thought)]
    return [*shown, *({"text": piece} for piece in pieces(output.text))]


def _calls(output: Output, ids: tuple[str, ...], signature: str) -> list[Json]:
    """The calls; only the first of them is signed."""
    parts: list[Json] = []
    for call, name in zip(output.calls, ids, strict=True):
        made: Json = {"id": name, "name": call.name, "args": dict(call.arguments)}
        signed = {} if parts else {"thoughtSignature": signature}
        parts.append({"functionCall": made, **signed})
    return parts


def _usage(exchange: Exchange, output: Output) -> Json:
    body = camel(exchange.body)
    system: Any = [body["systemInstruction"]] if "systemInstruction" in body else []
    prompt = render([exchange.model], system, body.get("tools"), as_list(body["contents"]))
    cached, thinking = exchange.session.cached(prompt), tokens(output.reasoning or "")
    said = tokens(
        (output.text or "") + "".join(json.dumps(dict(c.arguments)) for c in output.calls)
    )
    usage = {
        "promptTokenCount": tokens(prompt),
        "candidatesTokenCount": said,
        "totalTokenCount": tokens(prompt) + said + thinking,
        "thoughtsTokenCount": thinking,
    }
    return {**usage, "cachedContentTokenCount": cached} if cached else usage
