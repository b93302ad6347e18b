"""OpenAI's Responses: what a request must be.

The documented types require `detail` on images, the documented examples omit it: both pass.
"""

from __future__ import annotations

import re
from typing import Any

from tinyagent.testing.strict.media import decode_uri
from tinyagent.testing.strict.openai import (
    check_function,
    check_output_schema,
    check_reasoning,
    missing,
    not_among,
    unknown,
    unsupported,
    wrong_type,
)
from tinyagent.testing.strict.schemas import OPENAI
from tinyagent.testing.strict.session import (
    Exchange,
    Issued,
    Json,
    Refused,
    as_dict,
    as_dicts,
    as_list,
    typed_list,
    words,
)

_KEYS = words(
    "access_programs background context_management conversation image include input instructions "
    "max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls "
    "previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning safety_identifier service_tier store stream stream_options temperature text "
    "tool_choice tools top_logprobs top_p truncation user"
)
# For each type of item: the prefix of its id, the required keys, and the other keys.
_ITEMS: dict[str, tuple[str, str, str]] = {
    "message": ("msg", "role content", "type id status phase"),
    "reasoning": ("rs", "id summary", "type content encrypted_content status"),
    "function_call": ("fc", "call_id name arguments", "type id status namespace caller"),
    "function_call_output": ("fc", "call_id output", "type id status name caller"),
    "item_reference": ("", "id", "type"),
}
_INPUT = ("input_text", "input_image", "input_file")
_LIMIT = 50 << 20
_ENCRYPTED = "reasoning.encrypted_content"


def check(exchange: Exchange) -> list[Json]:
    """Refuse what OpenAI refuses, and return the items of the whole conversation."""
    body = exchange.body
    for key in body:
        if key not in _KEYS:
            raise unknown(key)
    if not exchange.model:
        raise missing("model")
    _check_model(exchange)
    for index, tool in enumerate(as_dicts(body.get("tools"))):
        _check_tool(tool, f"tools[{index}]")
    output_format = as_dict(as_dict(body.get("text")).get("format"))
    if output_format.get("type") == "json_schema":
        check_output_schema(output_format, "text.format")
    items = _items(exchange)
    for index, item in enumerate(items):
        _check_item(exchange, item, f"input[{index}]")
    _check_pairs(items)
    _check_reasoning(exchange, items)
    return items


def _check_model(exchange: Exchange) -> None:
    body, model = exchange.body, exchange.model
    effort = as_dict(body.get("reasoning")).get("effort")
    rules = check_reasoning(body, model, effort, "reasoning.effort")
    if not rules.efforts and body.get("reasoning"):
        raise unsupported("reasoning")
    if not rules.efforts and _ENCRYPTED in as_list(body.get("include")):
        raise Refused("Encrypted content is not supported with this model.", param="include")
    least, most = 16, body.get("max_output_tokens")
    if most is not None and most < least:
        raise Refused(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, "
            f"but got {most} instead.",
            code="integer_below_min_value",
            param="max_output_tokens",
        )


def _check_tool(tool: Json, place: str) -> None:
    if tool.get("type") != "function":
        return
    for key in ("name", "parameters", "strict"):
        if key not in tool:
            raise _missing(f"{place}.{key}")
    strict = OPENAI if tool["strict"] else None
    check_function(
        str(tool["name"]), tool["parameters"] or {"type": "object"}, place, strict=strict
    )


def _missing(place: str) -> Refused:
    return missing(place, code="missing_required_parameter")


def _items(exchange: Exchange) -> list[Json]:
    """The input as items, after those of the previous response."""
    content = exchange.body.get("input")
    if content is None:
        raise _missing("input")
    items: list[Json] = [{"role": "user", "content": content}]
    if not isinstance(content, str):
        items = typed_list(exchange.body, "input")
    previous = exchange.body.get("previous_response_id")
    if previous is None:
        return items
    if previous not in exchange.session.stored:
        raise Refused(
            f"Previous response with id '{previous}' not found.",
            code="previous_response_not_found",
            param="previous_response_id",
        )
    return [*exchange.session.stored[previous], *items]


def _check_item(exchange: Exchange, item: Json, place: str) -> None:
    kind = str(item.get("type", "message"))
    if kind not in _ITEMS:
        raise not_among(kind, _ITEMS, place)
    prefix, required, optional = _ITEMS[kind]
    for key in item:
        if key not in words(f"{required} {optional}"):
            raise unknown(f"{place}.{key}")
    name = item.get("id")
    if name is not None and not str(name).startswith(prefix):
        raise Refused(
            f"Invalid '{place}.id': '{name}'. Expected an ID that begins with '{prefix}'.",
            code="invalid_value",
            param=f"{place}.id",
        )
    for key in required.split():
        if item.get(key) is None:
            raise _missing(f"{place}.{key}")
    if kind == "message":
        _check_message(exchange, item, place)
    elif kind == "function_call" and not isinstance(item["arguments"], str):
        raise wrong_type(f"{place}.arguments", "a string, but got an object instead")
    elif kind == "function_call_output":
        _check_parts(exchange, item["output"], _INPUT, f"{place}.output")


def _check_message(exchange: Exchange, item: Json, place: str) -> None:
    roles = ("assistant", "system", "developer", "user")
    if item["role"] not in roles:
        raise Refused(f"Invalid value: '{item['role']}'.", code="invalid_value", param=place)
    allowed = ("output_text", "refusal") if item["role"] == "assistant" else _INPUT
    _check_parts(exchange, item["content"], allowed, f"{place}.content")


def _check_parts(exchange: Exchange, content: Any, allowed: tuple[str, ...], place: str) -> None:
    for index, part in enumerate(as_dicts(content)):
        kind, where = part.get("type"), f"{place}[{index}]"
        if kind not in allowed:
            raise not_among(kind, allowed, f"{where}.type")
        uri = part.get("image_url") if kind == "input_image" else part.get("file_data")
        if kind == "input_image" and not isinstance(uri, str) and not part.get("file_id"):
            expected = "an image URL, but got an object instead"
            raise wrong_type(f"{where}.image_url", expected)
        if isinstance(uri, str) and not re.match("https?://", uri):
            try:
                exchange.attachments.append(decode_uri(uri, limit=_LIMIT))
            except Refused as refused:
                refused.param = where
                raise


def _check_pairs(items: list[Json]) -> None:
    calls: list[str] = []
    answered_ids: list[str] = []
    for item in items:
        name = str(item.get("call_id"))
        if item.get("type") == "function_call":
            calls.append(name)
        elif item.get("type") == "function_call_output":
            if name not in calls:
                raise Refused(
                    f"No tool call found for function call output with call_id {name}.",
                    param="input",
                )
            answered_ids.append(name)
    for name in calls:
        if name not in answered_ids:
            raise Refused(f"No tool output found for function call {name}.", param="input")


def _check_reasoning(exchange: Exchange, items: list[Json]) -> None:
    """Each reasoning item is complete and precedes the item that followed it, and vice versa."""
    for index, item in enumerate(items):
        if item.get("type") == "item_reference" and not _is_stored(exchange, item["id"]):
            raise _not_found(item["id"])
        if item.get("type") == "reasoning":
            _check_reasoning_item(exchange, item, items[index + 1 : index + 2])
    present = {item.get("id") for item in items if item.get("type") == "reasoning"}
    for item in items:
        if item.get("type") == "reasoning":
            continue
        turns = _turns_of(exchange, item)
        _check_phase(exchange, item, turns)
        thoughts = [thought for turn in turns if (thought := _reasoning_before(item, turn))]
        if not thoughts or any(thought["id"] in present for thought in thoughts):
            continue
        if item.get("id"):
            raise Refused(
                f"Item '{item['id']}' of type '{item.get('type', 'message')}' was provided "
                f"without its required 'reasoning' item: '{thoughts[0]['id']}'.",
                param="input",
            )
        exchange.lose(f"the reasoning before {item.get('call_id')} did not come back")


def _check_reasoning_item(exchange: Exchange, item: Json, following: list[Json]) -> None:
    encrypted = item.get("encrypted_content")
    turn = next(iter(_turns_of(exchange, item)), None)
    if encrypted is None and not _is_stored(exchange, item["id"]):
        raise _not_found(item["id"])
    matches = [issued for issued in (turn.opaque if turn else ()) if issued["id"] == item["id"]]
    if encrypted is not None and (not matches or matches[0]["encrypted_content"] != encrypted):
        raise Refused(
            f"The encrypted content {str(encrypted)[:8]}... could not be verified. Reason: "
            "Encrypted content could not be decrypted or parsed.",
            code="invalid_encrypted_content",
        )
    if turn is not None and turn.model != exchange.model:
        exchange.lose(f"{item['id']}: reasoning of {turn.model} is removed for {exchange.model}")
    after = _turns_of(exchange, following[0]) if following else []
    if not any(each is turn for each in after):
        raise Refused(
            f"Item '{item['id']}' of type 'reasoning' was provided without its required "
            "following item.",
            param="input",
        )


def _check_phase(exchange: Exchange, item: Json, turns: list[Issued]) -> None:
    """Record a message of one of these turns whose phase is missing or different."""
    if item.get("type", "message") != "message":
        return
    issued = [each.get("phase") for turn in turns for each in turn.opaque if "role" in each]
    if issued and item.get("phase") not in issued:
        exchange.lose(f"{item.get('id', 'a message')}: the phase did not come back")


def _is_stored(exchange: Exchange, name: Any) -> bool:
    return any(
        item.get("id") == name for stored in exchange.session.stored.values() for item in stored
    )


def _not_found(name: Any) -> Refused:
    return Refused(
        f"Item with id '{name}' not found. Items are not persisted when `store` is set to false. "
        "Try again with `store` set to true, or remove this item from your input.",
        status=404,
        param="input",
    )


def _turns_of(exchange: Exchange, item: Json) -> list[Issued]:
    """The turns that an item may be from, by its id, its call, or otherwise its text."""
    turns = exchange.session.turns[::-1]
    if item.get("type") == "function_call_output":
        return []
    return [turn for turn in turns if any(_is_same(item, issued) for issued in turn.opaque)]


def _is_same(item: Json, issued: Json) -> bool:
    """Whether an item is one that was sent; without an id, its text decides."""
    names = {item.get("id"), item.get("call_id")} - {None}
    if names:
        return bool({issued["id"], issued.get("call_id")} & names)
    text = _text_of(item)
    return bool(text) and item.get("role") == "assistant" and _text_of(issued) == text


def _text_of(item: Json) -> str:
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in as_dicts(content))


def _reasoning_before(item: Json, turn: Issued) -> Json | None:
    """The reasoning that preceded the item in its turn."""
    before: Json | None = None
    for issued in turn.opaque:
        if _is_same(item, issued):
            return before
        before = issued if issued["type"] == "reasoning" else before
    return None
