"""A `ModelResponse` as a server of each API sends it, and the tool result in a request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from tinyagent.core.types import ModelResponse, RawToolCall, Usage
from tinyagent.core.untrusted import as_object
from tinyagent.testing.http import Reply, json_reply

Api = Literal["chat", "responses", "messages"]
_PATHS: dict[str, Api] = {"/responses": "responses", "/messages": "messages"}
_STOPS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
_REFUSAL_ID = "msg_refusal"
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_ERRORS = {400: "invalid_request_error", 429: "rate_limit_error"}


def api_of(path: str) -> Api:
    """The API that is served at a path."""
    for end, api in _PATHS.items():
        if path.endswith(end):
            return api
    return "chat"


def reply_of(response: ModelResponse, api: Api, *, stream: bool) -> Reply:
    """The reply, whole or as a stream."""
    if stream:
        return Reply(_STREAMS[api](response), content_type="text/event-stream")
    return json_reply(_BODIES[api](response))


def failure(api: Api, status: int, message: str, **headers: str) -> Reply:
    """A failure in the API's form; `Retry_After="1"` sets that header."""
    error = {"message": message, "type": _ERRORS.get(status, "api_error")}
    body = {"type": "error", "error": error} if api == "messages" else {"error": error}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(json.dumps(body).encode(), status, headers=named)


def result_in(body: Mapping[str, Any], api: Api) -> str:
    """The tool result at the end of a request; empty if there is none.

    A model without function calling gets its results in user messages.
    """
    last = body["input" if api == "responses" else "messages"][-1]
    if last.get("role") == "tool" or last.get("type") == "function_call_output":
        return str(last.get("content", last.get("output")))
    content = last["content"]
    if isinstance(content, str):
        return _shown_result(content)
    if content[-1]["type"] == "tool_result":
        return str(content[-1]["content"])
    text = "".join(part.get("text", "") for part in content)
    return _shown_result(text)


def _shown_result(text: str) -> str:
    return text.partition(":\n")[2] if text.startswith("Result of ") else ""


def _words(text: str | None) -> list[str]:
    return re.findall(r"\s*\S+|\s+", text or "")


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def completion_json(response: ModelResponse) -> dict[str, Any]:
    """The body of a plain reply."""
    message: dict[str, Any] = {"role": "assistant", "content": response.content}
    if response.tool_calls:
        message["tool_calls"] = [_completion_call(call) for call in response.tool_calls]
    if response.refusal:
        message["refusal"] = response.refusal
    return {
        "id": response.id or "chatcmpl-mock",
        "object": "chat.completion",
        "created": 0,
        "model": response.model or "mock",
        "choices": [
            {"index": 0, "message": message, "finish_reason": _completion_reason(response)}
        ],
        "usage": _completion_usage(response.usage),
    }


def completion_sse(response: ModelResponse) -> bytes:
    """The body of a streamed reply: a chunk for each word, calls in two chunks, usage, `[DONE]`."""
    deltas: list[dict[str, Any]] = [{"content": piece} for piece in _words(response.content)]
    for index, call in enumerate(response.tool_calls):
        half = len(call.arguments) // 2
        first = {**_completion_call(call), "index": index}
        first["function"] = {"name": call.name, "arguments": call.arguments[:half]}
        rest = {"index": index, "function": {"arguments": call.arguments[half:]}}
        deltas += [{"tool_calls": [first]}, {"tool_calls": [rest]}]
    deltas += [{"refusal": piece} for piece in _words(response.refusal)]
    chunks = [_chunk(response, delta, None) for delta in deltas]
    chunks.append(_chunk(response, {}, _completion_reason(response)))
    chunks.append(
        {**_chunk(response, {}, None), "choices": [], "usage": _completion_usage(response.usage)}
    )
    lines = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
    return b"".join(lines) + b"data: [DONE]\n\n"


def _chunk(response: ModelResponse, delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
    return {
        "id": response.id or "chatcmpl-mock",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": response.model or "mock",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
    }


def _completion_call(call: RawToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _completion_reason(response: ModelResponse) -> str:
    if response.tool_calls:
        return "tool_calls"
    return "stop" if response.finish_reason == "refusal" else response.finish_reason


def _completion_usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def _response_json(response: ModelResponse) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    if response.content is not None:
        part: dict[str, Any] = {"type": "output_text", "text": response.content, "annotations": []}
        items.append(_item("message", "msg_mock", role="assistant", content=[part]))
    if response.refusal:
        part = {"type": "refusal", "refusal": response.refusal}
        items.append(_item("message", _REFUSAL_ID, role="assistant", content=[part]))
    for call in response.tool_calls:
        more = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
        items.append(_item("function_call", f"fc_{call.id}", **more))
    cut = _INCOMPLETE.get(response.finish_reason)
    return {
        "id": response.id or "resp_mock",
        "object": "response",
        "created_at": 0,
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": cut} if cut else None,
        "model": response.model or "mock",
        "output": items,
        "usage": {
            "input_tokens": response.usage.input_tokens,
            "input_tokens_details": {"cached_tokens": response.usage.cached_tokens},
            "output_tokens": response.usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": response.usage.reasoning_tokens},
            "total_tokens": response.usage.total_tokens,
        },
    }


def _item(kind: str, item_id: str, **more: Any) -> dict[str, Any]:
    return {"id": item_id, "type": kind, "status": "completed", **more}


def _response_sse(response: ModelResponse) -> bytes:
    whole = _response_json(response)
    events: list[dict[str, Any]] = [{"type": "response.created", "response": whole}]
    for index, item in enumerate(whole["output"]):
        place = {"item_id": item["id"], "output_index": index}
        kind, pieces = "response.output_text.delta", _words(response.content)
        if item["id"] == _REFUSAL_ID:
            kind, pieces = "response.refusal.delta", _words(response.refusal)
        elif item["type"] == "function_call":
            kind, pieces = "response.function_call_arguments.delta", [*_halves(item["arguments"])]
        events += [{"type": kind, **place, "delta": piece} for piece in pieces]
        done = {"type": "response.output_item.done", "output_index": index, "item": item}
        events.append(done)
    events.append({"type": f"response.{whole['status']}", "response": whole})
    return _sse({**event, "sequence_number": at} for at, event in enumerate(events))


def _message_json(response: ModelResponse) -> dict[str, Any]:
    blocks = [{"type": "text", "text": response.content}] if response.content else []
    reason = response.finish_reason
    details = {"type": "refusal", "category": None, "explanation": response.refusal}
    return {
        "id": response.id or "msg_mock",
        "type": "message",
        "role": "assistant",
        "model": response.model or "mock",
        "content": [*blocks, *map(_tool_use, response.tool_calls)],
        "stop_reason": "tool_use" if response.tool_calls else _STOPS.get(reason, reason),
        "stop_details": details if response.refusal else None,
        "usage": {
            "input_tokens": response.usage.input_tokens - response.usage.cached_tokens,
            "cache_read_input_tokens": response.usage.cached_tokens,
            "output_tokens": response.usage.output_tokens,
        },
    }


def _tool_use(call: RawToolCall) -> dict[str, Any]:
    """A call; the API sends an object, an empty one if the model wrote anything else."""
    try:
        arguments = as_object(json.loads(call.arguments)) or {}
    except ValueError:
        arguments = {}
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _message_sse(response: ModelResponse) -> bytes:
    whole = _message_json(response)
    opening: dict[str, Any] = {**whole, "content": [], "stop_reason": None, "stop_details": None}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": opening}, {"type": "ping"}]
    written = iter(response.tool_calls)
    start: dict[str, Any]
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            start = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": each} for each in _words(response.content)]
        else:
            start, pieces = dict(block, input={}), _halves(next(written).arguments)
            deltas = [{"type": "input_json_delta", "partial_json": each} for each in pieces]
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
        events.append({"type": "content_block_stop", "index": index})
    end = {key: whole[key] for key in ("stop_reason", "stop_details")} | {"stop_sequence": None}
    events += [
        {"type": "message_delta", "delta": end, "usage": whole["usage"]},
        {"type": "message_stop"},
    ]
    return _sse(iter(events))


def _sse(events: Iterator[dict[str, Any]]) -> bytes:
    lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return "".join(lines).encode()


_BODIES = {"chat": completion_json, "responses": _response_json, "messages": _message_json}
_STREAMS = {"chat": completion_sse, "responses": _response_sse, "messages": _message_sse}
