"""The model that the settings name."""

from __future__ import annotations

import os
from typing import Protocol

from skillian.offline.planner import OfflinePlanner
from skillian.offline.vocabulary import Vocabulary
from tinyagent import AnthropicModel, ConfigurationError, Model, OpenAIModel

_OLLAMA_PORT = {"": 11434, "http": 80, "https": 443}
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - read, not bound


class LLMProvider(Protocol):
    """Creates a model of one provider by its name there."""

    def __call__(self, name: str) -> Model:
        """Return the model; raises `tinyagent.ConfigurationError` with the variable to set."""
        ...


def make_model(name: str | None, vocabulary: Vocabulary) -> Model:
    """Return the model that the setting names; without one, the offline planner.

    Args:
        name: `openai:NAME`, `anthropic:NAME`, `ollama:NAME`, or a bare name, which is served by
            `OPENAI_BASE_URL`.
        vocabulary: the names that questions to the planner can use.

    Raises:
        tinyagent.ConfigurationError: a key or package is missing, or an address is invalid.
    """
    if name is None or not name.strip():
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


def ollama_url(host: str) -> str:
    """Return the address of Ollama's chat completions, reading `OLLAMA_HOST` as Ollama does.

    Args:
        host: `host`, `host:port` or a URL; empty means port 11434 of this machine.
    """
    scheme, _, rest = host.strip().strip("\"'").rpartition("://")
    address, _, path = rest.partition("/")
    name, port = _split(address)
    name = _ANYWHERE.get(name, name)
    shown = f"[{name}]" if ":" in name else name
    folder = f"/{path.strip('/')}" if path.strip("/") else ""
    return f"{scheme or 'http'}://{shown}:{port or _OLLAMA_PORT.get(scheme, 11434)}{folder}/v1"


def _split(address: str) -> tuple[str, str]:
    """Return host and port of `host:port`, `[::1]:port`, `::1` or `:port`."""
    if address.startswith("["):
        name, _, port = address[1:].partition("]")
        return name, port.removeprefix(":")
    if address.count(":") > 1:
        return address, ""
    name, _, port = address.partition(":")
    return name, port


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


PROVIDERS: dict[str, LLMProvider] = {
    "openai": OpenAIModel,
    "anthropic": AnthropicModel,
    "ollama": _ollama,
}
"""Providers by the prefix of a model's name."""
