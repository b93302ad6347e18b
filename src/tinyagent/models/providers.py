"""The differences between providers, as data.

To add a provider, add an entry to `PROVIDERS`; a difference of some of its models is one of its
`rules`. A server that is not recognized is `LENIENT`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.untrusted import as_object

Level = Literal["off", "low", "medium", "high"]
LEVELS: tuple[Level, ...] = get_args(Level)
SchemaSubset = Literal["any", "openai", "anthropic", "gemini", "json_object"]
BUDGET = "{budget}"
"""The placeholder for the number of tokens in `Provider.budget`."""

_LOW, _MEDIUM = 2_048, 8_192


def _effort(
    off: str = "none", low: str = "low", medium: str = "medium", high: str = "high"
) -> dict[Level, Mapping[str, Any]]:
    """The levels as `reasoning_effort`."""
    names: dict[Level, str] = {"off": off, "low": low, "medium": medium, "high": high}
    return {level: {"reasoning_effort": name} for level, name in names.items()}


def _switch(key: str, off: object, on: object) -> dict[Level, Mapping[str, Any]]:
    """The levels of a provider that can only turn reasoning off and on."""
    return {"off": {key: off}, "low": {key: on}, "medium": {key: on}, "high": {key: on}}


@dataclass(frozen=True, slots=True)
class Provider:
    """What a provider needs in a request.

    Attributes:
        name: the prefix of its models' names, and the origin of its opaque data.
        base_url: the address of its API.
        variables: the prefix of its environment variables: `…_API_KEY` and `…_BASE_URL`.
        needs_key: whether it requires a key.
        hosts: the hosts, subdomains included, by which it is recognized.
        api: which of OpenAI's APIs the provider requires for the model.
        answer_limit: the key of the largest number of tokens to answer with.
        stream_options: whether usage in a stream must be, and can be, requested.
        temperature: when a temperature is sent: `always`; only if reasoning is not requested
            (`unless_reasoning`); only if it is turned off (`reasoning_off`).
        reasoning: what each level adds to the body.
        budget: what a budget in tokens adds to the body; if empty, the nearest level applies.
        echo: whether visible reasoning goes back under the key that it came by.
        backfill: the key and text of reasoning for messages that have none, which the provider
            would refuse.
        backfill_all: whether that applies to messages without calls too.
        think_tags: whether a text that begins with `<think>` begins with reasoning.
        binds_reasoning: whether reasoning is only valid after the same system prompt, tools and
            messages.
        foreign_call: what the first call of a message needs if another model made it.
        empty_content: the content of a message that has calls and no text.
        ids: the form of a call's id; None allows any, up to 40 characters.
        user_after_tool: whether a user message may follow a tool's result.
        choice_none: whether `tool_choice: none` is understood; if not, the tools are left out.
        images: whether its models see images. None if unknown: images from a user or a tool are
            sent, plots of a code agent are not.
        documents: the type of part that holds a PDF; empty if there is none.
        schema: the subset of JSON Schema that `response_format` supports.
        prompt_cache: what each request adds so that its prefix is cached. If empty, the provider
            caches automatically, or not at all.
        rules: patterns of models' names, and what is different for these models.
    """

    name: str
    base_url: str = ""
    variables: str = "OPENAI"
    needs_key: bool = True
    hosts: tuple[str, ...] = ()
    api: Literal["chat", "responses"] = "chat"
    answer_limit: str = "max_tokens"
    stream_options: bool = True
    temperature: Literal["always", "unless_reasoning", "reasoning_off"] = "always"
    reasoning: Mapping[Level, Mapping[str, Any]] = field(default_factory=_effort)
    budget: Mapping[str, Any] = field(default_factory=dict[str, Any])
    echo: bool = True
    backfill: tuple[str, str] | None = None
    backfill_all: bool = False
    think_tags: bool = True
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
    rules: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    def for_model(self, model: str) -> Provider:
        """The provider as it is for one of its models."""
        changes: dict[str, Any] = {}
        for pattern, change in self.rules:
            if re.search(pattern, model):
                changes |= change
        return replace(self, **changes) if changes else self

    def takes_temperature(self, reasoning: Level | int | None) -> bool:
        """Whether a temperature may be sent: many models refuse one while they reason."""
        if self.temperature == "always" or reasoning in {"off", 0}:
            return True
        return self.temperature == "unless_reasoning" and reasoning is None

    def reasoning_fields(self, requested: Level | int) -> Mapping[str, Any]:
        """What the requested reasoning, a level or a budget in tokens, adds to the body."""
        if isinstance(requested, int):
            if requested and self.budget:
                return _filled(self.budget, requested)
            requested = nearest_level(requested)
        return self.reasoning.get(requested, {})


def check_reasoning(requested: object) -> None:
    """Check a value for `reasoning`.

    Raises:
        ConfigurationError: it is neither a level nor a number of tokens.
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
    return "low" if budget <= _LOW else "medium" if budget <= _MEDIUM else "high"


def find_provider(base_url: str) -> Provider:
    """The provider behind an address; an unknown one is lenient and named after its host."""
    try:
        parts = urlsplit(base_url)
        host = parts.hostname or ""
    except ValueError:  # the endpoint reports it
        return LENIENT
    for provider in PROVIDERS.values():
        if any(host == known or host.endswith(f".{known}") for known in provider.hosts):
            return provider
    return replace(LENIENT, name=parts.netloc.rpartition("@")[2] or LENIENT.name)


def provider_named(name: str) -> Provider:
    """The provider of a name; raises ConfigurationError if there is none."""
    if name not in PROVIDERS:
        raise ConfigurationError(f"unknown provider {name!r}; use one of: {', '.join(PROVIDERS)}")
    return PROVIDERS[name]


def _filled(template: Mapping[str, Any], budget: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in template.items():
        inner = as_object(value)
        out[key] = _filled(inner, budget) if inner is not None else value
        if value == BUDGET:
            out[key] = budget
    return out


_SEES = {"images": True}
_OPEN_SEES = ((r"(?i)vision|llava|pixtral|\dvl|-vl", _SEES),)
_OPENAI_SEES = r"gpt-(4o|4\.1|5)(?!.*(audio|realtime|search|transcribe|tts))|o[134](?!-mini)|o4"
LENIENT = Provider("compatible", needs_key=False, documents="file", rules=_OPEN_SEES)

_OPENAI_THINKS = {"temperature": "reasoning_off", "api": "responses"}
_THINKING = {"enabled": {"type": "enabled"}, "disabled": {"type": "disabled"}}
_DEEPSEEK: dict[Level, Mapping[str, Any]] = {
    "off": {"thinking": _THINKING["disabled"]},
    "low": {"thinking": _THINKING["enabled"], "reasoning_effort": "low"},
    "medium": {"thinking": _THINKING["enabled"], "reasoning_effort": "high"},
    "high": {"thinking": _THINKING["enabled"], "reasoning_effort": "high"},
}
_OPENROUTER: dict[Level, Mapping[str, Any]] = {
    "off": {"reasoning": {"enabled": False}},
    "low": {"reasoning": {"effort": "low"}},
    "medium": {"reasoning": {"effort": "medium"}},
    "high": {"reasoning": {"effort": "high"}},
}
_CLAUDE_LEAST = {"output_config": {"effort": "low"}}
_ADAPTIVE = {"type": "adaptive"}
_CLAUDE: dict[Level, Mapping[str, Any]] = {
    "off": {"thinking": _THINKING["disabled"]},
    "low": {"thinking": _ADAPTIVE, "output_config": {"effort": "low"}},
    "medium": {"thinking": _ADAPTIVE, "output_config": {"effort": "medium"}},
    "high": {"thinking": _ADAPTIVE, "output_config": {"effort": "high"}},
}
_CLAUDE_WITH_BUDGET = r"claude-3|claude-(opus|sonnet|haiku)-4(-[0-5])?(-\d{8}|$)"
_CLAUDE_BUDGET: dict[str, Any] = {
    "reasoning": {
        "off": {"thinking": _THINKING["disabled"]},
        "low": {"thinking": {"type": "enabled", "budget_tokens": _LOW}},
        "medium": {"thinking": {"type": "enabled", "budget_tokens": _MEDIUM}},
        "high": {"thinking": {"type": "enabled", "budget_tokens": 12_288}},
    },
    "budget": {"thinking": {"type": "enabled", "budget_tokens": BUDGET}},
}
_GEMINI_BUDGET = {"extra_body": {"google": {"thinking_config": {"thinking_budget": BUDGET}}}}
_GEMINI_FOREIGN = {
    "extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}
}

PROVIDERS: Mapping[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            "openai",
            "https://api.openai.com/v1",
            hosts=("api.openai.com", "openai.azure.com"),
            answer_limit="max_completion_tokens",
            echo=False,
            think_tags=False,
            documents="file",
            schema="openai",
            rules=(
                (rf"^({_OPENAI_SEES})", _SEES),
                (r"^(o\d|gpt-5)", _OPENAI_THINKS),
                (r"^gpt-5-chat", {"temperature": "always", "api": "chat"}),
                (r"^gpt-5\.[1-4](?!.*(chat|pro))", {"temperature": "unless_reasoning"}),
                (r"^gpt-5(-|$)", {"reasoning": _effort(off="minimal")}),
                (r"^o\d", {"reasoning": _effort(off="low")}),
            ),
        ),
        Provider(
            "anthropic",
            "https://api.anthropic.com/v1",
            "ANTHROPIC",
            hosts=("api.anthropic.com",),
            echo=False,
            think_tags=False,
            schema="anthropic",
            images=True,
            prompt_cache={"cache_control": {"type": "ephemeral"}},
            reasoning=_CLAUDE,
            binds_reasoning=True,
            rules=(
                (r"fable|mythos", {"reasoning": {**_CLAUDE, "off": _CLAUDE_LEAST}}),
                (_CLAUDE_WITH_BUDGET, {**_CLAUDE_BUDGET, "binds_reasoning": False}),
            ),
        ),
        Provider(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI",
            hosts=("generativelanguage.googleapis.com",),
            echo=False,
            think_tags=False,
            schema="gemini",
            foreign_call=_GEMINI_FOREIGN,
            reasoning=_effort(off="low"),
            rules=(
                (r"^gemini", _SEES),
                (r"gemini-2\.5", {"budget": _GEMINI_BUDGET, "foreign_call": {}}),
                (r"gemini-2\.5-(?!pro)", {"reasoning": _effort()}),
            ),
        ),
        Provider(
            "deepseek",
            "https://api.deepseek.com/v1",
            "DEEPSEEK",
            hosts=("api.deepseek.com",),
            reasoning=_DEEPSEEK,
            backfill=("reasoning_content", ""),
            backfill_all=True,
            schema="json_object",
        ),
        Provider(
            "kimi",
            "https://api.moonshot.ai/v1",
            "MOONSHOT",
            hosts=("moonshot.ai", "moonshot.cn"),
            reasoning=_switch("thinking", _THINKING["disabled"], _THINKING["enabled"]),
            empty_content=None,
            rules=(
                (r"vision", _SEES),
                (r"k2\.[5-9]|k[3-9]|thinking", {"backfill": ("reasoning_content", "(none)")}),
                (r"k[3-9]", {"reasoning": _effort(off="low", medium="high")}),
            ),
        ),
        Provider(
            "mistral",
            "https://api.mistral.ai/v1",
            "MISTRAL",
            hosts=("api.mistral.ai",),
            stream_options=False,
            reasoning=_effort(low="high", medium="high"),
            ids=re.compile(r"[a-zA-Z0-9]{9}"),
            user_after_tool=False,
            choice_none=False,
            documents="document_url",
            schema="openai",
            rules=((r"^(pixtral|mistral-medium)", _SEES),),
        ),
        Provider(
            "openrouter",
            "https://openrouter.ai/api/v1",
            "OPENROUTER",
            hosts=("openrouter.ai",),
            reasoning=_OPENROUTER,
            budget={"reasoning": {"max_tokens": BUDGET}},
            documents="file",
            schema="openai",
            rules=(
                (rf"^openai/({_OPENAI_SEES})|^anthropic/claude|^google/gemini", _SEES),
                *_OPEN_SEES,
            ),
        ),
        Provider(
            "groq",
            "https://api.groq.com/openai/v1",
            "GROQ",
            hosts=("api.groq.com",),
            reasoning=_effort(off="low"),
            echo=False,
            schema="openai",
            rules=(
                (r"qwen", {"reasoning": _effort("none", "default", "default", "default")}),
                (r"llama-4", _SEES),
            ),
        ),
        Provider(
            "xai",
            "https://api.x.ai/v1",
            "XAI",
            hosts=("api.x.ai",),
            reasoning=_effort(off="none"),
            echo=False,
            schema="openai",
            rules=((r"^grok-4|vision", _SEES),),
        ),
        Provider(
            "minimax",
            "https://api.minimax.io/v1",
            "MINIMAX",
            hosts=("api.minimax.io", "api.minimaxi.com"),
            reasoning={},
            schema="json_object",
        ),
        Provider(
            "dashscope",
            "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
            "DASHSCOPE",
            hosts=("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"),
            reasoning=_switch("enable_thinking", off=False, on=True),
            budget={"enable_thinking": True, "thinking_budget": BUDGET},
            schema="json_object",
            rules=_OPEN_SEES,
        ),
        Provider(
            "ollama", "http://localhost:11434/v1", "OLLAMA", needs_key=False, rules=_OPEN_SEES
        ),
        Provider(
            "vllm",
            "http://localhost:8000/v1",
            "VLLM",
            needs_key=False,
            reasoning=_switch(
                "chat_template_kwargs", {"enable_thinking": False}, {"enable_thinking": True}
            ),
            budget={"thinking_token_budget": BUDGET},
            rules=_OPEN_SEES,
        ),
        Provider(
            "lmstudio", "http://localhost:1234/v1", "LMSTUDIO", needs_key=False, rules=_OPEN_SEES
        ),
    )
}
