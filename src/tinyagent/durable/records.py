"""The journal's JSON: model answers, tool results and blocks of code, read strictly."""

from __future__ import annotations

import base64
import binascii
import builtins
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from dbos import Serializer

from tinyagent.core import errors
from tinyagent.core.errors import ModelContextTooLong, ModelFormatRefused, ModelRefused
from tinyagent.core.execution import Artifact, Change, ExecutionResult, NetworkRequest
from tinyagent.core.messages import ToolCall
from tinyagent.core.provenance import label_from_dict, label_to_dict
from tinyagent.core.types import (
    ModelResponse,
    ToolResult,
    content_from_list,
)
from tinyagent.core.untrusted import as_object, take, take_list, take_number, take_object
from tinyagent.execution.sandbox.worker.codec.values import decode, encode
from tinyagent.execution.sandbox.worker.codec.wire import WireError

Record = dict[str, Any]

_REFUSALS = {kind.__name__: kind for kind in (ModelContextTooLong, ModelFormatRefused)}
_FLAGS = ("timed_out", "out_of_memory", "is_final", "state_lost", "undone")


class JSONSerializer(Serializer):
    """Stores everything as JSON in ASCII, which can hold any text of a model; pickles nothing."""

    def name(self) -> str:
        """The mark of each stored value."""
        return "tinyagent_json"

    def serialize(self, data: Any) -> str:
        """Write a value; of an exception, its kind and message."""
        if isinstance(data, BaseException):
            data = {"$error": type(data).__name__, "message": str(data)}
        return json.dumps(data, separators=(",", ":"))

    def deserialize(self, serialized_data: str) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - DBOS names `self` otherwise
        """Read a value; an exception becomes a `RuntimeError` that names its kind."""
        data: Any = json.loads(serialized_data)
        match data:
            case {"$error": kind, "message": message}:
                return RuntimeError(f"{kind}: {message}")
            case _:
                return data


def response_to_dict(response: ModelResponse) -> Record:
    """The JSON form of a model's answer, with each call as a list of three texts."""
    calls = [[call.id, call.name, call.arguments] for call in response.tool_calls]
    return {**response.to_dict(), "tool_calls": calls}


def response_from_dict(data: Mapping[str, Any]) -> ModelResponse:
    """Read the JSON form.

    Raises:
        ValueError: It is not what `response_to_dict` writes.
    """
    calls = [
        dict(zip(("id", "name", "arguments"), _three_texts(call), strict=True))
        for call in take_list(data, "tool_calls")
    ]
    return ModelResponse.from_dict({**data, "tool_calls": calls})


def refusal_to_dict(refused: ModelRefused) -> Record | None:
    """The JSON form of a refusal after which the agent asks in another form; otherwise None."""
    kind = type(refused).__name__
    return {"refused": kind, "message": str(refused)} if kind in _REFUSALS else None


def refusal_from_dict(data: Mapping[str, Any]) -> ModelRefused | None:
    """Read the JSON form; None if the record is an answer. Raises ValueError."""
    if "refused" not in data:
        return None
    kind = _REFUSALS.get(take(data, "refused", str))
    if kind is None:
        raise ValueError(f"unknown refusal: {data['refused']!r}")
    return kind(take(data, "message", str))


def value_to_dict(value: Any) -> Record:
    """A value as JSON if it can cross to a sandbox, otherwise its repr."""
    blobs = bytearray()
    encoded = encode(value, blobs)
    return (
        {"json": encoded, "blob": base64.b64encode(blobs).decode()} if blobs else {"json": encoded}
    )


def value_from_dict(data: Mapping[str, Any]) -> Any:
    """Read the JSON form; raises ValueError."""
    try:
        return decode(data["json"], _bytes(data.get("blob", "")))
    except (KeyError, WireError) as fault:
        raise ValueError(f"not a value: {fault}") from None


def value_or_text(value: Any, text: str = "<too large to be recorded>") -> Record:
    """The value as JSON, or the text if the value is too large."""
    try:
        return value_to_dict(value)
    except WireError:
        return value_to_dict(text)


def tool_result_to_dict(result: ToolResult) -> Record:
    """The JSON form of the result of a call, without the call."""
    record: Record = {
        "content": result.content,
        "is_error": result.is_error,
        "seconds": result.duration_seconds,
        "note": result.note,
        "value": value_or_text(result.value, result.content),
    }
    if result.parts:
        record["parts"] = [part.to_dict() for part in result.parts]
    if result.error is not None:
        record["error"] = _error_to_dict(result.error)
    return record | label_to_dict(result.label)


def tool_result_from_dict(data: Mapping[str, Any], call: ToolCall) -> ToolResult:
    """Read the JSON form as the result of `call`; raises ValueError."""
    error = data.get("error")
    return ToolResult(
        call,
        take(data, "content", str),
        is_error=take(data, "is_error", bool),
        duration_seconds=take_number(data, "seconds"),
        note=take(data, "note", str),
        value=value_from_dict(take_object(data, "value")),
        error=None if error is None else _error_from_dict(take_object(data, "error")),
        parts=content_from_list(data.get("parts", [])),
        label=label_from_dict(data),
    )


def execution_to_dict(result: ExecutionResult) -> Record:
    """The JSON form of the result of a block of code."""
    return {
        "output": result.output,
        "error": result.error,
        **{flag: getattr(result, flag) for flag in _FLAGS},
        "final_value": value_or_text(result.final_value),
        "final_metadata": value_or_text(dict(result.final_metadata)),
        "value_text": result.value_text,
        "artifacts": [
            [made.name, made.media_type, base64.b64encode(made.data).decode()]
            for made in result.artifacts
        ],
        "seconds": result.duration_seconds,
        **({"changes": [asdict(change) for change in result.changes]} if result.changes else {}),
        **({"requests": [asdict(each) for each in result.requests]} if result.requests else {}),
    } | label_to_dict(result.label)


def execution_from_dict(data: Mapping[str, Any]) -> ExecutionResult:
    """Read the JSON form, with the text of the last expression's `value` only.

    Raises:
        ValueError: It is not what `execution_to_dict` writes.
    """
    error = data.get("error")
    metadata = value_from_dict(take_object(data, "final_metadata"))
    flags: dict[str, Any] = {flag: take(data, flag, bool) for flag in _FLAGS}
    return ExecutionResult(
        output=take(data, "output", str),
        error=None if error is None else take(data, "error", str),
        **flags,
        final_value=value_from_dict(take_object(data, "final_value")),
        final_metadata=cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {},
        value_text=take(data, "value_text", str),
        artifacts=tuple(_artifact(made) for made in take_list(data, "artifacts")),
        duration_seconds=take_number(data, "seconds"),
        changes=tuple(map(_change, take_list(data, "changes") if "changes" in data else [])),
        requests=tuple(map(_request, take_list(data, "requests") if "requests" in data else [])),
        label=label_from_dict(data),
    )


def _request(data: object) -> NetworkRequest:
    request = as_object(data)
    if request is None:
        raise ValueError("a request is not an object")
    status = request.get("status")
    return NetworkRequest(
        **{name: take(request, name, str) for name in ("method", "target", "path", "reason")},
        allowed=take(request, "allowed", bool),
        status=None if status is None else take(request, "status", int),
        sent=take(request, "sent", int),
        received=take(request, "received", int),
    )


def _change(data: object) -> Change:
    change = as_object(data)
    if change is None:
        raise ValueError("a change is not an object")
    texts = ("kind", "path", "old_path", "diff", "digest", "withheld")
    return Change(
        **{name: take(change, name, str) for name in texts},
        size=take(change, "size", int),
        conflict=take(change, "conflict", bool),
    )


def _artifact(data: object) -> Artifact:
    name, media_type, content = _three_texts(data)
    return Artifact(name, _bytes(content), media_type)


def _three_texts(data: object) -> tuple[str, str, str]:
    match data:
        case [str() as first, str() as second, str() as third]:
            return first, second, third
        case _:
            raise ValueError("not three texts")


def _bytes(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, binascii.Error) as fault:
        raise ValueError(f"not bytes: {fault}") from None


def _error_to_dict(error: Exception) -> Record:
    plain = all(isinstance(item, str | int | float | bool | None) for item in error.args)
    return {
        "kind": type(error).__name__,
        "args": value_to_dict(list(error.args) if plain else [str(error)]),
    }


def _error_from_dict(data: Mapping[str, Any]) -> Exception:
    """The error: of a class of Python or tinyagent, otherwise of a new class of that name."""
    name = take(data, "kind", str)
    args = value_from_dict(take_object(data, "args"))
    known = getattr(builtins, name, None) or getattr(errors, name, None)
    is_kind = isinstance(known, type) and issubclass(known, Exception)
    kind = cast("type[Exception]", known if is_kind else type(name, (Exception,), {}))
    try:
        return kind(*args)
    except TypeError:  # its constructor takes other arguments than `args` holds
        return Exception(*args)
