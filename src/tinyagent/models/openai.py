"""OpenAIModel: any server that speaks chat completions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

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
        if client is None:
            known, endpoint = connect(name, base_url, api_key, provider, timeout=timeout)
        else:
            known, endpoint = connect_client(name, client, provider)
        self._provider = known
        self.provider = known.name
        self.sees_images = known.images
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


def connect(
    name: str,
    base_url: str | None,
    api_key: str | None,
    provider: str | None,
    *,
    timeout: float,
    path: str = "chat/completions",
) -> tuple[Provider, Endpoint]:
    """The provider of a model, as it is for this one, and the way to it.

    Raises:
        ConfigurationError: as the models say.
    """
    _check_name(name)
    if provider is None:
        url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        known = find_provider(url)
    else:
        known = named(provider)
        url = base_url or os.environ.get(f"{known.variables}_BASE_URL") or known.base_url
    variables = known.variables
    key = api_key or os.environ.get(f"{variables}_API_KEY")
    if not key and provider is None and known.name != "openai":
        # A server that is only known by its address may have been given OpenAI's variables.
        variables = "OPENAI"
        key = os.environ.get("OPENAI_API_KEY")
    elif known.needs_key and not (key and key.strip()) and url.rstrip("/") == known.base_url:
        raise ConfigurationError(
            f"no API key: set {variables}_API_KEY, or set {variables}_BASE_URL to a server that"
            " needs none"
        )
    endpoint = HttpEndpoint(url, key, timeout, variables=variables, path=path)
    return known.for_model(name), endpoint


def connect_client(
    name: str,
    client: AsyncOpenAI,
    provider: str | None,
    api: Literal["chat", "responses"] = "chat",
) -> tuple[Provider, Endpoint]:
    """The provider of a model, as it is for this one, and the caller's own client as the way."""
    from tinyagent.models.openai_client import ClientEndpoint  # noqa: PLC0415 - an extra

    _check_name(name)
    endpoint = ClientEndpoint(client, api)
    known = find_provider(endpoint.where) if provider is None else named(provider)
    return known.for_model(name), endpoint


def named(name: str) -> Provider:
    """The provider of a name; raises ConfigurationError where there is none."""
    if name not in PROVIDERS:
        raise ConfigurationError(f"provider {name!r} is none of: {', '.join(PROVIDERS)}")
    return PROVIDERS[name]


def _check_name(name: str) -> None:
    if not name.strip():
        raise ConfigurationError("the model's name is empty; give one such as 'gpt-4.1'")
