"""The chat completions format: requests into JSON, replies and stream chunks out of it.

Source: OpenAI API reference, "Chat Completions"; what other servers leave out is optional here, and
what they want besides is in `providers.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from tinyagent.core.errors import ModelReplyError
from tinyagent.core.types import ModelDelta, ModelRequest, ModelResponse, Usage
from tinyagent.core.untrusted import as_array, as_object, describe
from tinyagent.models.chat_messages import encode_messages
from tinyagent.models.chat_parts import ReplyParts
from tinyagent.models.encoding import Origin
from tinyagent.models.failures import status_error
from tinyagent.models.providers import LENIENT, Provider, SchemaSubset
from tinyagent.models.schemas import gemini_schema, object_at_root, openai_schema

_MAX_PARALLEL_CALLS = 128
_LAST_STATUS = 600
_FINISH_REASONS = {"model_length": "length"}
_FAILED = {"error", "insufficient_system_resource"}


def encode_request(
    model: str, request: ModelRequest, *, stream: bool, provider: Provider = LENIENT
) -> dict[str, Any]:
    """The body of `POST /chat/completions`, as the provider wants it of this model.

    Raises:
        ModelRefused: the provider does not take what the request holds.
    """
    origin = Origin(provider.name, model)
    body: dict[str, Any] = {
        "model": model,
        "messages": encode_messages(request.messages, provider, origin),
        **provider.reasoning_fields(request.reasoning),
        **_encode_format(request, provider),
    }
    if request.temperature is not None and takes_temperature(request, provider):
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body[provider.answer_limit] = request.max_tokens
    if stream:
        body["stream"] = True
        if provider.stream_options:
            body["stream_options"] = {"include_usage": True}
    return body


def _encode_format(request: ModelRequest, provider: Provider) -> dict[str, Any]:
    wanted = request.format
    out: dict[str, Any] = {}
    if wanted.tools and (wanted.tool_choice is None or provider.choice_none):
        out["tools"] = _fitting_tools(wanted.tools) if provider.schema == "gemini" else wanted.tools
        if wanted.tool_choice is not None:
            out["tool_choice"] = wanted.tool_choice
    if wanted.response_format is not None:
        out["response_format"] = fitting_format(wanted.response_format, provider.schema)
    return out


def fitting_format(wanted: Mapping[str, Any], subset: SchemaSubset) -> Mapping[str, Any]:
    """A `response_format` as the provider takes it.

    A schema that its subset cannot say is sent without `strict`, or JSON of any form is asked for:
    the prompt says which form is wanted.
    """
    if wanted.get("type") != "json_schema" or subset == "any":
        return wanted
    if subset in {"json_object", "anthropic"}:
        return {"type": "json_object"}
    inner = wanted["json_schema"]
    schema = inner["schema"]
    rewritten = openai_schema(schema) if subset == "openai" else gemini_schema(schema)
    if rewritten is None and subset == "gemini":
        return {"type": "json_object"}
    strict = rewritten is not None
    fitting = {**inner, "schema": rewritten or object_at_root(schema), "strict": strict}
    return {**wanted, "json_schema": fitting}


def _fitting_tools(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Tools with their arguments in Gemini's subset of JSON Schema, as far as that can say them."""
    out: list[dict[str, Any]] = []
    for tool in tools:
        function = tool["function"]
        rewritten = gemini_schema(function.get("parameters") or {"type": "object"})
        fitting = function if rewritten is None else {**function, "parameters": rewritten}
        out.append({**tool, "function": fitting})
    return out


def takes_temperature(request: ModelRequest, provider: Provider) -> bool:
    """Whether a temperature may be sent: many models refuse one while they reason."""
    if provider.temperature == "always":
        return True
    is_off = request.reasoning in {"off", 0}
    return is_off or (provider.temperature == "unless_reasoning" and request.reasoning is None)


def decode_response(data: Any, provider: Provider = LENIENT, model: str = "") -> ModelResponse:
    """Read the JSON body of a reply.

    Raises:
        ModelReplyError: it is not a chat completion; the message says what came instead.
        ModelServerError: it reports an error.
    """
    body = _without_error(data)
    choices = _as_list(body.get("choices"))
    if not choices:
        raise ModelReplyError(f"the reply has no 'choices', only {describe(body)}")
    choice = _as_object(choices[0])
    message = _as_object(choice.get("message"))
    assembler = StreamAssembler(provider, model)
    assembler.read_head(body)
    assembler.read_choice(choice, message, is_whole=True)
    return assembler.response()


def is_whole_reply(data: Any) -> bool:
    """Whether this is a reply in one piece rather than a chunk of a streamed one."""
    choices = as_array((as_object(data) or {}).get("choices")) or [None]
    return "message" in (as_object(choices[0]) or {})


class StreamAssembler:
    """Puts the chunks of a streamed reply together.

    Args:
        provider: the provider as it is for the model.
        model: the model's name, as it was asked for.
    """

    def __init__(self, provider: Provider = LENIENT, model: str = "") -> None:
        self._parts = ReplyParts(Origin(provider.name, model), think_tags=provider.think_tags)
        self._usage: Any = None
        self._head: dict[str, str] = {"id": "", "model": ""}
        self._finish_reason: str | None = None
        self._refused = False

    @property
    def is_whole(self) -> bool:
        """Whether the server said how the answer ends."""
        return self._finish_reason is not None

    def add(self, data: Any) -> Sequence[ModelDelta]:
        """Take one chunk; gives its pieces of text and reasoning, if it has any.

        Raises:
            ModelReplyError: it is not a chunk of a chat completion.
            ModelServerError: the server reports an error in the middle of the stream.
        """
        chunk = _without_error(data)
        self.read_head(chunk)
        choices = _as_list(chunk.get("choices"))
        if not choices:
            return ()
        choice = _as_object(choices[0])
        return self.read_choice(choice, _as_object(choice.get("delta") or {}))

    def read_head(self, chunk: Mapping[str, Any]) -> None:
        """Take what stands around the choices."""
        for key, value in self._head.items():
            if not value and chunk.get(key):
                self._head[key] = str(chunk[key])
        self._usage = chunk.get("usage") or self._usage

    def read_choice(
        self, choice: Mapping[str, Any], delta: Mapping[str, Any], *, is_whole: bool = False
    ) -> list[ModelDelta]:
        """Take a choice with its delta, or with the whole message."""
        deltas = self._take(delta, is_whole=is_whole)
        reason = choice.get("finish_reason")
        if reason:
            if reason in _FAILED:
                raise _failure(HTTPStatus.SERVICE_UNAVAILABLE, {"error": f"it ended with {reason}"})
            self._finish_reason = _FINISH_REASONS.get(str(reason), str(reason))
            deltas += self._parts.end()
        return deltas

    def response(self) -> ModelResponse:
        """The whole answer so far."""
        content, calls, parts = self._parts.result()
        reason = "content_filter" if self._refused else self._finish_reason
        return ModelResponse(
            content=content,
            tool_calls=calls,
            usage=_decode_usage(self._usage),
            finish_reason=reason or "stop",
            model=self._head["model"],
            id=self._head["id"],
            parts=parts,
        )

    def _take(self, delta: Mapping[str, Any], *, is_whole: bool) -> list[ModelDelta]:
        parts = self._parts
        deltas = parts.add_reasoning(delta)
        content = delta.get("content")
        if isinstance(content, str):
            deltas += parts.add_text(content)
        elif content is not None:
            for piece in _as_list(content):
                deltas += parts.add_content(_as_object(piece))
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refused = True
            deltas += parts.add_text(refusal)
        calls = _as_list(delta.get("tool_calls"))
        if calls:
            deltas += parts.end()
        for at, each in enumerate(calls[:_MAX_PARALLEL_CALLS]):
            call = _as_object(each)
            function = _as_object(call.get("function") if is_whole else call.get("function") or {})
            parts.add_call(call, function, at if is_whole else None)
        if "extra_content" in delta:
            parts.add_extra(delta["extra_content"])
        return deltas


def _decode_usage(usage: Any) -> Usage:
    counts = as_object(usage) or {}
    read = as_object(counts.get("prompt_tokens_details")) or {}
    written = as_object(counts.get("completion_tokens_details")) or {}
    prompt = _as_count(counts.get("prompt_tokens"))
    # xAI counts the reasoning beside the completion; the total is right wherever there is one.
    rest = _as_count(counts.get("total_tokens")) - prompt
    cached = read.get("cached_tokens") or counts.get("prompt_cache_hit_tokens")
    return Usage(
        requests=1,
        input_tokens=prompt,
        output_tokens=max(_as_count(counts.get("completion_tokens")), rest),
        cached_tokens=_as_count(cached),
        cache_write_tokens=_as_count(read.get("cache_write_tokens")),
        reasoning_tokens=_as_count(written.get("reasoning_tokens")),
    )


def _as_count(value: Any) -> int:
    return max(value, 0) if isinstance(value, int) else 0


def _without_error(data: Any) -> dict[str, Any]:
    body = _as_object(data)
    if body.get("error"):
        code: object = (as_object(body["error"]) or {}).get("code")
        if not isinstance(code, int) or not HTTPStatus.BAD_REQUEST <= code < _LAST_STATUS:
            code = HTTPStatus.INTERNAL_SERVER_ERROR
        raise _failure(code, body)
    return body


def _failure(status: int, body: Mapping[str, Any]) -> Exception:
    return status_error(status, {}, json.dumps(body), "the server")


def _as_object(value: Any) -> dict[str, Any]:
    entry = as_object(value)
    if entry is None:
        raise ModelReplyError(f"the reply has {describe(value)} where an object belongs")
    return entry


def _as_list(value: Any) -> Sequence[Any]:
    items = as_array(value)
    if items is None and value is not None:
        raise ModelReplyError(f"the reply has {describe(value)} where a list belongs")
    return items or ()
