"""Chat completions: a scripted output in the format of a provider, whole or streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tinyagent.testing.http import Reply, json_reply
from tinyagent.testing.strict.chat.rules import ChatRules
from tinyagent.testing.strict.script import Call, Output
from tinyagent.testing.strict.session import (
    Issued,
    Json,
    ProviderExchange,
    Refused,
    as_dict,
    pieces,
    render,
    sse,
    tokens,
)

_TYPES = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}


def refuse(refused: Refused, rules: ChatRules) -> Reply:
    """A refusal in the form of the provider."""
    return json_reply(error_body(refused, rules), status=refused.status)


def error_body(refused: Refused, rules: ChatRules) -> Any:
    """The body of a refusal."""
    kind = _TYPES.get(refused.status, "server_error")
    if rules.errors == "array":
        names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND"}
        status = names.get(refused.status, "INTERNAL")
        return [{"error": {"code": refused.status, "message": refused.message, "status": status}}]
    if rules.errors == "openrouter":
        error: Json = {"message": refused.message, "code": refused.status}
        if refused.detail:
            error["metadata"] = refused.detail
        return {"error": error, "user_id": "user_mock"}
    if rules.errors == "mistral":
        message: Any = {"detail": refused.detail} if refused.detail else refused.message
        kind = refused.param if refused.param.startswith("invalid_") else kind
        code = refused.code or None
        return {"object": "error", "message": message, "type": kind, "param": None, "code": code}
    return {
        "error": {
            "message": refused.message,
            "type": kind,
            "param": refused.param or None,
            "code": refused.code or None,
        }
    }


def reply(exchange: ProviderExchange, output: Output, rules: ChatRules) -> Reply:
    """The reply to a request that was accepted."""
    if output.error and not exchange.streams:
        raise Refused(output.error, status=502)
    turn = _issue(exchange, output, rules)
    prefix, length = rules.call_id
    calls = [
        _call(call, name, turn, rules) for call, name in zip(output.calls, turn.ids, strict=True)
    ]
    usage = _usage(exchange, output, rules)
    frame: Json = {
        "id": exchange.session.new_id("chatcmpl-" if prefix else "", max(length, 24)),
        "created": 1_790_000_000,
        "model": exchange.model,
    }
    if exchange.streams:
        body = b"".join(_stream(exchange, turn, calls, (frame, usage), rules))
        return Reply(body, content_type="text/event-stream")
    message: Json = {"role": "assistant", "content": _content(exchange, output, rules)}
    message |= _thoughts(exchange, output, turn, rules)
    if output.refusal is not None:
        message["refusal"] = output.refusal
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": _reason(output)}
    whole = {**frame, "object": "chat.completion", "choices": [choice], "usage": usage}
    return json_reply(whole)


def _issue(exchange: ProviderExchange, output: Output, rules: ChatRules) -> Issued:
    """Record a turn, with its ids and opaque data."""
    session = exchange.session
    ids = tuple(session.new_id(*rules.call_id) for _ in output.calls)
    opaque: Any = None
    if rules.reasoning == "signature" and output.calls:
        opaque = session.new_blob()
    elif rules.reasoning == "details" and output.reasoning is not None:
        opaque = _details(exchange, output)
    turn = Issued(output, exchange.model, ids, opaque)
    session.turns.append(turn)
    return turn


def _details(exchange: ProviderExchange, output: Output) -> list[Json]:
    """OpenRouter's reasoning details: the text, and its signature or encrypted form."""
    family = exchange.model.partition("/")[0]
    formats = {"google": "google-gemini-v1", "anthropic": "anthropic-claude-v1"}
    form = {"format": formats.get(family, "unknown"), "index": 0, "id": None}
    blob = exchange.session.new_blob()
    if family == "google" or output.redacted:
        return [{"type": "reasoning.encrypted", "data": blob, **form}]
    text = {"type": "reasoning.text", "text": output.reasoning, **form}
    return [{**text, "signature": blob} if family == "anthropic" else text]


def _call(call: Call, name: str, turn: Issued, rules: ChatRules) -> Json:
    arguments = json.dumps(dict(call.arguments))
    entry: Json = {"id": name, "type": "function"}
    entry["function"] = {"name": call.name, "arguments": arguments}
    if rules.reasoning == "signature" and name == turn.ids[0]:
        entry["extra_content"] = {"google": {"thought_signature": turn.opaque}}
    return entry


def _content(exchange: ProviderExchange, output: Output, rules: ChatRules) -> Any:
    """The content of a whole message."""
    thought, text = output.reasoning, output.text
    if thought is None:
        return text if text is not None or not rules.whole_calls else ""
    if rules.reasoning == "part":
        visible = [{"type": "text", "text": text}] if text else []
        return [_thinking_part(thought), *visible]
    if rules.reasoning == "think" and not exchange.body.get("reasoning_split"):
        return f"<think>\n{thought}\n</think>\n\n{text or ''}"
    return text


def _thinking_part(text: str) -> Json:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _thoughts(exchange: ProviderExchange, output: Output, turn: Issued, rules: ChatRules) -> Json:
    """The keys next to the content that hold reasoning."""
    thought = output.reasoning
    if thought is None:
        return {}
    if rules.reasoning == "details":
        visible = {} if output.redacted else {"reasoning": thought}
        return {**visible, "reasoning_details": turn.opaque}
    if rules.reasoning == "think":
        split = [{"type": "reasoning.text", "text": thought}]
        return {"reasoning_details": split} if exchange.body.get("reasoning_split") else {}
    if rules.reasoning in ("reasoning_content", "reasoning"):
        return {rules.reasoning: thought}
    return {}


def _reason(output: Output) -> str:
    return "length" if output.cut else "tool_calls" if output.calls else "stop"


def _usage(exchange: ProviderExchange, output: Output, rules: ChatRules) -> Json:
    body = exchange.body
    prompt_text = render([exchange.model], body.get("tools"), body["messages"])
    cached = exchange.session.cached(prompt_text)
    prompt = tokens(prompt_text)
    answer, thinking = output.tokens
    completion = answer if rules.reasoning_apart else answer + thinking
    usage: Json = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + answer + thinking,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    if rules.reasoning not in ("part", "signature"):
        usage["completion_tokens_details"] = {"reasoning_tokens": thinking}
    if rules.cached:
        usage[rules.cached] = cached
    if rules.cached == "prompt_cache_hit_tokens":
        usage["prompt_cache_miss_tokens"] = prompt - cached
    return usage


def _stream(
    exchange: ProviderExchange,
    turn: Issued,
    calls: list[Json],
    frame_and_usage: tuple[Json, Json],
    rules: ChatRules,
) -> Iterator[bytes]:
    """The events of a streamed reply, in the provider's order."""
    frame, usage = frame_and_usage
    output = turn.output

    def chunk(delta: Json, reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return sse({**frame, "object": "chat.completion.chunk", "choices": [choice], **more})

    comments = [f": {comment}\n\n".encode() for comment in rules.comments]
    yield from comments
    yield chunk({"role": "assistant", "content": ""})
    deltas = [*_thought_deltas(exchange, turn, rules), *_text_deltas(output)]
    for delta in deltas:
        yield chunk(delta)
    yield from comments
    if output.error:
        failed = error_body(Refused(output.error, status=502), rules)
        yield sse(failed if isinstance(failed, dict) else failed[0])
        return
    for delta in _call_deltas(calls, rules):
        yield chunk(delta)
    if rules.usage == "last":
        yield chunk({"content": ""}, _reason(output), usage=usage)
    else:
        yield chunk({}, _reason(output))
        if as_dict(exchange.body.get("stream_options")).get("include_usage"):
            yield sse({**frame, "object": "chat.completion.chunk", "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _text_deltas(output: Output) -> Iterator[Json]:
    for piece in pieces(output.text):
        yield {"content": piece}
    for piece in pieces(output.refusal):
        yield {"refusal": piece}


def _thought_deltas(exchange: ProviderExchange, turn: Issued, rules: ChatRules) -> Iterator[Json]:
    thought = turn.output.reasoning
    if thought is None:
        return
    if rules.reasoning == "part":
        yield from ({"content": [_thinking_part(piece)]} for piece in pieces(thought))
    elif rules.reasoning == "think":
        if exchange.body.get("reasoning_split"):
            for piece in pieces(thought):
                yield {"reasoning_details": [{"type": "reasoning.text", "text": piece}]}
        else:
            yield from ({"content": p} for p in pieces(f"<think>\n{thought}\n</think>\n\n"))
    elif rules.reasoning == "details":
        yield from _detail_deltas(turn.opaque)
    elif rules.reasoning in ("reasoning_content", "reasoning"):
        yield from ({"content": None, rules.reasoning: piece} for piece in pieces(thought))


def _detail_deltas(details: list[Json]) -> Iterator[Json]:
    """Details in pieces, to be joined by type and index; a signature comes last."""
    for detail in details:
        if detail["type"] != "reasoning.text":
            yield {"content": "", "reasoning_details": [detail]}
            continue
        bare = {key: value for key, value in detail.items() if key != "signature"}
        for piece in pieces(detail["text"]):
            part = {**bare, "text": piece}
            yield {"content": "", "reasoning": piece, "reasoning_details": [part]}
        if "signature" in detail:
            yield {"content": "", "reasoning_details": [{**detail, "text": ""}]}


def _call_deltas(calls: list[Json], rules: ChatRules) -> Iterator[Json]:
    for index, call in enumerate(calls):
        numbered = {"index": index, **call} if rules.indexed else call
        if rules.whole_calls:
            yield {"tool_calls": [numbered]}
            continue
        function = call["function"]
        yield {"tool_calls": [{**numbered, "function": {**function, "arguments": ""}}]}
        for piece in pieces(function["arguments"], 2):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
