"""The model that the settings name."""

from __future__ import annotations

import os
from typing import Protocol

from skillian.local_models import local_servers, ollama_url
from skillian.offline.planner import OfflinePlanner
from skillian.offline.vocabulary import Vocabulary
from tinyagent import AnthropicModel, ConfigurationError, Model, OpenAIModel

OFFLINE = "offline"
"""The setting for the offline planner; the same as no setting."""


class LLMProvider(Protocol):
    """Creates a model of one provider by its name there."""

    def __call__(self, name: str) -> Model:
        """Return the model; raises `tinyagent.ConfigurationError` with the variable to set."""
        ...


def make_model(name: str | None, vocabulary: Vocabulary) -> Model:
    """Return the model that the setting names; without one, the offline planner.

    Args:
        name: `openai:NAME`, `anthropic:NAME`, `ollama:NAME` (and the other servers of this
            machine), `offline`, or a bare name, which is served by `OPENAI_BASE_URL`.
        vocabulary: the names that questions to the planner can use.

    Raises:
        tinyagent.ConfigurationError: a key or package is missing, or an address is invalid.
    """
    if name is None or name.strip().lower() in {"", OFFLINE}:
        return OfflinePlanner(vocabulary)
    prefix, colon, rest = name.strip().partition(":")
    provider = PROVIDERS.get(prefix.lower()) if colon else None
    if provider is None:  # a bare name may contain a colon: llama3.2:1b
        return OpenAIModel(name.strip())
    if not rest.strip():
        raise ConfigurationError(
            f"SKILLIAN_MODEL is {name.strip()!r}, a provider without a model;"
            f" write {prefix.lower()}:NAME"
        )
    return provider(rest.strip())


def _ollama(name: str) -> Model:
    # A separate key: OpenAI's must not be sent to another server.
    key = os.environ.get("OLLAMA_API_KEY") or "ollama"
    url = ollama_url(os.environ.get("OLLAMA_HOST", ""))
    try:
        return OpenAIModel(name, base_url=url, api_key=key)
    except ConfigurationError:
        raise ConfigurationError(
            "OLLAMA_HOST or OLLAMA_API_KEY cannot be used; OLLAMA_HOST must look like host:port or"
            " https://host, the key is sent in a header"
        ) from None


def _local(prefix: str) -> LLMProvider:
    """Return a provider whose server on this machine needs no key."""

    def make(name: str) -> Model:
        server = next(each for each in local_servers() if each.prefix == prefix)
        return OpenAIModel(name, base_url=server.base_url, api_key="none")

    return make


PROVIDERS: dict[str, LLMProvider] = {
    "openai": OpenAIModel,
    "anthropic": AnthropicModel,
    "ollama": _ollama,
    **{prefix: _local(prefix) for prefix in ("lmstudio", "llamacpp", "vllm")},
}
"""Providers by the prefix of a model's name."""
