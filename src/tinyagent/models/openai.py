"""OpenAIModel and OpenAIResponsesModel: servers that speak chat completions or Responses."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, Literal

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.types import ReasoningWish
from tinyagent.models.endpoint import HttpEndpoint
from tinyagent.models.provider import Provider
from tinyagent.models.providers import PROVIDERS, find_provider, provider_named
from tinyagent.models.remote import ModelEndpoint, RemoteModel, Wire
from tinyagent.models.wire import chat_request, responses_request
from tinyagent.models.wire.chat_reply import ChatReply
from tinyagent.models.wire.responses_reply import ResponsesReply
from tinyagent.options import checks_options, require_least

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = PROVIDERS["openai"].base_url
Api = Literal["chat", "responses"]
_OPENAI_PREFIXES = {"ft"}
_PATHS: dict[Api, str] = {"chat": "chat/completions", "responses": "responses"}


@checks_options()
class OpenAIModel(RemoteModel):
    """A model behind a chat completions server: OpenAI, Ollama, vLLM, llama.cpp, OpenRouter.

    Args:
        name: The model's name as the server knows it.
        base_url: Where the server is; default `OPENAI_BASE_URL`, then OpenAI's own.
        api_key: Default `OPENAI_API_KEY`. Servers other than OpenAI's may need none.
        timeout: Seconds without a byte from the server after which a request fails; default 120,
            or 600 over the Responses API.
        retries: How often a request is repeated after a failure that may pass (429, 5xx, a
            broken connection, a timeout), with growing waits or as `Retry-After` says.
        client: Your own `AsyncOpenAI` (or `AsyncAzureOpenAI`) client, used in place of
            `base_url`, `api_key` and `timeout`.
        provider: The name of the provider whose quirks the server has, such as `"deepseek"`;
            by default the address decides.
        reasoning: How much to reason if a request does not say: `"off"`, `"low"`, `"medium"`,
            `"high"`, or an approximate number of tokens. A model takes of it what it can.
        show_reasoning: Asks for a summary of reasoning that the provider otherwise hides. OpenAI
            shows one over Responses only, to verified organizations.

    Raises:
        ConfigurationError: A required key is missing, the address is not valid, or there is no
            provider of that name.
    """

    wire = Wire(chat_request.encode_request, ChatReply)
    _api: ClassVar[Api] = "chat"
    _timeout_seconds: ClassVar[float] = 120.0

    def __init__(  # noqa: PLR0913 - all but the name have defaults
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
        retries: int = 2,
        client: AsyncOpenAI | None = None,
        provider: str | None = None,
        reasoning: ReasoningWish | None = None,
        show_reasoning: bool = False,
    ) -> None:
        require_least(0, timeout=timeout)
        profile = None if provider is None else provider_named(provider)
        endpoint: ModelEndpoint
        if client is None:
            seconds = self._timeout_seconds if timeout is None else timeout
            profile, endpoint = _connect(profile, base_url, api_key, seconds, _PATHS[self._api])
        else:
            from tinyagent.models.clients import openai_client  # noqa: PLC0415 - an extra

            endpoint = openai_client(client, self._api)
            profile = profile or find_provider(endpoint.where)
        can_show = self._api == "responses" or profile.for_model(name).api == "chat"
        profile = profile.for_model(name, show_reasoning=show_reasoning and can_show)
        super().__init__(name, profile, endpoint, retries=retries, reasoning=reasoning)


class OpenAIResponsesModel(OpenAIModel):
    """A model behind the Responses API, which OpenAI's reasoning models need to call tools.

    Nothing is stored at the server: each request holds the whole conversation, including the
    reasoning in encrypted form. Arguments and errors are those of `OpenAIModel`.
    """

    wire = Wire(responses_request.encode_request, ResponsesReply)
    _api = "responses"
    _timeout_seconds = 600.0


def openai_model(name: str) -> OpenAIModel:
    """A model at `OPENAI_BASE_URL`, over Responses if it is OpenAI's own and the model needs it."""
    profile = find_provider(os.environ.get("OPENAI_BASE_URL") or OPENAI_URL)
    needs_responses = profile.name == "openai" and profile.for_model(name).api == "responses"
    return OpenAIResponsesModel(name) if needs_responses else OpenAIModel(name)


def bare_model(name: str) -> OpenAIModel:
    """A model by a name without a provider, at `OPENAI_BASE_URL`.

    Other servers' names contain colons, such as Ollama's `llama3.2:1b`; OpenAI's do not, except
    those of fine-tuned models.

    Raises:
        ConfigurationError: The address is OpenAI's own, which has no model of such a name; or the
            key is missing.
    """
    if find_provider(os.environ.get("OPENAI_BASE_URL") or OPENAI_URL).name == "openai":
        prefix, colon, _ = name.partition(":")
        if not colon and name.lower() in PROVIDERS:
            raise ConfigurationError(
                f"{name!r} is a provider without a model; write {name.lower()}:NAME"
            )
        if colon and prefix not in _OPENAI_PREFIXES:
            from difflib import get_close_matches  # noqa: PLC0415 - only for this error

            near = get_close_matches(prefix.lower(), PROVIDERS, n=1)
            hint = f"; did you mean {near[0]}:?" if near else ""
            raise ConfigurationError(
                f"there is no provider {prefix!r} for the model {name!r}{hint} Write one of:"
                f" {', '.join(PROVIDERS)}; or set OPENAI_BASE_URL to the server that has the model"
            )
    return openai_model(name)


def _connect(
    profile: Provider | None, base_url: str | None, api_key: str | None, timeout: float, path: str
) -> tuple[Provider, HttpEndpoint]:
    """The provider at an address, and the endpoint there."""
    by_address = profile is None
    if profile is None:
        url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        profile = find_provider(url)
    else:
        url = base_url or os.environ.get(f"{profile.variables}_BASE_URL") or profile.base_url
    variables = profile.variables
    key = api_key or os.environ.get(f"{variables}_API_KEY")
    if not key and by_address and profile.name != "openai":
        # OpenAI's variables may configure a server that is only recognized by its address.
        variables = "OPENAI"
        key = os.environ.get("OPENAI_API_KEY")
    elif profile.needs_key and not (key and key.strip()) and url.rstrip("/") == profile.base_url:
        raise ConfigurationError(
            f"no API key: set {variables}_API_KEY, or set {variables}_BASE_URL to a server that"
            " needs none"
        )
    return profile, HttpEndpoint(url, key, timeout, variables=variables, path=path)
