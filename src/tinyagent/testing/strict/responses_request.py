"""OpenAI's Responses: what a request must be."""

from __future__ import annotations

import re
from typing import Any

from tinyagent.testing.strict.media import decode_uri
from tinyagent.testing.strict.openai import (
    WORDS,
    check_format,
    check_reasoning,
    check_schema,
    openai_model,
)
from tinyagent.testing.strict.rules import Node, RuleTable
from tinyagent.testing.strict.schemas import OPENAI
from tinyagent.testing.strict.session import (
    Issued,
    Json,
    ProviderExchange,
    Refused,
    as_dicts,
    as_list,
)

_TABLE = """
.  keys :request  :unknown
model  filled  :missing
reasoning.effort  check reasoning
reasoning  empty  when cannot-reason  :unsupported
include  test not-encrypted  when cannot-reason
    Encrypted content is not supported with this model.
max_output_tokens  number
    Invalid type for '{at}': expected an integer. #invalid_type
max_output_tokens  at-least 16
    Invalid '{at}': integer below minimum value. Expected a value >= 16, but got {value} instead.
    #integer_below_min_value
tools  not-empty  :empty
tools[*](type=function)  has name parameters strict  :missing-in
tools[*](type=function).name  like [a-zA-Z0-9_-]{1,64}  :name
tools[*](type=function)  check parameters
text.format(type=json_schema).name  like [a-zA-Z0-9_-]{1,64}  :missing
text.format(type=json_schema)  check format
input  required  :missing-in
input  objects  when items  :objects
previous_response_id  test stored
    Previous response with id '{value}' not found. #previous_response_not_found
"""
# The items of the whole conversation, as `input`.
_ITEMS = """
input[*].type  one-of message reasoning function_call function_call_output item_reference
    Invalid value: '{value}'. Supported values are: {listed}. #invalid_value @{up}
input[*](type=message)  keys role content type id status phase  :unknown
input[*](type=message).id  prefix msg_  :id
input[*](type=message)  needs role content  :missing-in
input[*](type=reasoning)  keys id summary type content encrypted_content status  :unknown
input[*](type=reasoning).id  prefix rs  :id
input[*](type=reasoning)  needs id summary  :missing-in
input[*](type=function_call)  keys call_id name arguments type id status namespace caller  :unknown
input[*](type=function_call).id  prefix fc  :id
input[*](type=function_call)  needs call_id name arguments  :missing-in
input[*](type=function_call_output)  keys call_id output type id status name caller  :unknown
input[*](type=function_call_output).id  prefix fc  :id
input[*](type=function_call_output)  needs call_id output  :missing-in
input[*](type=item_reference)  keys id type  :unknown
input[*](type=item_reference)  needs id  :missing-in
input[*](type=function_call).arguments  string
    Invalid type for '{at}': expected a string, but got an object instead. #invalid_type
input[*](type=message).role  one-of assistant system developer user
    Invalid value: '{value}'. #invalid_value @{up}
input[*](type=message)(role=assistant).content[*].type  one-of output_text refusal  :value
input[*](type=message)(role=user|system|developer).content[*].type  one-of :parts  :value
input[*](type=message).content[*](type=input_image)  needs detail  :missing-in
input[*].content[*](type=input_image).detail  if-any auto low high original  :value
input[*](type=function_call_output).output[*].type  one-of :parts  :value
input[*].content[*]  check media
input[*].output[*]  check media
"""
_PARTS = "input_text input_image input_file"
_WORDS = {
    **WORDS,
    "request": "access_programs background context_management conversation image include input "
    "instructions max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls "
    "previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning safety_identifier service_tier store stream stream_options temperature text "
    "tool_choice tools top_logprobs top_p truncation user",
    "parts": "input_text input_image input_file",
    "id": "Invalid '{at}': '{value}'. Expected an ID that begins with '{argument}'. #invalid_value",
}
_LIMIT = 50 << 20


def check(exchange: ProviderExchange) -> list[Json]:
    """Refuse what OpenAI refuses, and return the items of the whole conversation."""
    _REQUEST_TABLE.check(exchange)
    content = exchange.body["input"]
    is_text = isinstance(content, str)
    own: list[Json] = [{"role": "user", "content": content}] if is_text else as_dicts(content)
    items = [*exchange.session.stored.get(str(exchange.body.get("previous_response_id")), []), *own]
    typed = [{"type": "message", **item} for item in items]
    _ITEM_TABLE.check(exchange, {"input": typed})
    _check_pairs(items)
    _check_reasoning(exchange, items)
    return items


def _check_parameters(node: Node) -> None:
    (schema,) = node.children("parameters")
    parameters = schema.value or {"type": "object"}
    subset = OPENAI if node.get("strict") else None
    check_schema(schema._replace(value=parameters), "function", subset)


def _check_media(node: Node) -> None:
    is_image = node.get("type") == "input_image"
    uri = node.get("image_url" if is_image else "file_data")
    if is_image and not isinstance(uri, str) and not node.get("file_id"):
        (url,) = node.children("image_url")
        raise url.refused(_NO_URL)
    if isinstance(uri, str) and not re.match("https?://", uri):
        node.exchange.attachments.append(decode_uri(uri, limit=_LIMIT, param=node.place))


_NO_URL = "Invalid type for '{at}': expected an image URL, but got an object instead. #invalid_type"
_REQUEST_TABLE = RuleTable(
    _TABLE,
    _WORDS,
    functions={
        "reasoning": check_reasoning,
        "format": check_format,
        "parameters": _check_parameters,
        "cannot-reason": lambda node: not openai_model(node.exchange.model).efforts,
        "not-encrypted": lambda node: "reasoning.encrypted_content" not in as_list(node.value),
        "items": lambda node: not isinstance(node.value, str),
        "stored": lambda node: node.value is None or node.value in node.exchange.session.stored,
    },
)
_ITEM_TABLE = RuleTable(_ITEMS, _WORDS, functions={"media": _check_media})


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


def _check_reasoning(exchange: ProviderExchange, items: list[Json]) -> None:
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


def _check_reasoning_item(exchange: ProviderExchange, item: Json, following: list[Json]) -> None:
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


def _check_phase(exchange: ProviderExchange, item: Json, turns: list[Issued]) -> None:
    """Record a message of one of these turns whose phase is missing or different."""
    if item.get("type", "message") != "message":
        return
    issued = [each.get("phase") for turn in turns for each in turn.opaque if "role" in each]
    if issued and item.get("phase") not in issued:
        exchange.lose(f"{item.get('id', 'a message')}: the phase did not come back")


def _is_stored(exchange: ProviderExchange, name: Any) -> bool:
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


def _turns_of(exchange: ProviderExchange, item: Json) -> list[Issued]:
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
