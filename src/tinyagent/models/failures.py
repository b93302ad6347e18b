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
_TOO_LONG = (
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context length",
    "context window",
    "prompt is too long",
    "too many tokens",
)
_FORMATS = (
    "response_format",
    "json_schema",
    "input_schema",
    "output_config",
    "tools",
    "tool_choice",
    "function call",
    "tool use",
)
_NOT_SUPPORTED = (
    "support",
    "unknown",
    "unrecognized",
    "invalid",
    "not allowed",
    "not permitted",
    "extra",
    "must be explicitly",
)
_REDIRECT = (
    "redirects are not followed because they would carry the key; set OPENAI_BASE_URL to the new"
    " address"
)


def status_error(status: int, headers: Mapping[str, str], body: str, where: str) -> ModelError:
    """The error for an HTTP status that is not 200; `where` is the address without secrets."""
    detail = read_error(body)
    answer = f"{where} answered {status} {_phrase(status)}" + (f": {detail}" if detail else "")
    refused = _refused_kind(detail, body)
    if status in _KEYS or (status in _REFUSED and refused is ModelRefused):
        kind, fix = _REFUSED[status]
        return kind(f"{answer}; {fix}")
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return ModelRefused(f"{answer}; {_REDIRECT}")
    server_failed = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return ModelContextTooLong(answer)
    if status < HTTPStatus.TOO_MANY_REQUESTS and refused is not ModelRefused:
        return refused(answer)
    transient = _TRANSIENT.get(status, ModelServerError if server_failed else None)
    if transient is None or "insufficient_quota" in body:
        return ModelRefused(answer)
    return transient(answer, retry_after=parse_retry_after(headers.get("Retry-After")))


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
        words = _message(entry.get(key), depth + 1)
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
