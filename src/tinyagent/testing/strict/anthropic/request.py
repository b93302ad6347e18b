"""Anthropic's Messages API: what a request must be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tinyagent.testing.strict import media
from tinyagent.testing.strict.anthropic import thinking
from tinyagent.testing.strict.anthropic.thinking import BINDING_BETA, CACHEABLE, claude
from tinyagent.testing.strict.openai import WORDS
from tinyagent.testing.strict.rules import Node, RuleTable
from tinyagent.testing.strict.schemas import ANTHROPIC, fault
from tinyagent.testing.strict.session import (
    Json,
    ProviderExchange,
    Refused,
    as_dict,
    as_dicts,
    at,
)

_REQUEST = """
.  test versioned
    anthropic-version: header is required
.  keys :request  :extra
.  has model messages max_tokens  :required
max_tokens  integer  :integer
temperature  test samples  :sampling
top_p  test samples  :sampling
top_k  test samples  :sampling
output_config.effort  if-any low medium high xhigh max
    {at}: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'
output_config.format  check format
thinking(type=adaptive).type  test thinking
    adaptive thinking is not supported on this model
thinking.type  test thinking  when inside
    "thinking.type.{value}" is not supported for this model. Use "thinking.type.adaptive" and
    "output_config.effort" to control thinking behavior.
thinking(type=enabled).budget_tokens  required
    thinking.enabled.budget_tokens: Field required
thinking(type=enabled).budget_tokens  integer
    thinking.enabled.budget_tokens: Input should be a valid integer
thinking(type=enabled).budget_tokens  at-least 1024
    thinking.enabled.budget_tokens: Input should be greater than or equal to 1024
thinking(type=enabled).budget_tokens  test below-max
    `max_tokens` must be greater than `thinking.budget_tokens`.
thinking  check thinking-keys
output_config.effort  test effort
    effort '{value}' is not supported with thinking disabled
tool_choice  test free
    Thinking may not be enabled when tool_choice forces tool use.
temperature  default 1  when thinks
    `temperature` may only be set to 1 when thinking is enabled.
tools.*.custom.name  like [a-zA-Z0-9_-]{1,128}
    {at}: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'
tools.*.custom.input_schema  required  :required
tools.*.custom.input_schema.type  one-of object
    {at}: Input should be 'object'
tools.*.custom  check tool
tools  test unique
    tools: Tool names must be unique.
tool_choice  test with-tools
    tool_choice: may only be specified while providing `tools`.
tool_choice.type  one-of auto any none tool  when inside
    tool_choice: Input tag must be one of 'auto', 'any', 'tool', 'none'
tool_choice(type=tool).name  test offered
    Tool '{value}' not found in provided tools
.  check cache-control
system.*  check system-text
messages  objects  :objects
messages  filled
    messages: at least one message is required
messages.*(role=system)  test system-turns
    {at}: role 'system' is not supported on this model
messages.*.role  one-of user assistant system
    {at}: Input should be 'user' or 'assistant'
messages.*  keys role content  :extra
messages.*  test has-content
    {at}: {value[role]} messages must have non-empty content
"""
# The messages with their content as blocks, each under its type.
_MESSAGES = """
messages.*(role=user).content.*.type  one-of text image document tool_result search_result  :tag
messages.*(role=assistant).content.*.type  one-of text tool_use thinking redacted_thinking  :tag
messages.*(role=system).content.*.type  one-of text  :tag
messages.*.content.*(type=text).text  check text
messages.*.content.*(type=image).image.source  check source
messages.*.content.*(type=document).document.source  check source
messages.*.content.*(type=tool_use).tool_use.id  like [a-zA-Z0-9_-]+  :id
messages.*.content.*(type=tool_use).tool_use.input  object
    {at}: Input should be a valid dictionary
messages.*.content.*(type=tool_result).tool_result.tool_use_id  like [a-zA-Z0-9_-]+  :id
messages.*.content.*(type=tool_result).tool_result  test filled-result
    {at}: content must not be empty
messages.*.content.*(type=tool_result).tool_result.content.*.type  one-of :results  :tag
messages.*.content.*(type=tool_result).tool_result.content.*(type=text).text  check text
messages.*.content.*.tool_result.content.*(type=image).image.source  check source
messages.*.content.*.tool_result.content.*(type=document).document.source  check source
"""
_WORDS = {
    "objects": WORDS["objects"],
    "extra": "{at}: Extra inputs are not permitted",
    "required": "{at}: Field required",
    "integer": "{at}: Input should be a valid integer",
    "sampling": "`{at}` is deprecated for this model.",
    "tag": "{up}: Input tag '{value}' is not expected here",
    "id": "{at}: String should match pattern '^[a-zA-Z0-9_-]+$'",
    "results": "text image document search_result tool_reference",
    "request": "model messages max_tokens cache_control container diagnostics inference_geo "
    "metadata output_config service_tier speed stop_sequences stream system temperature thinking "
    "tool_choice tools top_k top_p",
}
_FORCED = ("any", "tool")
_IMAGE_LIMIT = 10 << 20
_NO_PREFILL = (
    "This model does not support assistant message prefill. The conversation must end with a user "
    "message."
)


def check(exchange: ProviderExchange) -> None:
    """Refuse what Anthropic refuses."""
    body = exchange.body
    tools = [{"custom": tool} for tool in as_dicts(body.get("tools"))]
    _REQUEST_TABLE.check(exchange, {**body, **({"tools": tools} if "tools" in body else {})})
    messages = as_dicts(body["messages"])
    wrapped = [{**each, "content": [*map(_wrapped, blocks_of(each))]} for each in messages]
    _MESSAGE_TABLE.check(exchange, {"messages": wrapped})
    _check_end(exchange, messages)
    _check_pairs(messages)
    thinking.check_blocks(exchange)


def blocks_of(message: Json) -> list[Json]:
    """A message's content as blocks: a string is short for one text block."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_dicts(content)


def _wrapped(block: Json) -> Json:
    """A block as a path names it, such as `content.0.tool_use.id`; a text stays as it is."""
    kind = str(block.get("type"))
    if kind == "text":
        return block
    if kind == "tool_result" and isinstance(block.get("content"), list):
        block = {**block, "content": [*map(_wrapped, as_dicts(block["content"]))]}
    return {"type": block.get("type"), kind: block}


def _names(node: Node) -> list[str]:
    return [str(tool.get("name")) for tool in as_dicts(node.exchange.body.get("tools"))]


def _is_on(node: Node) -> bool:
    return thinking.is_on(node.exchange.body, claude(node.exchange.model))


def _is_free(node: Node) -> bool:
    """Whether the choice of tools goes with thinking."""
    manual = at(node.exchange.body, "thinking.type") == "enabled"
    forced = node.get("type") in _FORCED
    return not (_is_on(node) and forced and (manual or not claude(node.exchange.model).forced))


def _has_content(node: Node) -> bool:
    is_last = node.value is node.exchange.body["messages"][-1]
    return bool(node.get("content")) or (is_last and node.get("role") == "assistant")


def _check_thinking_keys(node: Node) -> None:
    kind, allowed = node.get("type"), {"type", "display"}
    if kind == "enabled":
        allowed.add("budget_tokens")
    if BINDING_BETA in node.exchange.request.headers.get("anthropic-beta", ""):
        allowed.add("block_binding")
    for key in as_dict(node.value):
        if key not in allowed:
            raise Refused(f"thinking.{kind}.{key}: Extra inputs are not permitted")


def _check_format(node: Node) -> None:
    if as_dict(node.value):
        _check_schema(node.get("schema"), f"{node.place}.schema")


def _check_tool(node: Node) -> None:
    if node.get("strict"):
        _check_schema(node.get("input_schema"), node.place)


def _check_schema(schema: Any, place: str) -> None:
    mismatch = fault(schema, ANTHROPIC)
    if mismatch is None:
        return
    kind = as_dict(schema).get("type", "object") if not mismatch[0] else "object"
    problem = mismatch[1]
    if problem.startswith("'additionalProperties'"):
        problem = "'additionalProperties' must be explicitly set to false"
    raise Refused(f"{place}: For '{kind}' type, {problem}")


def marked(body: Json) -> Iterator[tuple[str, Json]]:
    """Every part of a request that can have a `cache_control`, with its path, in order."""
    for index, tool in enumerate(as_dicts(body.get("tools"))):
        yield f"tools.{index}", tool
    for index, block in enumerate(as_dicts(body.get("system"))):
        yield f"system.{index}", block
    for index, message in enumerate(as_dicts(body.get("messages"))):
        for number, block in enumerate(blocks_of(message)):
            place = f"messages.{index}.content.{number}"
            for inner, part in enumerate(as_dicts(block.get("content"))):
                yield f"{place}.tool_result.content.{inner}", part
            yield f"{place}.{block.get('type')}", block


def _check_cache_control(node: Node) -> None:
    body, count = node.exchange.body, 0
    for place, part in [("", body), *marked(body)]:
        control = part.get("cache_control")
        if control is None:
            continue
        if place.startswith("messages.") and str(part.get("type")) not in CACHEABLE:
            raise Refused(f"{place}.cache_control: Extra inputs are not permitted")
        where = f"{place}.cache_control" if place else "cache_control"
        if as_dict(control).get("type") != "ephemeral":
            raise Refused(
                f"{where}: Input tag does not match any of the expected tags: 'ephemeral'"
            )
        if as_dict(control).get("ttl", "5m") not in ("5m", "1h"):
            raise Refused(f"{where}.ephemeral.ttl: Input should be '5m' or '1h'")
        count += bool(place)
    if count > 4:  # noqa: PLR2004 - the documented limit
        raise Refused(f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")


def _check_text(node: Node, place: str = "messages") -> None:
    if not isinstance(node.value, str):
        raise Refused(f"{place}: text: Input should be a valid string")
    if not node.value:
        raise Refused(f"{place}: text content blocks must be non-empty")
    if not node.value.strip():
        raise Refused(f"{place}: text content blocks must contain non-whitespace text")


def _check_source(node: Node) -> None:
    is_image, kind = node.place.endswith(".image.source"), node.get("type")
    kinds = ("base64", "url", "file", *(() if is_image else ("text", "content")))
    if kind not in kinds:
        raise node.refused("{at}: Input tag '{kind}' is not expected here", kind=kind)
    if kind != "base64":
        return
    allowed = media.IMAGES if is_image else ("application/pdf",)
    if node.get("media_type") not in allowed:
        listed = " or ".join(f"'{name}'" for name in allowed)
        raise node.refused("{at}.base64.media_type: Input should be {listed}", listed=listed)
    try:
        attachment = media.decode(
            str(node.get("data")), str(node.get("media_type")), limit=_IMAGE_LIMIT
        )
    except Refused as refused:
        raise Refused(f"{node.place}.base64: {refused.message}") from None
    node.exchange.attachments.append(attachment)


def _check_end(exchange: ProviderExchange, messages: list[Json]) -> None:
    if messages[-1].get("role") != "assistant":
        return
    if not claude(exchange.model).prefill:
        raise Refused(_NO_PREFILL)
    text = blocks_of(messages[-1])[-1:]
    if text and str(text[0].get("text", "")) != str(text[0].get("text", "")).rstrip():
        raise Refused("messages: final assistant content cannot end with trailing whitespace")


def turns(messages: list[Json]) -> list[tuple[int, str, list[Json]]]:
    """Messages with adjacent ones of one role merged: index of the first, role, blocks."""
    merged: list[tuple[int, str, list[Json]]] = []
    for index, message in enumerate(messages):
        role, blocks = str(message.get("role")), blocks_of(message)
        if merged and merged[-1][1] == role:
            merged[-1][2].extend(blocks)
        else:
            merged.append((index, role, list(blocks)))
    return merged


def _check_pairs(messages: list[Json]) -> None:
    """The results of a turn's calls come first in the next message, all of them."""
    waiting: list[str] = []
    asked_at = 0
    for index, _role, blocks in turns(messages):
        leading = [
            block["tool_use_id"]
            for number, block in enumerate(blocks)
            if all(b.get("type") == "tool_result" for b in blocks[: number + 1])
        ]
        missing = [name for name in waiting if name not in leading]
        if missing:
            raise _no_result(missing, asked_at)
        for number, block in enumerate(blocks):
            if block.get("type") == "tool_result" and block.get("tool_use_id") not in waiting:
                raise Refused(
                    f"messages.{index}.content.{number}: unexpected `tool_use_id` found in "
                    f"`tool_result` blocks: {block.get('tool_use_id')}. Each `tool_result` block "
                    "must have a corresponding `tool_use` block in the previous message."
                )
        if len(set(leading)) < len(leading):
            raise Refused(
                f"messages.{index}.content: each tool_use must have a single result. Found "
                f"multiple `tool_result` blocks with id: {leading[-1]}"
            )
        waiting = [str(b.get("id")) for b in blocks if b.get("type") == "tool_use"]
        asked_at = index
        if len(set(waiting)) < len(waiting):
            raise Refused(f"messages.{index}: `tool_use` ids must be unique")
    if waiting:
        raise _no_result(waiting, asked_at)


def _no_result(names: list[str], index: int) -> Refused:
    return Refused(
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately "
        f"after: {', '.join(names)}. Each `tool_use` block must have a corresponding "
        "`tool_result` block in the next message."
    )


_REQUEST_TABLE = RuleTable(
    _REQUEST,
    _WORDS,
    functions={
        "versioned": lambda node: "anthropic-version" in node.exchange.request.headers,
        "samples": lambda node: node.value in (None, 1) or claude(node.exchange.model).sampling,
        "format": _check_format,
        "inside": lambda node: bool(node.parent),
        "thinking": lambda node: node.value in claude(node.exchange.model).thinking,
        "below-max": lambda node: node.value < node.exchange.body["max_tokens"],
        "thinking-keys": _check_thinking_keys,
        "effort": lambda node: (
            node.value not in ("xhigh", "max")
            or _is_on(node)
            or not node.exchange.model.startswith("claude-opus-5")
        ),
        "free": _is_free,
        "thinks": _is_on,
        "tool": _check_tool,
        "unique": lambda node: len(set(_names(node))) == len(_names(node)),
        "with-tools": lambda node: not as_dict(node.value) or bool(_names(node)),
        "offered": lambda node: node.value in _names(node),
        "cache-control": _check_cache_control,
        "system-text": lambda node: _check_text(node.below("text")[0], "system"),
        "system-turns": lambda node: claude(node.exchange.model).system_turns,
        "has-content": _has_content,
    },
)
_MESSAGE_TABLE = RuleTable(
    _MESSAGES,
    _WORDS,
    functions={
        "text": _check_text,
        "source": _check_source,
        "filled-result": lambda node: node.get("content") != [],
    },
)
