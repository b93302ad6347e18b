"""The file of a `RecordedModel`: requests and their results.

    {"format": "tinyagent recording", "version": 1, "model": "gpt-4.1", "exchanges": [
      {"request": {"messages": [...], "tools": [...]},
       "deltas": ["It", " is", {"reasoning": "hm"}], "response": {"content": "It is", ...}},
      {"request": {...}, "error": {"kind": "ModelRateLimited", "message": "..."}}]}

`deltas` is present if the answer was streamed. Values that have their default are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from tinyagent.core import errors
from tinyagent.core.errors import ConfigurationError, ModelError
from tinyagent.core.messages import Message
from tinyagent.core.types import (
    ModelDelta,
    ModelRequest,
    ModelResponse,
    ReasoningWish,
    RequestFormat,
)
from tinyagent.core.untrusted import (
    as_array,
    as_object,
    describe,
    take,
    take_list,
    take_object,
    take_optional,
)
from tinyagent.models.provider import LEVELS

FORMAT = "tinyagent recording"
VERSION = 1
_KINDS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, ModelError)
}
_DELTAS = ("text", "reasoning", "restart")
_ROLES = ("system", "user", "assistant", "tool")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """A request and its result. `deltas` is None if the answer was not streamed."""

    request: ModelRequest
    outcome: ModelResponse | ModelError
    deltas: tuple[ModelDelta, ...] | None = None


def write_recording(path: Path, model: str, exchanges: Iterable[RecordedExchange]) -> None:
    """Replace the file; a concurrent reader sees the old one or the new one.

    Raises:
        ConfigurationError: It cannot be written.
    """
    data = {
        "format": FORMAT,
        "version": VERSION,
        "model": model,
        "exchanges": [_exchange_to_dict(exchange) for exchange in exchanges],
    }
    text = json.dumps(data, ensure_ascii=False, indent=1, default=_as_dict)
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # UTF-8 cannot hold a lone surrogate; JSON has a backslash escape for it.
        temporary.write_bytes(text.encode("utf-8", "backslashreplace") + b"\n")
        temporary.replace(path)
    except OSError as error:
        raise ConfigurationError(f"the recording {path} cannot be written: {error}") from None


def read_recording(path: Path) -> tuple[str, Sequence[RecordedExchange]]:
    """The name of the recorded model, and the exchanges in order.

    Raises:
        ConfigurationError: There is no such file, or it is not a recording of this version; the
            message says where it fails.
    """
    try:
        data = as_object(json.loads(path.read_bytes())) or {}
    except OSError as error:
        raise ConfigurationError(f"the recording {path} cannot be read: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not a recording: it is not JSON ({error})") from None
    if data.get("format") != FORMAT:
        raise ConfigurationError(f'{path} is not a recording: it has no "format": "{FORMAT}"')
    if data.get("version") != VERSION:
        raise ConfigurationError(
            f"{path} is a recording of version {data.get('version')!r}, and only version"
            f" {VERSION} is supported; record it again"
        )
    where = "its head"
    try:
        model = take(data, "model", str)
        exchanges: list[RecordedExchange] = []
        for number, entry in enumerate(take_list(data, "exchanges"), 1):
            where = f"exchange {number}"
            exchanges.append(_read_exchange(entry))
    except ValueError as error:
        raise ConfigurationError(f"{path} is a faulty recording: {where}: {error}") from None
    return model, exchanges


def request_to_dict(request: ModelRequest) -> dict[str, Any]:
    """The JSON form of a request; values that have their default are left out."""
    parts = {
        "messages": [replace(message, label=None).to_dict() for message in request.messages],
        "tools": list(request.format.tools) or None,
        "tool_choice": request.format.tool_choice,
        "response_format": request.format.response_format,
        "instructions": request.format.instructions or None,
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "reasoning": request.reasoning,
    }
    return {name: part for name, part in parts.items() if part is not None}


def _as_dict(value: object) -> dict[str, Any]:
    """Turn a mapping that is not a `dict` into one, for the JSON encoder."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    raise TypeError(f"a {type(value).__name__} in a request has no JSON form")


def _exchange_to_dict(exchange: RecordedExchange) -> dict[str, Any]:
    out: dict[str, Any] = {"request": request_to_dict(exchange.request)}
    if exchange.deltas is not None:
        out["deltas"] = [
            delta.text if delta.kind == "text" else {delta.kind: delta.text}
            for delta in exchange.deltas
        ]
    if isinstance(exchange.outcome, ModelError):
        return out | {"error": _error_to_dict(exchange.outcome)}
    return out | {"response": exchange.outcome.to_dict()}


def _error_to_dict(error: ModelError) -> dict[str, Any]:
    kind = next(kind.__name__ for kind in type(error).__mro__ if kind in _KINDS.values())
    parts = {
        "kind": kind,
        "message": str(error),
        "retry_after": error.retry_after,
        "notes": list(getattr(error, "__notes__", ())) or None,
    }
    return {name: part for name, part in parts.items() if part is not None}


def _read_exchange(value: Any) -> RecordedExchange:
    entry = _object(value)
    failed = "error" in entry
    return RecordedExchange(
        request=_read_request(take_object(entry, "request")),
        outcome=_read_error(take_object(entry, "error"))
        if failed
        else ModelResponse.from_dict(take_object(entry, "response")),
        deltas=tuple(_read_delta(delta) for delta in take_list(entry, "deltas"))
        if "deltas" in entry
        else None,
    )


def _read_request(entry: dict[str, Any]) -> ModelRequest:
    temperature = entry.get("temperature")
    return ModelRequest(
        messages=tuple(_read_message(_object(each)) for each in take_list(entry, "messages")),
        format=RequestFormat(
            tools=tuple(_object(tool) for tool in _items(entry, "tools")),
            tool_choice=_read_choice(entry.get("tool_choice")),
            response_format=take_object(entry, "response_format")
            if "response_format" in entry
            else None,
            instructions=take_optional(entry, "instructions", str) or "",
        ),
        temperature=temperature if isinstance(temperature, int | float) else None,
        max_tokens=take_optional(entry, "max_tokens", int),
        reasoning=_read_reasoning(entry.get("reasoning")),
    )


def _read_reasoning(value: Any) -> ReasoningWish | None:
    if value is None or value in LEVELS or isinstance(value, int):
        reasoning: ReasoningWish | None = value
        return reasoning
    raise ValueError(f"'reasoning' is {describe(value)}, neither a level nor a number")


def _read_choice(value: object) -> Literal["none"] | None:
    if value is None or value == "none":
        return "none" if value else None
    raise ValueError(f"'tool_choice' is {describe(value)}, not 'none'")


def _read_message(entry: dict[str, Any]) -> Message:
    if entry.get("role") not in _ROLES:
        raise ValueError(f"a message's 'role' is not one of: {', '.join(_ROLES)}")
    if as_array(entry.get("content")) is None:
        take(entry, "content", str)
    take_optional(entry, "tool_call_id", str)
    parts = [_object(part) for part in as_array(entry["content"]) or ()]
    calls = [part for part in parts if part.get("type") == "tool_call"]
    for call in (*calls, *_items(entry, "tool_calls")):
        take(_object(call), "id", str)
        take(_object(call), "name", str)
        take_optional(_object(call), "fault", str)
        take_object(_object(call), "arguments")
    try:
        return Message.from_dict(entry)
    except KeyError as error:
        raise ValueError(f"a part has no {error}") from None


def _read_error(entry: dict[str, Any]) -> ModelError:
    name = take(entry, "kind", str)
    if name not in _KINDS:
        raise ValueError(f"an error's 'kind' is {name!r}, which is not a ModelError")
    wait = entry.get("retry_after")
    error = _KINDS[name](
        take(entry, "message", str),
        retry_after=float(wait) if isinstance(wait, int | float) else None,
    )
    for note in _items(entry, "notes"):
        error.add_note(str(note))
    return error


def _read_delta(value: Any) -> ModelDelta:
    if isinstance(value, str):
        return ModelDelta(value)
    for kind, text in _object(value).items():
        if kind in _DELTAS and isinstance(text, str):
            return ModelDelta(text, cast("Any", kind))
    raise ValueError(f"a delta is a text, or a text under {' or '.join(_DELTAS[1:])}")


def _object(value: Any) -> dict[str, Any]:
    entry = as_object(value)
    if entry is None:
        raise ValueError(f"{describe(value)} instead of an object")
    return entry


def _items(entry: Mapping[str, Any], key: str) -> list[Any]:
    return take_list(entry, key) if key in entry else []
