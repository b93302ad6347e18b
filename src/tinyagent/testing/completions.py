"""A `ModelResponse` as a chat completions server sends it."""

from __future__ import annotations

import json
import re
from typing import Any

from tinyagent.core.types import ModelResponse, RawToolCall, Usage


def completion_json(response: ModelResponse) -> dict[str, Any]:
    """The body of a plain reply."""
    message: dict[str, Any] = {"role": "assistant", "content": response.content}
    if response.tool_calls:
        message["tool_calls"] = [_call(call) for call in response.tool_calls]
    return {
        "id": response.id or "chatcmpl-mock",
        "object": "chat.completion",
        "created": 0,
        "model": response.model or "mock",
        "choices": [{"index": 0, "message": message, "finish_reason": _reason(response)}],
        "usage": _usage(response.usage),
    }


def completion_sse(response: ModelResponse) -> bytes:
    """The body of a streamed reply: a chunk for each word, calls in two chunks, usage, `[DONE]`."""
    deltas: list[dict[str, Any]] = [
        {"content": piece} for piece in re.findall(r"\s*\S+|\s+", response.content or "")
    ]
    for index, call in enumerate(response.tool_calls):
        half = len(call.arguments) // 2
        first = {**_call(call), "index": index}
        first["function"] = {"name": call.name, "arguments": call.arguments[:half]}
        rest = {"index": index, "function": {"arguments": call.arguments[half:]}}
        deltas += [{"tool_calls": [first]}, {"tool_calls": [rest]}]
    chunks = [_chunk(response, delta, None) for delta in deltas]
    chunks.append(_chunk(response, {}, _reason(response)))
    chunks.append({**_chunk(response, {}, None), "choices": [], "usage": _usage(response.usage)})
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


def _call(call: RawToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _reason(response: ModelResponse) -> str:
    return "tool_calls" if response.tool_calls else response.finish_reason


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
