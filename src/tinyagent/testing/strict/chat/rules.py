"""The differences between providers of chat completions, as a table.

`docs/testing.md` lists what each one accepts because its refusal is not documented.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tinyagent.testing.strict.schemas import GEMINI, KIMI, OPENAI, Subset
from tinyagent.testing.strict.session import words

Errors = Literal["openai", "array", "mistral", "openrouter"]

_OPENAI = words(
    "messages model audio frequency_penalty function_call functions logit_bias logprobs "
    "max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls "
    "prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning_effort response_format safety_identifier seed service_tier stop store stream "
    "stream_options temperature tool_choice tools top_logprobs top_p user verbosity "
    "web_search_options"
)
_MISTRAL = words(
    "model messages temperature top_p max_tokens stream stop random_seed metadata "
    "response_format tools tool_choice presence_penalty frequency_penalty min_tokens "
    "repetition_penalty top_k logprobs top_logprobs prompt_logprobs top_prompt_logprobs n "
    "prediction parallel_tool_calls reasoning_effort prompt_mode guardrails prompt_cache_key "
    "service_tier safe_prompt"
)
_INPUT = frozenset({"role", "content", "name"})
_OPENAI_MESSAGES = {
    "system": _INPUT,
    "developer": _INPUT,
    "user": _INPUT,
    "assistant": words("role content name refusal tool_calls function_call audio"),
    "tool": words("role content tool_call_id"),
}
KEYS = {
    "openai": {"": _OPENAI, **_OPENAI_MESSAGES},
    "groq": {**_OPENAI_MESSAGES, "assistant": words("role content name reasoning tool_calls")},
    "mistral": {
        "": _MISTRAL,
        "system": words("role content"),
        "user": words("role content"),
        "assistant": words("role content tool_calls prefix"),
        "tool": words("role content tool_call_id name"),
    },
}
"""The keys of a request under "", and of its messages by their role."""


@dataclass(frozen=True, slots=True)
class ChatRules:
    """A provider of chat completions.

    Attributes:
        name: The provider's name.
        base: The path of the base URL.
        errors: The form of an error's body.
        keyed: An API key is required.
        reasoning: Where a reply holds reasoning.
        echo: The check of reasoning that comes back.
        call_id: The prefix of the server's call ids, and the number of characters after it.
        ids: Each tool message needs the id of a call.
        after_tool: A user message may follow a tool message.
        media: Types of content that a user message may have in addition to text.
        tool_media: A tool message may have them too.
        urls: An image may be an http URL.
        image_limit: The largest image, in bytes.
        json_schema: `response_format` accepts a schema.
        forced: `tool_choice` may be "required".
        efforts: Patterns of models, and the values that `reasoning_effort` may have for the first
            that matches; none if they do not support it. Other models accept any.
        subset: The subset of JSON Schema for strict schemas.
        schemas: The subset of JSON Schema for all schemas.
        reasoning_apart: `completion_tokens` does not include the reasoning.
        cached: The key of cached tokens in `usage`, in addition to `prompt_tokens_details`.
        usage: When a stream reports usage: if asked for, or always in the last chunk.
        whole_calls: A stream sends each call in one piece.
        indexed: A streamed call has an index.
        comments: Comment lines in a stream.
    """

    name: str
    base: str = "/v1"
    errors: Errors = "openai"
    keyed: bool = True
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
    efforts: tuple[tuple[str, str], ...] = ()
    subset: Subset | None = None
    schemas: Subset | None = None
    reasoning_apart: bool = False
    cached: str = ""
    usage: Literal["asked", "last"] = "asked"
    whole_calls: bool = False
    indexed: bool = True
    comments: tuple[str, ...] = ()


CHAT: dict[str, ChatRules] = {
    "openai": ChatRules(
        "openai",
        reasoning="",
        echo="",
        media=frozenset({"image_url", "file", "input_audio"}),
        image_limit=50 << 20,
        subset=OPENAI,
    ),
    "deepseek": ChatRules(
        "deepseek",
        base="",
        echo="deepseek",
        json_schema=False,
        cached="prompt_cache_hit_tokens",
        usage="last",
        comments=("keep-alive",),
    ),
    "kimi": ChatRules(
        "kimi",
        echo="kimi",
        forced=False,
        efforts=(
            (r"k[3-9]", "low medium high xhigh max"),
            (r"", "minimal low medium high xhigh max"),
        ),
        schemas=KIMI,
        usage="last",
        cached="cached_tokens",
    ),
    "gemini": ChatRules(
        "gemini",
        base="/v1beta/openai",
        errors="array",
        reasoning="signature",
        echo="gemini",
        efforts=(
            (r"gemini-2\.5-(?!pro)", "none minimal low medium high"),
            (r"gemini-(2\.5-pro|[3-9])", "minimal low medium high xhigh"),
        ),
        schemas=GEMINI,
        usage="last",
        whole_calls=True,
        indexed=False,
    ),
    "mistral": ChatRules(
        "mistral",
        errors="mistral",
        reasoning="part",
        call_id=("", 9),
        after_tool=False,
        media=frozenset({"image_url", "document_url", "file", "input_audio", "thinking"}),
        tool_media=True,
        efforts=((r"", "none high"),),
        cached="num_cached_tokens",
        usage="last",
        whole_calls=True,
    ),
    "openrouter": ChatRules(
        "openrouter",
        base="/api/v1",
        errors="openrouter",
        reasoning="details",
        echo="openrouter",
        media=frozenset({"image_url", "file", "input_audio"}),
        usage="last",
        comments=("OPENROUTER PROCESSING",),
    ),
    "xai": ChatRules(
        "xai",
        echo="",
        efforts=(
            (r"grok-3-mini", "low high"),
            (r"grok-(4\.3|latest)", "none low medium high"),
            (r"grok-(2|3|4(-(?!latest)|$|\.1)|code)", ""),
        ),
        reasoning_apart=True,
        whole_calls=True,
    ),
    "minimax": ChatRules("minimax", reasoning="think", json_schema=False),
    "dashscope": ChatRules(
        "dashscope",
        base="/compatible-mode/v1",
        echo="",
        json_schema=False,
    ),
    "vllm": ChatRules("vllm", keyed=False, reasoning="reasoning"),
    "lmstudio": ChatRules("lmstudio", keyed=False, reasoning="reasoning", echo=""),
    "llamacpp": ChatRules("llamacpp", keyed=False),
    "compatible": ChatRules("compatible", keyed=False),
    "ollama": ChatRules(
        "ollama",
        keyed=False,
        reasoning="reasoning",
        ids=False,
        urls=False,
        efforts=((r"", "none low medium high max"),),
    ),
    "groq": ChatRules(
        "groq",
        base="/openai/v1",
        reasoning="reasoning",
        echo="",
        image_limit=4 << 20,
        efforts=(
            (r"gpt-oss", "low medium high"),
            (r"qwen", "none default"),
            (r"llama|kimi|gemma|mixtral", ""),
        ),
    ),
}
"""The providers by name."""
