"""What Anthropic's models accept, as a table: the longest matching prefix of a name counts."""

from __future__ import annotations

from dataclasses import dataclass

from tinyagent.testing.strict.session import Refused

CACHEABLE = frozenset({"text", "image", "document", "tool_use", "tool_result"})
BINDING_BETA = "thinking-binding-controls-2026-08-01"


@dataclass(frozen=True, slots=True)
class ClaudeRules:
    """A family of models.

    Attributes:
        thinking: the values of `thinking.type`.
        thinks: thinking is on if `thinking` is omitted.
        shows: thoughts are shown unless `display` says otherwise.
        sampling: temperature, top_p and top_k are accepted.
        prefill: a request may end with an assistant message.
        bound: a signature is valid only after the same system prompt, tools and messages.
        system_turns: messages may have the role "system".
        forced: a tool may be forced in adaptive mode.
        cache_minimum: tokens below which nothing is cached.
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
        Refused: there is no such model.
    """
    prefixes = [name for name in MODELS if model.startswith(name)]
    if not prefixes:
        raise Refused(f"model: {model}", status=404)
    return MODELS[max(prefixes, key=len)]
