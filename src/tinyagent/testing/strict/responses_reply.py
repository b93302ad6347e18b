"""OpenAI's Responses: replies, whole or as named events with sequence numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tinyagent.testing.http import Reply, json_reply
from tinyagent.testing.strict.openai import openai_model
from tinyagent.testing.strict.script import Output
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

_PHASED = re.compile(r"gpt-5\.(3-codex|[4-6]).*")


def reply(exchange: ProviderExchange, output: Output, conversation: list[Json]) -> Reply:
    """The reply to a request that was accepted."""
    if output.error and not exchange.streams:
        raise Refused(output.error, status=500)
    items = _items(exchange, output)
    output = output.joined()
    session = exchange.session
    session.turns.append(Issued(output, exchange.model, (), items))
    response = _response(exchange, output, conversation)
    response["output"] = items
    if exchange.body.get("store", True):
        session.stored[response["id"]] = [*conversation, *items]
    if not exchange.streams:
        return json_reply(response)
    return Reply(b"".join(_stream(response, output)), content_type="text/event-stream")


def _items(exchange: ProviderExchange, output: Output) -> list[Json]:
    return [item for section in output.sections for item in _section(exchange, section)]


def _section(exchange: ProviderExchange, output: Output) -> list[Json]:
    session = exchange.session
    items: list[Json] = []
    settings = as_dict(exchange.body.get("reasoning"))
    if output.reasoning is not None and openai_model(exchange.model).reasons(
        settings.get("effort")
    ):
        summary = (
            [{"type": "summary_text", "text": output.reasoning}] if settings.get("summary") else []
        )
        thought: Json = {"id": session.new_id("rs_"), "type": "reasoning", "summary": summary}
        items.append({**thought, "encrypted_content": session.new_blob()})
    if output.text is not None or output.refusal is not None:
        items.append(_message(exchange, output))
    for call in output.calls:
        item: Json = {"id": session.new_id("fc_"), "type": "function_call", "status": "completed"}
        item["call_id"] = session.new_id("call_")
        items.append({**item, "name": call.name, "arguments": json.dumps(dict(call.arguments))})
    return items


def _message(exchange: ProviderExchange, output: Output) -> Json:
    part: Json = {"type": "output_text", "text": output.text, "annotations": [], "logprobs": []}
    if output.refusal is not None:
        part = {"type": "refusal", "refusal": output.refusal}
    message: Json = {"id": exchange.session.new_id("msg_"), "type": "message"}
    message |= {"role": "assistant", "status": "completed", "content": [part]}
    if _PHASED.fullmatch(exchange.model):
        message["phase"] = "commentary" if output.calls else "final_answer"
    return message


def _response(exchange: ProviderExchange, output: Output, conversation: list[Json]) -> Json:
    body = exchange.body
    defaults: Json = {
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "store": True,
    }
    return {
        "id": exchange.session.new_id("resp_"),
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "incomplete" if output.cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if output.cut else None,
        "model": exchange.model,
        **{key: body.get(key, value) for key, value in defaults.items()},
        "usage": _usage(exchange, output, conversation),
    }


def _usage(exchange: ProviderExchange, output: Output, conversation: list[Json]) -> Json:
    body = exchange.body
    prompt = render([exchange.model, body.get("instructions")], body.get("tools"), conversation)
    cached, (answer, thinking) = exchange.session.cached(prompt), output.tokens
    return {
        "input_tokens": tokens(prompt),
        "input_tokens_details": {
            "cached_tokens": cached,
            "cache_write_tokens": tokens(prompt) - cached,
        },
        "output_tokens": answer + thinking,
        "output_tokens_details": {"reasoning_tokens": thinking},
        "total_tokens": tokens(prompt) + answer + thinking,
    }


def _stream(response: Json, output: Output) -> Iterator[bytes]:
    """The events in their order; the last one holds the whole response, there is no `[DONE]`."""
    opening: Json = {**response, "status": "in_progress", "output": [], "usage": None}
    opening["incomplete_details"] = None
    events: list[Json] = [
        {"type": "response.created", "response": opening},
        {"type": "response.in_progress", "response": opening},
    ]
    for index, item in enumerate(response["output"]):
        events += _item_events(index, item)
    if output.error:
        error = {"code": "server_error", "message": output.error}
        failed: Json = {**opening, "status": "failed", "error": error}
        events.append({"type": "response.failed", "response": failed})
    else:
        events.append({"type": f"response.{response['status']}", "response": response})
    for number, event in enumerate(events):
        yield sse({**event, "sequence_number": number}, event["type"])


def _item_events(index: int, item: Json) -> list[Json]:
    at = {"output_index": index, "item_id": item["id"]}
    opening: Json = {**item, "status": "in_progress"}
    if item["type"] == "reasoning":
        opening = {**item, "summary": [], "encrypted_content": item["encrypted_content"][:12]}
        inner = _summary_events(item, at)
    elif item["type"] == "message":
        opening["content"] = []
        inner = _content_events(item["content"][0], {**at, "content_index": 0})
    else:
        opening["arguments"] = ""
        name = "response.function_call_arguments"
        inner = [_event(f"{name}.delta", at, delta=p) for p in pieces(item["arguments"])]
        inner.append(_event(f"{name}.done", at, arguments=item["arguments"], name=item["name"]))
    place = {"output_index": index}
    return [
        _event("response.output_item.added", place, item=opening),
        *inner,
        _event("response.output_item.done", place, item=item),
    ]


def _event(kind: str, place: Json, **fields: Any) -> Json:
    return {"type": kind, **place, **fields}


def _summary_events(item: Json, at: Json) -> list[Json]:
    events: list[Json] = []
    for index, part in enumerate(item["summary"]):
        place = {**at, "summary_index": index}
        name = "response.reasoning_summary_text"
        start = {"type": "summary_text", "text": ""}
        events.append(_event("response.reasoning_summary_part.added", place, part=start))
        events += [_event(f"{name}.delta", place, delta=piece) for piece in pieces(part["text"])]
        events.append(_event(f"{name}.done", place, text=part["text"]))
        events.append(_event("response.reasoning_summary_part.done", place, part=part))
    return events


def _content_events(part: Json, place: Json) -> list[Json]:
    key = "refusal" if part["type"] == "refusal" else "text"
    name = "response.refusal" if key == "refusal" else "response.output_text"
    more: Json = {} if key == "refusal" else {"logprobs": []}
    return [
        _event("response.content_part.added", place, part={**part, key: ""}),
        *(_event(f"{name}.delta", place, delta=p, **more) for p in pieces(part[key])),
        _event(f"{name}.done", place, **{key: part[key]}, **more),
        _event("response.content_part.done", place, part=part),
    ]
