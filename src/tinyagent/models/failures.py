"""From a server's failure to the `ModelError` that says who can act on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from tinyagent.core.errors import (
    ModelAuthenticationError,
    ModelContextTooLong,
    ModelError,
    ModelFormatRefused,
    ModelRateLimited,
    ModelRefused,
    ModelServerError,
    ModelTimeout,
)
from tinyagent.core.untrusted import as_array, as_object

_SHOWN = 500
_MAX_DEPTH = 8
_MAX_FAULTS = 5
_REFUSED = {
    401: (ModelAuthenticationError, "check OPENAI_API_KEY"),
    403: (ModelAuthenticationError, "check OPENAI_API_KEY"),
    404: (ModelRefused, "check the model's name and OPENAI_BASE_URL"),
}
_KEYS = {401, 403}
_TRANSIENT = {408: ModelTimeout, 429: ModelRateLimited, 504: ModelTimeout}
_TOO_LONG = (  # each as one provider says it; most say "context length"
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "context_size",
    "context limit",
    "exceeds the maximum number of tokens",
    "exceeded model token limit",
    "total message size",
    "maximum prompt length",
    "maximum model length",
    "maximum allowed input length",
    "range of input length",
    "reduce the length of the messages",
    "prompt is too long",
    "prompt too long",
    "prompt exceeds max length",
    "input is too long",
    "too many tokens",
)
_NO_TOOL_PARSER = ("--enable-auto-tool-choice", "--jinja", "unsupported tool_call_parser")
_FORMATS = (
    "response_format",
    "json_schema",
    "input_schema",
    "output_config",
    "tools",
    "tool_choice",
    "function call",
    "tool calling",
    "tool use",
)
_NOT_SUPPORTED = (
    "support",
    "unknown",
    "unrecognized",
    "invalid",
    "not allowed",
    "not permitted",
    "not enabled",
    "extra",
    "must be explicitly",
)
_REDIRECT = (
    "redirects are not followed because they would carry the key; set OPENAI_BASE_URL to the new"
    " address"
)
_FAILED_GENERATIONS = {"tool_use_failed", "json_validate_failed"}
_LONGEST_GENERATION = 8_000


class GenerationRefused(ModelRefused):
    """The server cannot read what the model itself wrote: a call, or JSON. The model can fix it.

    Attributes:
        code: The server's code for it.
        written: What the model wrote, in at most 8,000 characters.
    """

    def __init__(self, message: str, code: str, written: str) -> None:
        super().__init__(message)
        self.code = code
        self.written = written[:_LONGEST_GENERATION]


def status_error(status: int, headers: Mapping[str, str], body: str, where: str) -> ModelError:
    """The error for an HTTP status that is not 200; `where` is the address without secrets."""
    detail = read_error(body)
    answer = f"{where} answered {status} {_phrase(status)}" + (f": {detail}" if detail else "")
    explained = None if status in _KEYS else _explained(status, detail, body, answer)
    if explained is not None:
        return explained
    if status in _REFUSED:
        kind, fix = _REFUSED[status]
        return kind(f"{answer}; {fix}")
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return ModelRefused(f"{answer}; {_REDIRECT}")
    server_failed = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    transient = _TRANSIENT.get(status, ModelServerError if server_failed else None)
    if transient is None or "insufficient_quota" in body:
        return ModelRefused(answer)
    return transient(answer, retry_after=parse_retry_after(headers.get("Retry-After")))


def _explained(status: int, detail: str, body: str, answer: str) -> ModelRefused | None:
    """The error for a request that the run or the model can change; None for other failures."""
    if any(flag in detail.lower() for flag in _NO_TOOL_PARSER):  # some servers say so with a 500
        return ModelFormatRefused(answer)
    if not HTTPStatus.BAD_REQUEST <= status < HTTPStatus.TOO_MANY_REQUESTS:
        return None
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return ModelContextTooLong(answer)
    kind = _refused_kind(detail, body)
    return _failed_generation(body, answer) or (None if kind is ModelRefused else kind(answer))


def _failed_generation(body: str, answer: str) -> GenerationRefused | None:
    """The error for what the model wrote, if that is what the server refuses, as Groq does."""
    if "failed_generation" not in body:
        return None
    try:
        error = as_object((as_object(json.loads(body)) or {}).get("error")) or {}
    except (ValueError, RecursionError):
        return None
    code, written = error.get("code"), error.get("failed_generation")
    if code not in _FAILED_GENERATIONS or not isinstance(written, str):
        return None
    return GenerationRefused(answer, code, written)


def _refused_kind(detail: str, body: str) -> type[ModelRefused]:
    """Why a server refuses a request, from its message: there is no standard code for it."""
    words = detail.lower()
    if any(phrase in words or phrase in body.lower() for phrase in _TOO_LONG):
        return ModelContextTooLong
    if "/v1/responses" in words:  # the fix is another model class, not another form of the tools
        return ModelRefused
    if any(name in words for name in _FORMATS) and any(word in words for word in _NOT_SUPPORTED):
        return ModelFormatRefused
    return ModelRefused


def read_error(body: str) -> str:
    """The message in an error body, in at most 500 characters; empty for HTML."""
    try:
        return error_detail(json.loads(body))
    except (ValueError, RecursionError):
        return "" if "<html" in body.lower() else _shorten(body.strip())


def error_detail(data: Any) -> str:
    """The message in an error object, in at most 500 characters, however the server nests it."""
    return _shorten(_message(data))


def _message(data: Any, depth: int = 0) -> str:
    """The message of an error; for a list of faults, each one with its location."""
    if isinstance(data, str):
        return data
    if depth > _MAX_DEPTH:
        return ""
    items = as_array(data)
    if items is not None:
        return "; ".join(filter(None, (_message(item, depth + 1) for item in items[:_MAX_FAULTS])))
    entry = as_object(data) or {}
    for key in ("error", "message", "detail", "msg"):
        words = _message(entry[key], depth + 1) if key in entry else ""
        if words:
            place = ".".join(map(str, as_array(entry.get("loc")) or ()))
            return f"{place}: {words}" if place else words
    return ""


def parse_retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a `Retry-After` header: a number or an HTTP date (RFC 9110, 10.2.3)."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 - rarely needed, 10 ms

        try:
            seconds = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(seconds, 0.0) if seconds == seconds else None  # noqa: PLR0124 - not a NaN


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
