"""Anthropic's Messages API: what a request must be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tinyagent.testing.strict import media
from tinyagent.testing.strict.anthropic import models as rules
from tinyagent.testing.strict.anthropic import thinking
from tinyagent.testing.strict.anthropic.models import ClaudeRules, claude
from tinyagent.testing.strict.schemas import ANTHROPIC, fault
from tinyagent.testing.strict.session import Exchange, Json, Refused, as_dict, as_dicts, typed_list

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_FORBIDDEN = "Extra inputs are not permitted"


def check(exchange: Exchange) -> None:
    """Refuse what Anthropic refuses."""
    body = exchange.body
    if "anthropic-version" not in exchange.request.headers:
        raise Refused("anthropic-version: header is required")
    for key in body:
        if key not in rules.KEYS:
            raise Refused(f"{key}: {_FORBIDDEN}")
    for key in ("model", "messages", "max_tokens"):
        if key not in body:
            raise Refused(f"{key}: Field required")
    model = claude(exchange.model)
    _check_settings(body, model)
    thinking.check_settings(exchange, model)
    _check_tools(body)
    _check_cache_control(body)
    if isinstance(body.get("system"), list):
        for block in as_dicts(body["system"]):
            _check_text(block, "system")
    messages = typed_list(body, "messages")
    if not messages:
        raise Refused("messages: at least one message is required")
    for index, message in enumerate(messages):
        _check_message(exchange, message, index, model)
    _check_end(messages, model)
    _check_pairs(messages)
    thinking.check_blocks(exchange, model)


def blocks_of(message: Json) -> list[Json]:
    """A message's content as blocks: a string is short for one text block."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_dicts(content)


def _check_settings(body: Json, model: ClaudeRules) -> None:
    for key in ("temperature", "top_p", "top_k"):
        if body.get(key) is not None and not model.sampling and body[key] != 1:
            raise Refused(f"`{key}` is deprecated for this model.")
    config = as_dict(body.get("output_config"))
    effort = config.get("effort")
    if effort is not None and effort not in rules.EFFORTS:
        listed = ", ".join(f"'{name}'" for name in rules.EFFORTS[:-1])
        raise Refused(f"output_config.effort: Input should be {listed} or '{rules.EFFORTS[-1]}'")
    output_format = as_dict(config.get("format"))
    if output_format:
        _check_schema(output_format.get("schema"), "output_config.format.schema")


def _check_schema(schema: Any, place: str) -> None:
    mismatch = fault(schema, ANTHROPIC)
    if mismatch is None:
        return
    kind = as_dict(schema).get("type", "object") if not mismatch[0] else "object"
    problem = mismatch[1]
    if problem.startswith("'additionalProperties'"):
        problem = "'additionalProperties' must be explicitly set to false"
    raise Refused(f"{place}: For '{kind}' type, {problem}")


def _check_tools(body: Json) -> None:
    tools = as_dicts(body.get("tools"))
    for index, tool in enumerate(tools):
        place = f"tools.{index}.custom"
        if not _NAME.fullmatch(str(tool.get("name", ""))):
            raise Refused(f"{place}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        schema = tool.get("input_schema")
        if schema is None:
            raise Refused(f"{place}.input_schema: Field required")
        if as_dict(schema).get("type") != "object":
            raise Refused(f"{place}.input_schema.type: Input should be 'object'")
        if tool.get("strict"):
            _check_schema(schema, place)
    names = [str(tool.get("name")) for tool in tools]
    if len(set(names)) < len(names):
        raise Refused("tools: Tool names must be unique.")
    choice = as_dict(body.get("tool_choice"))
    if choice and not tools:
        raise Refused("tool_choice: may only be specified while providing `tools`.")
    if choice and choice.get("type") not in ("auto", "any", "none", "tool"):
        raise Refused("tool_choice: Input tag must be one of 'auto', 'any', 'tool', 'none'")
    if choice.get("type") == "tool" and choice.get("name") not in names:
        raise Refused(f"Tool '{choice.get('name')}' not found in provided tools")


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


def _check_cache_control(body: Json) -> None:
    count = 0
    for place, part in [("", body), *marked(body)]:
        control = part.get("cache_control")
        if control is None:
            continue
        if place.startswith("messages.") and str(part.get("type")) not in rules.CACHEABLE:
            raise Refused(f"{place}.cache_control: {_FORBIDDEN}")
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


def _check_message(exchange: Exchange, message: Json, index: int, model: ClaudeRules) -> None:
    role = str(message.get("role"))
    if role == "system" and not model.system_turns:
        raise Refused(f"messages.{index}: role 'system' is not supported on this model")
    if role not in rules.BLOCKS:
        raise Refused(f"messages.{index}.role: Input should be 'user' or 'assistant'")
    for key in message:
        if key not in ("role", "content"):
            raise Refused(f"messages.{index}.{key}: {_FORBIDDEN}")
    last = index == len(exchange.body["messages"]) - 1
    if not message.get("content") and not (last and role == "assistant"):
        raise Refused(f"messages.{index}: {role} messages must have non-empty content")
    for number, block in enumerate(blocks_of(message)):
        place = f"messages.{index}.content.{number}"
        if str(block.get("type")) not in rules.BLOCKS[role]:
            raise Refused(f"{place}: Input tag '{block.get('type')}' is not expected here")
        _check_block(exchange, block, place)


def _check_block(exchange: Exchange, block: Json, place: str) -> None:
    kind = block.get("type")
    if kind == "text":
        _check_text(block, "messages")
    elif kind in ("image", "document"):
        _keep_source(exchange, block, f"{place}.{kind}.source")
    elif kind == "tool_use":
        _check_id(block.get("id"), f"{place}.tool_use.id")
        if not isinstance(block.get("input"), dict):
            raise Refused(f"{place}.tool_use.input: Input should be a valid dictionary")
    elif kind == "tool_result":
        _check_id(block.get("tool_use_id"), f"{place}.tool_result.tool_use_id")
        for number, part in enumerate(as_dicts(block.get("content"))):
            inner = f"{place}.tool_result.content.{number}"
            if str(part.get("type")) not in rules.RESULT_BLOCKS:
                raise Refused(f"{inner}: Input tag '{part.get('type')}' is not expected here")
            _check_block(exchange, part, inner)
        if block.get("content") == []:
            raise Refused(f"{place}.tool_result: content must not be empty")


def _check_text(block: Json, place: str) -> None:
    text = block.get("text")
    if not isinstance(text, str):
        raise Refused(f"{place}: text: Input should be a valid string")
    if not text:
        raise Refused(f"{place}: text content blocks must be non-empty")
    if not text.strip():
        raise Refused(f"{place}: text content blocks must contain non-whitespace text")


def _check_id(value: Any, place: str) -> None:
    if not _ID.fullmatch(str(value or "")):
        raise Refused(f"{place}: String should match pattern '^[a-zA-Z0-9_-]+$'")


def _keep_source(exchange: Exchange, block: Json, place: str) -> None:
    source = as_dict(block.get("source"))
    kinds = ("base64", "url", "file", *(("text", "content") * (block["type"] == "document")))
    if source.get("type") not in kinds:
        raise Refused(f"{place}: Input tag '{source.get('type')}' is not expected here")
    if source.get("type") != "base64":
        return
    allowed = media.IMAGES if block["type"] == "image" else ("application/pdf",)
    if source.get("media_type") not in allowed:
        listed = " or ".join(f"'{name}'" for name in allowed)
        raise Refused(f"{place}.base64.media_type: Input should be {listed}")
    try:
        attachment = media.decode(
            str(source.get("data")), str(source["media_type"]), limit=rules.IMAGE_LIMIT
        )
    except Refused as refused:
        raise refused.at(f"{place}.base64") from None
    exchange.attachments.append(attachment)


def _check_end(messages: list[Json], model: ClaudeRules) -> None:
    if messages[-1].get("role") != "assistant":
        return
    if not model.prefill:
        raise Refused(
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message."
        )
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
