"""OpenAIModel: any server that speaks chat completions."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.types import ModelRequest, ModelResponse, ReasoningWish
from tinyagent.models.chat_completions import (
    StreamAssembler,
    decode_response,
    encode_request,
    is_whole_reply,
)
from tinyagent.models.endpoint import HttpEndpoint
from tinyagent.models.providers import PROVIDERS, Provider, find_provider
from tinyagent.models.remote import Endpoint, RemoteModel

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = PROVIDERS["openai"].base_url


class OpenAIModel(RemoteModel):
    """A model behind a chat completions server: OpenAI, Ollama, vLLM, llama.cpp, OpenRouter.

    Args:
        name: the model's name as the server knows it.
        base_url: where the server is; default `OPENAI_BASE_URL`, then OpenAI's own.
        api_key: default `OPENAI_API_KEY`. Servers other than OpenAI's may need none.
        timeout: seconds without a byte from the server before a request is given up.
        retries: how often a request is made again after a failure that may pass (429, 5xx, a
            broken connection, a time-out), with growing waits, or as `Retry-After` says.
        client: your own `AsyncOpenAI` (or `AsyncAzureOpenAI`) client, used in place of all of the
            above but `retries`.
        provider: the name of the provider whose quirks the server has, such as `"deepseek"`;
            by default it is known by the address.
        reasoning: how much to reason, where a request does not say: `"off"`, `"low"`, `"medium"`,
            `"high"`, or about how many tokens.

    Raises:
        ConfigurationError: no key where one is needed, an address that is none, or no provider of
            that name.
    """

    def __init__(  # noqa: PLR0913 - all but the name have defaults
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        retries: int = 2,
        client: AsyncOpenAI | None = None,
        provider: str | None = None,
        reasoning: ReasoningWish | None = None,
    ) -> None:
        if not name.strip():
            raise ConfigurationError("the model's name is empty; give one such as 'gpt-4.1'")
        endpoint: Endpoint
        if client is None:
            place = find_place(base_url, api_key, provider)
            known = place.provider
            endpoint = HttpEndpoint(place.url, place.key, timeout, variables=place.variables)
        else:
            endpoint = _client_endpoint(client)
            known = find_provider(endpoint.where) if provider is None else named(provider)
        self._provider = known.for_model(name)
        super().__init__(name, endpoint, retries, reasoning)

    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        """The body of `POST /chat/completions`."""
        return encode_request(self._name, request, stream=stream, provider=self._provider)

    def decode(self, data: Any, body: dict[str, Any]) -> ModelResponse:
        """Read a chat completion."""
        del body
        return decode_response(data, self._provider, self._name)

    def is_whole_reply(self, data: Any) -> bool:
        """Whether it is a chat completion rather than a chunk of one."""
        return is_whole_reply(data)

    def assembler(self, body: dict[str, Any]) -> StreamAssembler:
        """What puts chunks together."""
        del body
        return StreamAssembler(self._provider, self._name)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a model is served, by whom, and with which key."""

    provider: Provider
    url: str
    key: str | None = field(repr=False)
    variables: str


def find_place(base_url: str | None, api_key: str | None, name: str | None) -> Place:
    """Where a model is served: what is given, then what the environment says, then the default.

    Raises:
        ConfigurationError: no provider has that name, or it needs a key and there is none.
    """
    if name is None:
        url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        provider = find_provider(url)
        if provider.name != "openai":
            own = os.environ.get(f"{provider.variables}_API_KEY")
            key = api_key or own or os.environ.get("OPENAI_API_KEY")
            return Place(provider, url, key, provider.variables if own else "OPENAI")
    else:
        provider = named(name)
        url = base_url or os.environ.get(f"{provider.variables}_BASE_URL") or provider.base_url
    variables = provider.variables
    key = api_key or os.environ.get(f"{variables}_API_KEY")
    if provider.needs_key and not (key and key.strip()) and url.rstrip("/") == provider.base_url:
        raise ConfigurationError(
            f"no API key: set {variables}_API_KEY, or set {variables}_BASE_URL to a server that"
            " needs none"
        )
    return Place(provider, url, key, variables)


def named(name: str) -> Provider:
    """The provider of a name; raises ConfigurationError where there is none."""
    if name not in PROVIDERS:
        raise ConfigurationError(f"provider {name!r} is none of: {', '.join(PROVIDERS)}")
    return PROVIDERS[name]


def _client_endpoint(client: AsyncOpenAI) -> Endpoint:
    from tinyagent.models.openai_client import ClientEndpoint  # noqa: PLC0415 - an extra

    return ClientEndpoint(client)
