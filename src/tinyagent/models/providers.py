"""The differences between providers, as data.

To add a provider, add an entry to `PROVIDERS`; a difference of some of its models is one of its
`rules`, of which later ones win. A server that is not recognized is `LENIENT`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from tinyagent.core.errors import ConfigurationError
from tinyagent.models.provider import BUDGET, LOW, MEDIUM, Level, Provider, effort, switch


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


_SEES = {"images": True}
_OPEN_SEES = ((r"(?i)vision|llava|pixtral|\dvl|-vl", _SEES),)
_OPENAI_SEES = r"gpt-(4o|4\.1|5)(?!.*(audio|realtime|search|transcribe|tts))|o[134](?!-mini)|o4"
LENIENT = Provider("compatible", needs_key=False, documents="file", rules=_OPEN_SEES)

_OPENAI_THINKS: dict[str, Any] = {
    "temperature": "reasoning_off",
    "api": "responses",
    "reasoning": effort(off="low"),
    "shown": {"extra": {"reasoning": {"summary": "auto"}}},
}
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
_MANDATORY = r"""(?x) ^openai/(o\d|gpt-oss|gpt-5(-(?!chat)|$)|.*-pro) | ^minimax/ | -thinking
    | ^google/gemini-(3|2\.5-pro) | deepseek-r1 | fable | mythos"""
_CLAUDE_LEAST = {"output_config": {"effort": "low"}}
_ADAPTIVE = {"type": "adaptive"}
_SUMMARIZED = {"display": "summarized"}
_CACHED = {"cache_control": {"type": "ephemeral"}}
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
        "low": {"thinking": {"type": "enabled", "budget_tokens": LOW}},
        "medium": {"thinking": {"type": "enabled", "budget_tokens": MEDIUM}},
        "high": {"thinking": {"type": "enabled", "budget_tokens": 12_288}},
    },
    "budget": {"thinking": {"type": "enabled", "budget_tokens": BUDGET}},
    "budgets": (1_024, 64_000),
    "shown": {},
}


def _gemini(**config: Any) -> dict[str, Any]:
    """Gemini's own settings for thinking, which exclude `reasoning_effort`."""
    return {"extra_body": {"google": {"thinking_config": config}}}


_GEMINI_SHOWN = {"think_tag": "<thought>", "extra": _gemini(include_thoughts=True)}
_GEMINI_2: dict[str, Any] = {
    "budget": _gemini(thinking_budget=BUDGET),
    "budgets": (512, 24_576),
    "foreign_call": {},
    "shown": {
        **_GEMINI_SHOWN,
        "reasoning": {
            "off": _gemini(thinking_budget=0),
            "low": _gemini(thinking_budget=LOW),
            "medium": _gemini(thinking_budget=MEDIUM),
            "high": _gemini(thinking_budget=24_576),
        },
    },
}
_GEMINI_2_PRO: dict[str, Any] = {  # it always thinks
    "reasoning": effort(off="low"),
    "budgets": (128, 32_768),
    "shown": {
        **_GEMINI_2["shown"],
        "reasoning": {**_GEMINI_2["shown"]["reasoning"], "off": _gemini(thinking_budget=128)},
    },
}
_GEMINI_3_SHOWN: dict[str, Any] = {
    **_GEMINI_SHOWN,
    "reasoning": {
        "off": _gemini(thinking_level="low"),
        "low": _gemini(thinking_level="low"),
        "medium": _gemini(thinking_level="high"),  # some have no medium
        "high": _gemini(thinking_level="high"),
    },
}
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
            think_tag="",
            documents="file",
            schema="openai",
            cache_key=True,
            reasoning={},
            rules=(
                (rf"^({_OPENAI_SEES})", _SEES),
                (r"^(o\d|gpt-[5-9])(?!-chat)", _OPENAI_THINKS),
                (r"^gpt-5(-mini|-nano|-\d|$)", {"reasoning": effort(off="minimal")}),
                (r"^gpt-5\.[1-9](?!\d)", {"reasoning": effort()}),
                (r"^gpt-5\.[1-4](?!\d)", {"temperature": "unless_reasoning"}),
                (r"^gpt-5\.1-codex", _OPENAI_THINKS),
                (r"^gpt-5\.\d+-pro", {**_OPENAI_THINKS, "reasoning": effort("medium", "medium")}),
                (r"^gpt-5-pro", {"reasoning": effort("high", "high", "high")}),
                (r"^gpt-5\.\d+-chat|-deep-research", {**_OPENAI_THINKS, "reasoning": {}}),
            ),
        ),
        Provider(
            "anthropic",
            "https://api.anthropic.com/v1",
            "ANTHROPIC",
            hosts=("api.anthropic.com",),
            echo=False,
            think_tag="",
            schema="anthropic",
            images=True,
            prompt_cache=_CACHED,
            temperature="never",
            reasoning=_CLAUDE,
            shown={"extra": {"thinking": _SUMMARIZED}},
            binds_reasoning=True,
            rules=(
                (
                    r"sonnet-5|fable|mythos",  # they think unasked
                    {"shown": {"extra": {"thinking": {**_ADAPTIVE, **_SUMMARIZED}}}},
                ),
                (
                    r"(opus|sonnet)-5-5|fable|mythos",
                    {"reasoning": {**_CLAUDE, "off": _CLAUDE_LEAST}},
                ),
                (_CLAUDE_WITH_BUDGET, {**_CLAUDE_BUDGET, "binds_reasoning": False}),
            ),
        ),
        Provider(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI",
            hosts=("generativelanguage.googleapis.com",),
            echo=False,
            think_tag="",
            schema="plain",
            foreign_call=_GEMINI_FOREIGN,
            reasoning=effort(off="low"),
            shown=_GEMINI_3_SHOWN,
            rules=(
                (r"^gemini", _SEES),
                (r"gemini-2\.5", {**_GEMINI_2, "reasoning": effort()}),
                (r"gemini-2\.5-pro", _GEMINI_2_PRO),
                (r"gemini-(1|2\.0)|gemma", {"reasoning": {}, "shown": {}, "foreign_call": {}}),
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
            reasoning={},
            empty_content=None,
            schema="plain",
            cache_key=True,
            rules=(
                (r"vision", _SEES),
                (
                    r"k2\.[5-9]|k[3-9]|thinking|for-coding",
                    {"backfill": ("reasoning_content", "(none)"), "temperature": "never"},
                ),
                (
                    r"k2\.[5-9]",
                    {"reasoning": switch("thinking", _THINKING["disabled"], _THINKING["enabled"])},
                ),
                (r"k2\.[7-9]", {"reasoning": {}}),  # they always think
                (r"k[3-9]", {"reasoning": effort(off="low", medium="high")}),
            ),
        ),
        Provider(
            "mistral",
            "https://api.mistral.ai/v1",
            "MISTRAL",
            hosts=("api.mistral.ai",),
            stream_options=False,
            reasoning=effort(low="high", medium="high"),
            ids=re.compile(r"[a-zA-Z0-9]{9}"),
            user_after_tool=False,
            choice_none=False,
            documents="document_url",
            schema="openai",
            cache_key=True,
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
                (r"^anthropic/claude", {"prompt_cache": _CACHED}),
                (_MANDATORY, {"reasoning": {**_OPENROUTER, "off": _OPENROUTER["low"]}}),
            ),
        ),
        Provider(
            "groq",
            "https://api.groq.com/openai/v1",
            "GROQ",
            hosts=("api.groq.com",),
            reasoning={},
            schema="openai",
            rules=(
                (r"gpt-oss", {"reasoning": effort(off="low")}),
                (r"qwen", {"reasoning": effort("none", "default", "default", "default")}),
                (r"llama-4", _SEES),
            ),
        ),
        Provider(
            "xai",
            "https://api.x.ai/v1",
            "XAI",
            hosts=("api.x.ai",),
            reasoning={},
            echo=False,
            schema="openai",
            cache_key=True,
            rules=(
                (r"^grok-4|vision", _SEES),
                (r"^grok-3-mini", {"reasoning": effort(off="low", medium="high")}),
                (r"^grok-(4\.[3-9]|[5-9]|latest)", {"reasoning": effort()}),
            ),
        ),
        Provider(
            "minimax",
            "https://api.minimax.io/v1",
            "MINIMAX",
            hosts=("api.minimax.io", "api.minimaxi.com"),
            reasoning={},
            temperatures=(0.01, 1.0),
            schema="json_object",
        ),
        Provider(
            "dashscope",
            "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
            "DASHSCOPE",
            hosts=("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"),
            reasoning=switch("enable_thinking", off=False, on=True),
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
            reasoning=switch(
                "chat_template_kwargs", {"enable_thinking": False}, {"enable_thinking": True}
            ),
            budget={"thinking_token_budget": BUDGET},
            rules=_OPEN_SEES,
        ),
        Provider(
            "lmstudio", "http://localhost:1234/v1", "LMSTUDIO", needs_key=False, rules=_OPEN_SEES
        ),
        Provider(
            "llamacpp",
            "http://localhost:8080/v1",
            "LLAMACPP",
            needs_key=False,
            reasoning=switch(
                "chat_template_kwargs", {"enable_thinking": False}, {"enable_thinking": True}
            ),
            rules=_OPEN_SEES,
        ),
    )
}
