"""What a provider of models needs in a request, and how reasoning is asked of it.

`providers.py` is the table of all providers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.untrusted import as_object

Level = Literal["off", "low", "medium", "high"]
LEVELS: tuple[Level, ...] = get_args(Level)
SchemaSubset = Literal["any", "openai", "anthropic", "plain", "json_object"]
BUDGET = "{budget}"
"""The placeholder for the number of tokens in `Provider.budget`."""

LOW, MEDIUM = 2_048, 8_192
"""The largest budgets in tokens that count as these levels."""


def effort(
    off: str = "none", low: str = "low", medium: str = "medium", high: str = "high"
) -> dict[Level, Mapping[str, Any]]:
    """The levels as `reasoning_effort`."""
    names: dict[Level, str] = {"off": off, "low": low, "medium": medium, "high": high}
    return {level: {"reasoning_effort": name} for level, name in names.items()}


def switch(key: str, off: object, on: object) -> dict[Level, Mapping[str, Any]]:
    """The levels of a provider that can only turn reasoning off and on."""
    return {"off": {key: off}, "low": {key: on}, "medium": {key: on}, "high": {key: on}}


@dataclass(frozen=True, slots=True)
class Provider:
    """What a provider needs in a request.

    Attributes:
        name: The prefix of its models' names, and the origin of its opaque data.
        base_url: The address of its API.
        variables: The prefix of its environment variables: `…_API_KEY` and `…_BASE_URL`.
        needs_key: Whether it requires a key.
        hosts: The hosts, subdomains included, by which it is recognized.
        api: Which of OpenAI's APIs the provider requires for the model.
        answer_limit: The key of the largest number of tokens to answer with.
        stream_options: Whether usage in a stream must be, and can be, requested.
        temperature: When a temperature is sent: `always`; only if the model does not reason,
            which it does by itself (`reasoning_off`) or only when asked to (`unless_reasoning`);
            `never`.
        temperatures: The lowest and the highest temperature that it accepts, if not any: others
            become the nearest of these.
        reasoning: What each level adds to the body; empty if the model takes no level.
        budget: What a budget in tokens adds to the body; if empty, the nearest level applies.
        budgets: The smallest and the largest budget that it accepts.
        extra: What is added to the body unless reasoning is off.
        shown: What is different, as in `rules`, if reasoning that the provider hides is to be
            visible.
        echo: Whether visible reasoning goes back under the key that it came by.
        backfill: The key and text of reasoning for messages that have none, which the provider
            would refuse.
        backfill_all: Whether that applies to messages without calls too.
        think_tag: The tag, such as `<think>`, at the start of a text that begins with reasoning;
            empty if texts never do.
        binds_reasoning: Whether reasoning is only valid after the same system prompt, tools and
            messages.
        foreign_call: What the first call of a message needs if another model made it.
        empty_content: The content of a message that has calls and no text.
        ids: The form of a call's id; None allows any, up to 40 characters.
        user_after_tool: Whether a user message may follow a tool's result.
        choice_none: Whether `tool_choice: none` is understood; if not, the tools are left out.
        images: Whether its models see images. None if unknown: images from a user or a tool are
            sent, plots of a code agent are not.
        documents: The type of part that holds a PDF; empty if there is none.
        schema: The subset of JSON Schema that `response_format` supports, and with `plain` the
            parameters of tools too.
        prompt_cache: What each request adds so that its prefix is cached. If empty, the provider
            caches automatically, or not at all.
        cache_key: Whether each request names its prefix by `prompt_cache_key`, by which the
            provider finds what it has cached.
        rules: Patterns of models' names, and what is different for these models.
    """

    name: str
    base_url: str = ""
    variables: str = "OPENAI"
    needs_key: bool = True
    hosts: tuple[str, ...] = ()
    api: Literal["chat", "responses"] = "chat"
    answer_limit: str = "max_tokens"
    stream_options: bool = True
    temperature: Literal["always", "unless_reasoning", "reasoning_off", "never"] = "always"
    temperatures: tuple[float, float] | None = None
    reasoning: Mapping[Level, Mapping[str, Any]] = field(default_factory=effort)
    budget: Mapping[str, Any] = field(default_factory=dict[str, Any])
    budgets: tuple[int, int] = (1, 1_000_000)
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    shown: Mapping[str, Any] = field(default_factory=dict[str, Any])
    echo: bool = True
    backfill: tuple[str, str] | None = None
    backfill_all: bool = False
    think_tag: str = "<think>"
    binds_reasoning: bool = False
    foreign_call: Mapping[str, Any] = field(default_factory=dict[str, Any])
    empty_content: str | None = ""
    ids: re.Pattern[str] | None = None
    user_after_tool: bool = True
    choice_none: bool = True
    images: bool | None = None
    documents: Literal["file", "document_url", ""] = ""
    schema: SchemaSubset = "any"
    prompt_cache: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cache_key: bool = False
    rules: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    def for_model(self, model: str, *, show_reasoning: bool = False) -> Provider:
        """The provider as it is for one of its models.

        Args:
            model: The model's name.
            show_reasoning: Whether hidden reasoning is to be made visible.
        """
        changes: dict[str, Any] = {}
        for pattern, change in self.rules:
            if re.search(pattern, model):
                changes |= change
        if show_reasoning:
            changes |= changes.get("shown", self.shown)
        return replace(self, **changes) if changes else self

    def temperature_for(self, wanted: float | None, reasoning: Level | int | None) -> float | None:
        """The temperature to send: the one that is wanted, or what the model accepts of it.

        Args:
            wanted: The temperature of the request.
            reasoning: Its reasoning: many models refuse a temperature while they reason.
        """
        if wanted is None or self.temperature == "never":
            return None
        if self.temperature != "always":
            if reasoning is None:
                reasons = self.temperature == "reasoning_off"
            else:
                reasons = self.reasoning_fields(reasoning).get("reasoning_effort") != "none"
            if reasons:
                return None
        if self.temperatures is None:
            return wanted
        lowest, highest = self.temperatures
        return min(max(wanted, lowest), highest)

    def reasoning_fields(self, requested: Level | int | None) -> Mapping[str, Any]:
        """What the requested reasoning, a level or a budget in tokens, adds to the body."""
        fields: Mapping[str, Any] = {}
        if isinstance(requested, int) and requested and self.budget:
            lowest, highest = self.budgets
            fields = _filled(self.budget, min(max(requested, lowest), highest))
        elif requested is not None:
            level = nearest_level(requested) if isinstance(requested, int) else requested
            fields = self.reasoning.get(level, {})
        return fields if requested in {"off", 0} else _merged(self.extra, fields)


def check_reasoning(requested: object) -> None:
    """Check a value for `reasoning`.

    Raises:
        ConfigurationError: It is neither a level nor a number of tokens.
    """
    is_number = isinstance(requested, int) and not isinstance(requested, bool) and requested >= 0
    if requested is not None and not is_number and requested not in LEVELS:
        raise ConfigurationError(
            f"reasoning={requested!r} is neither a number of tokens nor one of: {', '.join(LEVELS)}"
        )


def nearest_level(budget: int) -> Level:
    """The level nearest to a budget in tokens."""
    if budget <= 0:
        return "off"
    return "low" if budget <= LOW else "medium" if budget <= MEDIUM else "high"


def _filled(template: Mapping[str, Any], budget: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in template.items():
        inner = as_object(value)
        out[key] = _filled(inner, budget) if inner is not None else value
        if value == BUDGET:
            out[key] = budget
    return out


def _merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of both, down to the innermost objects; those of `change` win."""
    if not base or not change:
        return base or change
    out = dict(base)
    for key, value in change.items():
        old, new = as_object(base.get(key)), as_object(value)
        out[key] = _merged(old, new) if old is not None and new is not None else value
    return out
