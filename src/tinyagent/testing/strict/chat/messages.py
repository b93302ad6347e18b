"""Chat completions: the order of messages, pairs of calls and results, parts of content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tinyagent.testing.strict.chat.rules import ChatRules
from tinyagent.testing.strict.media import Attachment, decode_uri
from tinyagent.testing.strict.openai import (
    empty_array,
    missing,
    not_among,
    unknown,
    wrong_type,
)
from tinyagent.testing.strict.session import (
    Exchange,
    Json,
    Refused,
    as_dict,
    as_dicts,
    as_list,
    typed_list,
)

_ROLES = ("system", "assistant", "user", "tool", "developer")
_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")
_TEXT = {"text", "refusal"}


def check(exchange: Exchange, rules: ChatRules) -> None:
    """Refuse messages that the provider refuses; collect images and documents."""
    messages = typed_list(exchange.body, "messages")
    for index, message in enumerate(messages):
        _check_message(exchange, message, index, rules)
    _check_pairs(messages, rules)
    if rules.errors == "mistral":
        _check_mistral_order(messages)


def unknown_key(place: Sequence[str | int], value: Any, rules: ChatRules) -> Refused:
    """A key that is not in the provider's schema."""
    if rules.errors == "mistral":
        loc = ["body", *place]
        message = "Extra inputs are not permitted"
        error = {"type": "extra_forbidden", "loc": loc, "msg": message, "input": value}
        return Refused(message, status=422, detail=[error])
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)[1:]
    return unknown(path)


def _check_message(exchange: Exchange, message: Json, index: int, rules: ChatRules) -> None:
    role = str(message.get("role", ""))
    if role not in _ROLES:
        raise not_among(role, _ROLES, f"messages[{index}].role")
    if rules.message is not None:
        _check_keys(message, role, index, rules)
    content = message.get("content")
    if role == "assistant":
        _check_assistant(message, index, rules)
    elif content is None:
        raise _null_content(index)
    for number, part in enumerate(as_list(content)):
        kind = str(as_dict(part).get("type", ""))
        if kind not in _TEXT:
            where = f"messages[{index}].content[{number}]"
            exchange.attachments += _attachments(as_dict(part), role, where, rules)


def _null_content(index: int) -> Refused:
    message = "Invalid value for 'content': expected a string, got null."
    return Refused(message, param=f"messages.[{index}].content")


def _check_keys(message: Json, role: str, index: int, rules: ChatRules) -> None:
    allowed = (rules.message or {}).get(role, frozenset())
    for key in message:
        if key not in allowed:
            mistral = rules.errors == "mistral"
            place = ("messages", index, role, key) if mistral else ("messages", index, key)
            raise unknown_key(place, message[key], rules)


def _check_assistant(message: Json, index: int, rules: ChatRules) -> None:
    calls = message.get("tool_calls")
    if calls is not None and not calls and rules.errors == "openai" and rules.message:
        raise empty_array(f"messages[{index}].tool_calls")
    if message.get("content") in (None, "", []) and not calls and not message.get("refusal"):
        if rules.errors == "mistral":
            raise Refused(
                "Assistant message must have either content or tool_calls, but not none.",
                code="3240",
                param="invalid_request_assistant_message",
            )
        if rules.message and message.get("content") != "":
            raise _null_content(index)
    for number, call in enumerate(as_dicts(calls)):
        _check_call(call, f"messages[{index}].tool_calls[{number}]", rules)


def _check_call(call: Json, place: str, rules: ChatRules) -> None:
    function = as_dict(call.get("function"))
    if rules.errors == "mistral":
        _check_mistral_id(call.get("id"))
        return
    needed = {"id": call.get("id") or not rules.ids, "function.name": function.get("name")}
    for key, value in needed.items():
        if not value:
            raise missing(f"{place}.{key}")
    if not isinstance(function.get("arguments"), str):
        raise wrong_type(f"{place}.function.arguments", "a string")


def _check_mistral_id(value: Any) -> None:
    if not _MISTRAL_ID.fullmatch(str(value)):
        call_id = "null" if value is None else value
        raise Refused(
            f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9.",
            code="3280",
            param="invalid_function_call",
        )


def _attachments(part: Json, role: str, place: str, rules: ChatRules) -> list[Attachment]:
    """The attachment in a part that is not text; none if only a URL or an id is sent."""
    kind = str(part.get("type", ""))
    if kind == "thinking" and "thinking" in rules.media and role == "assistant":
        return []
    if kind not in rules.media:
        raise not_among(kind, sorted({"text", *rules.media}), f"{place}.type")
    if role != "user" and not (role == "tool" and rules.tool_media):
        index = place[: place.index("]") + 1]
        raise Refused(
            f"Invalid '{index}'. Image URLs are only allowed for messages with role 'user', "
            f"but this message with role '{role}' contains an image URL.",
            code="invalid_value",
            param=index,
        )
    uri = _uri(part, kind, place, rules)
    if uri is None:
        return []
    try:
        return [decode_uri(uri, limit=rules.image_limit)]
    except Refused as refused:
        refused.param = f"{place}.{kind}"
        raise


def _uri(part: Json, kind: str, place: str, rules: ChatRules) -> str | None:
    """The data URI of a part; None if it names something that the server would fetch."""
    value = part.get(kind)
    if kind == "input_audio":
        return None
    if kind == "file":
        return as_dict(value).get("file_data")
    bare = rules.errors == "mistral" or not rules.urls
    uri = value if bare and isinstance(value, str) else as_dict(value).get("url")
    if not isinstance(uri, str):
        raise wrong_type(f"{place}.{kind}", "an object")
    if re.match(r"https?://", uri):
        if not rules.urls:
            raise Refused("invalid image input", param=f"{place}.{kind}")
        return None
    return uri


def _check_pairs(messages: list[Json], rules: ChatRules) -> None:
    """Each message with calls is followed at once by one result for each call."""
    if not rules.ids:
        return
    open_ids: list[str] = []
    answers = False
    for index, message in enumerate(messages):
        if message.get("role") == "tool":
            call_id = str(message.get("tool_call_id", ""))
            if not answers or call_id not in open_ids:
                raise _orphan(call_id, index, answers=answers, rules=rules)
            open_ids.remove(call_id)
            continue
        if open_ids:
            raise _unanswered(open_ids, index, rules)
        open_ids = [str(call.get("id")) for call in as_dicts(message.get("tool_calls"))]
        answers = bool(open_ids)
    if open_ids:
        raise _unanswered(open_ids, len(messages), rules)


def _orphan(call_id: str, index: int, *, answers: bool, rules: ChatRules) -> Refused:
    if rules.errors == "mistral":
        return _mistral_order("Not the same number of function calls and responses")
    if rules.errors == "array":
        return Refused(
            "Please ensure that function response turn comes immediately after a function call "
            "turn."
        )
    if answers:
        message = f"Invalid parameter: 'tool_call_id' of '{call_id}' not found in 'tool_calls' of "
        return Refused(f"{message}previous message.", param=f"messages.[{index}].tool_call_id")
    return Refused(
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
        "with 'tool_calls'.",
        param=f"messages.[{index}].role",
    )


def _unanswered(ids: list[str], index: int, rules: ChatRules) -> Refused:
    if rules.errors == "mistral":
        return _mistral_order("Not the same number of function calls and responses")
    if rules.errors == "array":
        return Refused(
            "Please ensure that the number of function response parts is equal to the number of "
            "function call parts of the function call turn."
        )
    return Refused(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        + ", ".join(ids),
        param=f"messages.[{index}].role",
    )


def _mistral_order(message: str) -> Refused:
    return Refused(message, code="3230", param="invalid_request_message_order")


def _check_mistral_order(messages: list[Json]) -> None:
    for before, message in pairwise(messages):
        if before.get("role") == "tool" and message.get("role") not in ("tool", "assistant"):
            raise _mistral_order(f"Unexpected role '{message.get('role')}' after role 'tool'")
    last = messages[-1]
    if last.get("role") not in ("user", "tool") and not last.get("prefix"):
        raise _mistral_order(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got "
            f"{last.get('role')}"
        )
    for message in messages:
        if message.get("role") == "tool":
            _check_mistral_id(message.get("tool_call_id"))
