"""What chat completions providers do differently, as a table: a row each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from tinyagent.testing.strict.schemas import OPENAI, Subset
from tinyagent.testing.strict.session import words

Errors = Literal["openai", "array", "mistral", "openrouter"]

_BODY = words(
    "messages model audio frequency_penalty function_call functions logit_bias logprobs "
    "max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls "
    "prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning_effort response_format safety_identifier seed service_tier stop store stream "
    "stream_options temperature tool_choice tools top_logprobs top_p user verbosity "
    "web_search_options"
)
_MISTRAL_BODY = words(
    "model messages temperature top_p max_tokens stream stop random_seed metadata "
    "response_format tools tool_choice presence_penalty frequency_penalty min_tokens "
    "repetition_penalty top_k logprobs top_logprobs prompt_logprobs top_prompt_logprobs n "
    "prediction parallel_tool_calls reasoning_effort prompt_mode guardrails prompt_cache_key "
    "service_tier safe_prompt"
)
_MESSAGE = {
    "system": frozenset({"role", "content", "name"}),
    "developer": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": words("role content name refusal tool_calls function_call audio"),
    "tool": frozenset({"role", "content", "tool_call_id"}),
}
_GROQ_MESSAGE = {**_MESSAGE, "assistant": words("role content name reasoning tool_calls")}
_MISTRAL_MESSAGE = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls", "prefix"}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
}


@dataclass(frozen=True, slots=True)
class ChatRules:
    """A provider of chat completions.

    Attributes:
        base: the path of the base URL.
        errors: the form of an error's body.
        keyed: an API key is needed.
        body: the keys of a request; None means that others are ignored.
        message: the keys of a message by its role; None means that others are ignored.
        reasoning: where thoughts stand in a reply.
        echo: which check a turn's thoughts get when they come back.
        call_id: what an id looks like, and how many characters the server's own ones have.
        ids: each tool message needs the id of a call.
        after_tool: a user's message may follow a tool message.
        media: forms of content that a user's message may have beside text.
        tool_media: a tool message may have them too.
        urls: images may be given by an http URL.
        image_limit: bytes of an image.
        json_schema: `response_format` takes a schema.
        forced: `tool_choice` may be "required".
        subset: what strict schemas may hold.
        reasoning_apart: `completion_tokens` does not count the thoughts.
        cached: the key of cached tokens in `usage`, beside `prompt_tokens_details`.
        usage: when a stream says its usage: asked for, or always in the last chunk.
        whole_calls: a stream brings each call in one piece.
        indexed: a streamed call has an index.
        comments: comment lines in a stream.
        lenient: what is not documented well enough to refuse, and is accepted.
    """

    base: str = "/v1"
    errors: Errors = "openai"
    keyed: bool = True
    body: frozenset[str] | None = None
    message: dict[str, frozenset[str]] | None = None
    reasoning: str = "reasoning_content"
    echo: str = "loss"
    call_id: tuple[str, int] = ("call_", 24)
    ids: bool = True
    after_tool: bool = True
    media: frozenset[str] = frozenset({"image_url"})
    tool_media: bool = False
    urls: bool = True
    image_limit: int = 20 << 20
    json_schema: bool = True
    forced: bool = True
    subset: Subset | None = None
    reasoning_apart: bool = False
    cached: str = ""
    usage: Literal["asked", "last"] = "asked"
    whole_calls: bool = False
    indexed: bool = True
    comments: tuple[str, ...] = ()
    lenient: str = ""


CHAT: dict[str, ChatRules] = {
    "openai": ChatRules(
        body=_BODY,
        message=_MESSAGE,
        reasoning="",
        echo="",
        media=frozenset({"image_url", "file", "input_audio"}),
        image_limit=50 << 20,
        subset=OPENAI,
        lenient="length of ids and of descriptions; schema size; a minimum for the prompt cache",
    ),
    "deepseek": ChatRules(
        base="",
        echo="deepseek",
        json_schema=False,
        cached="prompt_cache_hit_tokens",
        usage="last",
        comments=("keep-alive",),
        lenient="unknown keys; a null reasoning_content",
    ),
    "kimi": ChatRules(
        echo="kimi",
        forced=False,
        usage="last",
        cached="cached_tokens",
        lenient="unknown keys; tuple items and a type beside anyOf in schemas",
    ),
    "gemini": ChatRules(
        base="/v1beta/openai",
        errors="array",
        reasoning="signature",
        echo="gemini",
        tool_media=True,
        usage="last",
        whole_calls=True,
        indexed=False,
        lenient="unknown keys; images in tool results; $ref and additionalProperties",
    ),
    "mistral": ChatRules(
        errors="mistral",
        body=_MISTRAL_BODY,
        message=_MISTRAL_MESSAGE,
        reasoning="part",
        call_id=("", 9),
        after_tool=False,
        media=frozenset({"image_url", "document_url", "file", "input_audio", "thinking"}),
        tool_media=True,
        cached="num_cached_tokens",
        usage="last",
        whole_calls=True,
        lenient="tool names; the strict subset of schemas; two messages of one role in a row",
    ),
    "openrouter": ChatRules(
        base="/api/v1",
        errors="openrouter",
        reasoning="details",
        echo="openrouter",
        media=frozenset({"image_url", "file", "input_audio"}),
        usage="last",
        comments=("OPENROUTER PROCESSING",),
        lenient="unknown keys; missing details where the upstream provider only loses them",
    ),
    "xai": ChatRules(
        echo="",
        reasoning_apart=True,
        whole_calls=True,
        lenient="unknown keys; reasoning that comes back",
    ),
    "minimax": ChatRules(reasoning="think", lenient="reasoning that does not come back"),
    "vllm": ChatRules(keyed=False, reasoning="reasoning", lenient="unknown keys"),
    "ollama": ChatRules(
        keyed=False,
        reasoning="reasoning",
        ids=False,
        urls=False,
        lenient="reasoning that comes back or does not",
    ),
    "groq": ChatRules(
        base="/openai/v1",
        message=_GROQ_MESSAGE,
        reasoning="reasoning",
        echo="",
        image_limit=4 << 20,
        lenient="unknown keys of the body; reasoning that comes back or does not",
    ),
}
"""The providers by name."""


@dataclass(frozen=True, slots=True)
class OpenAIModelRules:
    """What a model of OpenAI does with reasoning; `efforts` empty means that it has none."""

    pattern: str
    efforts: tuple[str, ...] = ()
    thinks: bool = False
    tools: Literal["always", "without effort", "effort none"] = "always"

    def reasons(self, effort: str | None) -> bool:
        """Whether reasoning is on for a request with this effort."""
        return bool(self.efforts) and (self.thinks if effort is None else effort != "none")


_EFFORTS = ("none", "low", "medium", "high", "xhigh")
_MODELS = (
    OpenAIModelRules(r"o\d.*", ("low", "medium", "high"), thinks=True),
    OpenAIModelRules(r"gpt-5.*-pro.*", ("low", "medium", "high", "xhigh"), thinks=True),
    OpenAIModelRules(r"gpt-5\.6.*", (*_EFFORTS, "max"), thinks=True, tools="effort none"),
    OpenAIModelRules(r"gpt-5\.5.*", _EFFORTS, thinks=True, tools="effort none"),
    OpenAIModelRules(r"gpt-5\.[1-4].*-chat.*", _EFFORTS, thinks=True),
    OpenAIModelRules(r"gpt-5\.4.*", _EFFORTS, tools="without effort"),
    OpenAIModelRules(r"gpt-5\.[1-3].*", _EFFORTS),
    OpenAIModelRules(r"gpt-5.*", ("minimal", "low", "medium", "high"), thinks=True),
    OpenAIModelRules(r".*"),
)


def openai_model(name: str) -> OpenAIModelRules:
    """The rules of a model by its name."""
    return next(rules for rules in _MODELS if re.fullmatch(rules.pattern, name))
