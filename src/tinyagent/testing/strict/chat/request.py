"""Chat completions: what a request must be, as one table whose flags are a provider's rules."""

from __future__ import annotations

import re
from functools import cache, partial
from itertools import pairwise

from tinyagent.testing.strict.chat.reasoning import CHECKS, is_thinking
from tinyagent.testing.strict.chat.rules import CHAT, KEYS, ChatRules
from tinyagent.testing.strict.media import decode_uri
from tinyagent.testing.strict.openai import (
    AFTER_CALL,
    EQUAL_NUMBER,
    WORDS,
    check_format,
    check_reasoning,
    check_schema,
    openai_model,
)
from tinyagent.testing.strict.rules import Node, RuleTable
from tinyagent.testing.strict.schemas import fault
from tinyagent.testing.strict.session import (
    Json,
    ProviderExchange,
    Refused,
    as_dict,
    as_dicts,
    at,
    of_type,
)

_TABLE = """
.  check keys  if body-keys
stream_options  absent  when !stream  if body-keys
    The '{at}' parameter is only allowed when 'stream' is enabled.
model  filled  :missing
messages  filled  :missing
tool_choice  absent  when !tools  if openai  :alone
parallel_tool_calls  absent  when !tools  if openai  :alone
tools  objects  :objects
tools  not-empty  unless mistral  :empty
tools  not-empty  if mistral  :empty-422
tools  at-most 128  if openai
    Invalid '{at}': array too long. Expected an array with maximum length 128, but got an array
    with length {size} instead. #array_above_max_length
tools[*].function.name  filled  :missing
tools[*].function.name  like [a-zA-Z0-9_-]{1,64}  unless mistral  :name
tools[*].function  check parameters
tools[*].function.parameters  check schema  if schemas
tool_choice  test not-forced  when tools  unless forced
    tool_choice 'required' is incompatible with thinking enabled
tool_choice  test free-choice  when tools  if deepseek
    Thinking mode does not support this tool_choice
tool_choice  one-of :choices  when named-choice  :value
tool_choice(type=function).function.name  test chosen  when tools
    Tool choice '{value}' not found in 'tools'. @tool_choice
response_format  test no-schema  unless schema
    This response_format type is unavailable now
response_format  test json-asked
    'messages' must contain the word 'json' in some form, to use '{at}' of type 'json_object'.
    @messages
response_format(type=json_schema).json_schema.name  like [a-zA-Z0-9_-]{1,64}  if openai  :missing
response_format(type=json_schema).json_schema  check format  if openai
response_format(type=json_schema).json_schema.schema  check schema  if schemas
reasoning_effort  check reasoning  if openai
reasoning_effort  check effort  unless openai
extra_body.google.thinking_config  absent  when reasoning_effort  if gemini
    Only one of reasoning_effort and thinking_config can be set.
temperature  test above-zero  if minimax
    invalid params, temperature must be in (0, 1]
temperature  check fixed  if kimi
max_tokens  absent  when reasoning-model  if openai
    Unsupported parameter: '{at}' is not supported with this model. Use 'max_completion_tokens'
    instead. #unsupported_parameter
reasoning_effort  test takes-functions  if openai
    Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To
    use function tools, use /v1/responses or set reasoning_effort to 'none'.
messages  objects  :objects
messages[*].role  one-of system assistant user tool developer  :value
messages[*]  check keys  if message-keys
messages[*](role=assistant).tool_calls  not-empty  unless mistral  if message-keys  :empty
messages[*](role=assistant)  test says-something  if mistral
    Assistant message must have either content or tool_calls, but not none. #3240
    @invalid_request_assistant_message
messages[*](role=assistant).content  test not-null  if message-keys  :null-content
messages[*](role=system|user|tool|developer).content  required  :null-content
messages[*](role=assistant).tool_calls[*].id  like [a-zA-Z0-9]{9}  if mistral  :nine
messages[*](role=assistant).tool_calls[*].id  filled  if ids  unless mistral  :missing
messages[*](role=assistant).tool_calls[*].function.name  filled  unless mistral  :missing
messages[*](role=assistant).tool_calls[*].function.arguments  string  unless mistral  :string
messages[*].content[*]  check part
.  check pairs  if ids
messages  check order  if mistral
messages[*](role=tool).tool_call_id  like [a-zA-Z0-9]{9}  if mistral  :nine
"""
_NO_RESULT = "Not the same number of function calls and responses"
_ORDER = "#3230 @invalid_request_message_order"
# A result without a call, a result of another call, and a call without a result, by the form of
# errors.
_PAIRS = {
    "mistral": (f"{_NO_RESULT} {_ORDER}",) * 3,
    "array": (AFTER_CALL, AFTER_CALL, EQUAL_NUMBER),
    "openai": (
        (
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
            "message with 'tool_calls'. @{dotted}.role"
        ),
        (
            "Invalid parameter: 'tool_call_id' of '{ids}' not found in 'tool_calls' of previous "
            "message. @{dotted}.tool_call_id"
        ),
        (
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            "{ids} @{dotted}.role"
        ),
    ),
}
_PAIRS["openrouter"] = _PAIRS["openai"]
_OUTSIDE = {
    "kimi": "Invalid request: {plain} is not a valid moonshot flavored json schema, details: "
    "<At path '{path}': {problem}>",
    "gemini": "* GenerateContentRequest.{at}.{path}: {problem}\n",
}
_WORDS = {
    **WORDS,
    "alone": "Invalid value for '{at}': '{at}' is only allowed when 'tools' are specified.",
    "empty-422": f"{WORDS['empty']} !422",
    "null-content": "Invalid value for 'content': expected a string, got null. @{dotted}",
    "nine": "Tool call id was {shown} but must be a-z, A-Z, 0-9, with a length of 9. #3280 "
    "@invalid_function_call",
}
_WRONG_ROLE = (
    "Invalid '{message}'. Image URLs are only allowed for messages with role 'user', but this "
    "message with role '{parent[role]}' contains an image URL. #invalid_value @{message}"
)


def check(exchange: ProviderExchange, rules: ChatRules) -> None:
    """Refuse what the provider refuses; collect images and documents."""
    _table(rules.name).check(exchange)
    if rules.echo:
        CHECKS[rules.echo](exchange)


def _is_empty(message: Json) -> bool:
    """Whether a message of the assistant says nothing."""
    filled = message.get("tool_calls") or message.get("refusal")
    return message.get("content") in (None, "", []) and not filled


def _is_chosen(node: Node) -> bool:
    tools = as_dicts(node.exchange.body.get("tools"))
    return node.value in [at(tool, "function.name") for tool in tools]


def _takes_functions(node: Node) -> bool:
    functions = of_type("function", node.parent.get("tools"))
    return not functions or openai_model(node.exchange.model).takes_functions(node.value)


def _asks_for_json(node: Node) -> bool:
    is_asked = "json" in str(node.parent["messages"]).lower()
    return node.get("type") != "json_object" or is_asked


def _check_keys(node: Node, rules: ChatRules) -> None:
    """No keys but the provider's; those of a message depend on its role."""
    role = str(node.value.get("role", "")) if node.place else ""
    for key, value in node.value.items():
        if key in KEYS[rules.name].get(role, ()):
            continue
        (child,) = node.children(key)
        if rules.name != "mistral":
            raise child.refused(WORDS["unknown"])
        steps = [*re.findall(r"\w+", node.place), *([role] if node.place else []), key]
        loc = ["body", *(int(step) if step.isdigit() else step for step in steps)]
        message = "Extra inputs are not permitted"
        error = {"type": "extra_forbidden", "loc": loc, "msg": message, "input": value}
        raise Refused(message, status=422, detail=[error])


def _check_parameters(node: Node, rules: ChatRules) -> None:
    (schema,) = node.children("parameters")
    if "parameters" not in as_dict(node.value):
        schema = schema._replace(value={"type": "object"})
    check_schema(schema, "function", rules.subset if node.get("strict") else None)


def _check_schema(node: Node, rules: ChatRules) -> None:
    """The schema is in the subset of the provider, strict or not."""
    mismatch = fault(node.value, rules.schemas) if rules.schemas and node.value else None
    if mismatch is not None:
        plain = re.sub(r"\[\d+\]|\.schema$", "", node.place)
        path, problem = ".".join(mismatch[0]), mismatch[1]
        raise node.refused(_OUTSIDE[rules.name], plain=plain, path=path, problem=problem)


def _check_effort(node: Node, rules: ChatRules) -> None:
    model = node.exchange.model
    values = next((names for form, names in rules.efforts if re.search(form, model)), None)
    if node.value is None or values is None or node.value in values.split():
        return
    if not values:
        raise node.refused(WORDS["unsupported"])
    listed = ", ".join(f"'{name}'" for name in values.split())
    status = " !422" if rules.name == "mistral" else ""
    raise node.refused(WORDS["value"] + status, listed=listed)


def _check_fixed(node: Node) -> None:
    """Kimi's models from K2.5 on allow one temperature, another one if they do not think."""
    if node.value is None or not re.search(r"k2\.[5-9]|k[3-9]", node.exchange.model):
        return
    only = 1 if is_thinking(node.exchange) else 0.6
    if node.value != only:
        raise node.refused("invalid temperature: only {only} is allowed for this model", only=only)


def _check_part(node: Node, rules: ChatRules) -> None:
    """Check a part that is not text, and decode it unless only a URL or an id is sent."""
    kind, role = str(node.get("type") or ""), node.parent.get("role")
    if kind in ("text", "refusal") or (
        kind == "thinking" and kind in rules.media and role == "assistant"
    ):
        return
    if kind not in rules.media:
        known = ", ".join(f"'{name}'" for name in sorted({"text", *rules.media}))
        (child,) = node.children("type")
        raise child.refused(WORDS["value"], listed=known)
    if role != "user" and not (role == "tool" and rules.tool_media):
        raise node.refused(_WRONG_ROLE, message=node.place.partition("]")[0] + "]")
    (content,) = node.children(kind)
    uri = _uri(content, kind, rules)
    if uri is not None:
        media = decode_uri(uri, limit=rules.image_limit, param=content.place)
        node.exchange.attachments.append(media)


def _uri(node: Node, kind: str, rules: ChatRules) -> str | None:
    """The data URI of a part; None if it names something that the server would fetch."""
    if kind in ("input_audio", "file"):
        return node.get("file_data") if kind == "file" else None
    bare = rules.name == "mistral" or not rules.urls
    uri = node.value if bare and isinstance(node.value, str) else node.get("url")
    if not isinstance(uri, str):
        raise node.refused(WORDS["object"])
    if re.match(r"https?://", uri):
        if not rules.urls:
            raise node.refused("invalid image input")
        return None
    return uri


def _check_pairs(node: Node, rules: ChatRules) -> None:
    """Each message with calls is followed at once by one result for each call."""
    orphan, stranger, unanswered = _PAIRS[rules.errors]
    open_ids: list[str] = []
    answers = False
    end = node._replace(place=f"messages[{len(node.get('messages'))}]", value={})
    for message in [*node.below("messages[*]"), end]:
        if message.get("role") == "tool":
            call_id = str(message.value.get("tool_call_id", ""))
            if call_id not in open_ids:
                raise message.refused(stranger if answers else orphan, ids=call_id)
            open_ids.remove(call_id)
            continue
        if open_ids:
            raise message.refused(unanswered, ids=", ".join(open_ids))
        open_ids = [str(call.get("id")) for call in as_dicts(message.get("tool_calls"))]
        answers = bool(open_ids)


def _check_order(node: Node) -> None:
    for before, message in pairwise(node.value):
        if before.get("role") == "tool" and message.get("role") not in ("tool", "assistant"):
            role = message.get("role")
            raise node.refused(f"Unexpected role '{{role}}' after role 'tool' {_ORDER}", role=role)
    role = node.value[-1].get("role")
    if role not in ("user", "tool") and not node.value[-1].get("prefix"):
        raise node.refused(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got "
            f"{{role}} {_ORDER}",
            role=role,
        )


@cache
def _table(name: str) -> RuleTable:
    """The table of a provider."""
    rules, keys = CHAT[name], KEYS.get(name, {})
    flags = {
        name: True,
        "body-keys": "" in keys,
        "message-keys": bool(keys),
        "forced": rules.forced,
        "schema": rules.json_schema,
        "schemas": rules.schemas is not None,
        "ids": rules.ids,
    }
    choices = "none auto required" + " any" * (name == "mistral")
    return RuleTable(
        _TABLE,
        {**_WORDS, "choices": choices},
        {flag for flag, is_set in flags.items() if is_set},
        {
            "keys": partial(_check_keys, rules=rules),
            "parameters": partial(_check_parameters, rules=rules),
            "schema": partial(_check_schema, rules=rules),
            "effort": partial(_check_effort, rules=rules),
            "fixed": _check_fixed,
            "above-zero": lambda node: node.value is None or 0 < node.value <= 1,
            "part": partial(_check_part, rules=rules),
            "pairs": partial(_check_pairs, rules=rules),
            "order": _check_order,
            "format": check_format,
            "reasoning": check_reasoning,
            "not-forced": lambda node: node.value != "required" or not is_thinking(node.exchange),
            "free-choice": lambda node: (
                node.value in (None, "auto", "none") or not is_thinking(node.exchange)
            ),
            "named-choice": lambda node: (
                isinstance(node.value, str) and node.parent.get("tools") is not None
            ),
            "chosen": _is_chosen,
            "no-schema": lambda node: node.get("type") != "json_schema",
            "json-asked": _asks_for_json,
            "reasoning-model": lambda node: bool(openai_model(node.exchange.model).efforts),
            "takes-functions": _takes_functions,
            "says-something": lambda node: not _is_empty(node.value),
            "not-null": lambda node: node.value == "" or not _is_empty(node.parent),
        },
    )
