"""Anthropic's models: which of them think, and which of their thoughts may come back.

In adaptive mode, a turn with calls that comes back without its thoughts passes and is recorded as
a loss: it is not documented whether that is refused.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from tinyagent.testing.strict.session import (
    Json,
    ProviderExchange,
    Refused,
    as_dict,
    as_dicts,
)

CACHEABLE = frozenset({"text", "image", "document", "tool_use", "tool_result"})
BINDING_BETA = "thinking-binding-controls-2026-08-01"


@dataclass(frozen=True, slots=True)
class ClaudeRules:
    """A family of models.

    Attributes:
        thinking: The values of `thinking.type`.
        thinks: Thinking is on if `thinking` is omitted.
        shows: Thoughts are shown unless `display` says otherwise.
        sampling: Temperature, top_p and top_k are accepted.
        prefill: A request may end with an assistant message.
        bound: A signature is valid only after the same system prompt, tools and messages.
        system_turns: Messages may have the role "system".
        forced: A tool may be forced in adaptive mode.
        cache_minimum: Tokens below which nothing is cached.
    """

    thinking: tuple[str, ...]
    thinks: bool = False
    shows: bool = False
    sampling: bool = False
    prefill: bool = False
    bound: bool = False
    system_turns: bool = True
    forced: bool = True
    cache_minimum: int = 1024


_ALWAYS = ("adaptive",)
_SWITCH = ("adaptive", "disabled")
_FIVE = ClaudeRules(_ALWAYS, thinks=True, bound=True, cache_minimum=512)
_FABLE = ClaudeRules(_ALWAYS, thinks=True, forced=False)
_FABLE_BOUND = ClaudeRules(_ALWAYS, thinks=True, bound=True, forced=False)
_OLD = ClaudeRules(
    ("enabled", "disabled"), shows=True, sampling=True, prefill=True, system_turns=False
)
_MIDDLE = ClaudeRules(
    ("adaptive", "enabled", "disabled"), shows=True, sampling=True, system_turns=False
)
MODELS: dict[str, ClaudeRules] = {
    "claude-": _OLD,
    "claude-opus-4-6": _MIDDLE,
    "claude-sonnet-4-6": _MIDDLE,
    "claude-opus-4-7": ClaudeRules(_SWITCH, system_turns=False),
    "claude-opus-4-8": ClaudeRules(_SWITCH),
    "claude-opus-5": ClaudeRules(_SWITCH, thinks=True),
    "claude-sonnet-5": ClaudeRules(_SWITCH, thinks=True),
    "claude-fable-5": _FABLE,
    "claude-mythos-": _FABLE,
    "claude-fable-5-1": _FABLE_BOUND,
    "claude-fable-5-2": _FABLE_BOUND,
    "claude-mythos-5-1": _FABLE_BOUND,
    "claude-mythos-5-2": _FABLE_BOUND,
    "claude-opus-5-5": _FIVE,
    "claude-sonnet-5-5": ClaudeRules(
        ("adaptive", "between_tools"), thinks=True, bound=True, cache_minimum=512
    ),
    "claude-haiku-5-5": ClaudeRules(
        ("adaptive", "between_tools", "disabled"), thinks=True, bound=True, cache_minimum=512
    ),
}


def claude(model: str) -> ClaudeRules:
    """The rules of a model.

    Raises:
        Refused: There is no such model.
    """
    prefixes = [name for name in MODELS if model.startswith(name)]
    if not prefixes:
        raise Refused(f"model: {model}", status=404)
    return MODELS[max(prefixes, key=len)]


THOUGHTS = ("thinking", "redacted_thinking")
_DOCS = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"


def is_on(body: Json, model: ClaudeRules) -> bool:
    """Whether the model thinks in this request."""
    kind = as_dict(body.get("thinking")).get("type")
    return model.thinks if kind is None else kind != "disabled"


def shows(body: Json, model: ClaudeRules) -> bool:
    """Whether the text of thoughts is in the reply."""
    display = as_dict(body.get("thinking")).get("display")
    return model.shows if display is None else display == "summarized"


def prefix_of(body: Json, before: list[Json]) -> str:
    """A hash of everything before a block, except cache markers and thoughts."""
    preceding = [body.get("system"), body.get("tools"), *(b for b in before if not _is_thought(b))]
    plain = json.loads(json.dumps(preceding), object_hook=_unmarked)
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _unmarked(node: Json) -> Json:
    return {key: value for key, value in node.items() if key != "cache_control"}


def _is_thought(block: Json) -> bool:
    return block.get("type") in THOUGHTS


def flattened(body: Json) -> list[tuple[str, Json]]:
    """The blocks of all messages with their paths."""
    places: list[tuple[str, Json]] = []
    for index, message in enumerate(as_dicts(body["messages"])):
        content = message.get("content")
        if isinstance(content, str):
            places.append(
                (f"messages.{index}", with_role(message, {"type": "text", "text": content}))
            )
        for number, block in enumerate(as_dicts(content)):
            places.append((f"messages.{index}.content.{number}", with_role(message, block)))
    return places


def with_role(message: Json, block: Json) -> Json:
    """A block with the role of its message; thoughts are only the assistant's."""
    return block if _is_thought(block) else {"role": message.get("role"), **block}


def check_blocks(exchange: ProviderExchange) -> None:
    """Check that thoughts are unchanged, in their position, after the same conversation."""
    model = claude(exchange.model)
    issued = {thought_key(block): turn for turn in exchange.session.turns for block in turn.opaque}
    places = flattened(exchange.body)
    thoughts = [block for _, block in places if _is_thought(block)]
    latest = _check_latest(exchange)
    for number, (place, block) in enumerate(places):
        if not _is_thought(block):
            continue
        turn = issued.get(thought_key(block))
        if turn is None or block not in turn.opaque:
            raise _modified(place) if place.startswith(latest) else _unsigned(place, block)
        if turn.model != exchange.model:
            exchange.lose(f"{place}: thoughts of {turn.model} are not shown to {exchange.model}")
        elif model.bound:
            before = [b for _, b in places[:number]]
            _check_bound(exchange, block, place, (before, thoughts))


def thought_key(block: Json) -> str:
    """The identity of a block of thoughts."""
    return str(block.get("signature") or block.get("data"))


def _unsigned(place: str, block: Json) -> Refused:
    field = "signature" if block.get("type") == "thinking" else "data"
    return Refused(f"{place}: Invalid `{field}` in `{block.get('type')}` block")


def _modified(place: str) -> Refused:
    return Refused(
        f"{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message "
        "cannot be modified. These blocks must remain as they were in the original response."
    )


def _check_bound(
    exchange: ProviderExchange, block: Json, place: str, context: tuple[list[Json], list[Json]]
) -> None:
    """The prefix check of preserved thinking."""
    before, thoughts = context
    earlier = thoughts[: thoughts.index(block)]
    chain = exchange.session.chains[thought_key(block)]
    prefix = exchange.session.prefixes[thought_key(block)]
    keys = [thought_key(b) for b in earlier]
    if keys == chain[len(chain) - len(keys) :] and prefix == prefix_of(exchange.body, before):
        return
    binding = as_dict(as_dict(exchange.body.get("thinking")).get("block_binding"))
    if binding.get("prefix_mismatch_behavior") != "drop_block":
        raise Refused(
            f"{place}: Invalid `signature` in `thinking` block. The block is bound to a different "
            "conversation. Remove the block, or set "
            '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
        )
    exchange.dropped.append(place)
    exchange.lose(f"{place}: dropped, it is bound to a different conversation")


def _check_latest(exchange: ProviderExchange) -> str:
    """Check the last assistant message if its calls are being answered; return its path."""
    messages = as_dicts(exchange.body["messages"])
    index = max((i for i, m in enumerate(messages) if m.get("role") == "assistant"), default=-1)
    blocks = as_dicts(messages[index].get("content")) if index >= 0 else []
    ids = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
    place = f"messages.{index}."
    turn = next(iter(exchange.session.turns_of(ids)), None) if ids else None
    manual = as_dict(exchange.body.get("thinking")).get("type") == "enabled"
    if ids and manual and not _is_thought(blocks[0]):
        raise Refused(
            f"{place}content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{blocks[0].get('type')}`. When `thinking` is enabled, a final `assistant` message "
            "must start with a thinking block (preceeding the lastmost set of `tool_use` and "
            "`tool_result` blocks). We recommend you include thinking blocks from previous turns. "
            "To avoid this requirement, disable `thinking`. Please consult our documentation at "
            f"{_DOCS}"
        )
    if turn is None or not turn.opaque or turn.model != exchange.model:
        return place
    if not any(_is_thought(block) for block in blocks):
        exchange.lose(f"{place}content: the thoughts before the calls did not come back")
    elif order_of(blocks) != turn.order:
        raise _modified(f"{place}content.0")
    return place


def order_of(blocks: list[Json]) -> tuple[str, ...]:
    """The identities of the thoughts and calls of a message, in order."""
    return tuple(
        thought_key(block) if _is_thought(block) else str(block.get("id"))
        for block in blocks
        if _is_thought(block) or block.get("type") == "tool_use"
    )
