"""OpenAIModel: any server that speaks chat completions."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol

from tinyagent.core.errors import ConfigurationError, ModelConnectionError
from tinyagent.core.types import ModelDelta, ModelRequest, ModelResponse
from tinyagent.models.body import hiding
from tinyagent.models.chat_completions import (
    StreamAssembler,
    decode_response,
    encode_request,
    is_whole_reply,
)
from tinyagent.models.endpoint import HttpEndpoint
from tinyagent.models.retry import attempts

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"


class Endpoint(Protocol):
    """What takes the body of a request and gives the JSON of the reply."""

    where: str
    key: str | None

    async def post(self, body: dict[str, Any]) -> Any:
        """The reply."""
        ...

    def stream(self, body: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """The events of a streamed reply."""
        ...


class OpenAIModel:
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

    Raises:
        ConfigurationError: no key where one is needed, or an address that is none.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        retries: int = 2,
        client: AsyncOpenAI | None = None,
    ) -> None:
        if not name.strip():
            raise ConfigurationError("the model's name is empty; give one such as 'gpt-4.1'")
        self._name = name
        self._retries = retries
        self._endpoint: Endpoint = (
            _http_endpoint(base_url, api_key, timeout)
            if client is None
            else _client_endpoint(client)
        )

    @property
    def name(self) -> str:
        """The model's name as the server knows it."""
        return self._name

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer; raises `ModelError`."""
        body = encode_request(self._name, request, stream=False)
        async for attempt in attempts(self._retries):
            with attempt, hiding(self._endpoint.key):
                return decode_response(await self._endpoint.post(body))
        raise AssertionError("the last attempt returns or raises")

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The answer as it is written, then whole; raises `ModelError`.

        When the connection breaks in the middle and is made again, a delta of kind `restart`
        says that what came before is void.
        """
        body = encode_request(self._name, request, stream=True)
        begun = False
        async for attempt in attempts(self._retries):
            with attempt, hiding(self._endpoint.key):
                if begun:
                    yield ModelDelta("", "restart")
                    begun = False
                async with aclosing(self._stream_once(body)) as items:
                    async for item in items:
                        begun = True
                        yield item
                return

    async def _stream_once(
        self, body: dict[str, Any]
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        assembler = StreamAssembler()
        async with aclosing(self._endpoint.stream(body)) as events:
            async for event in events:
                if is_whole_reply(event):  # the server does not stream, or not this request
                    response = decode_response(event)
                    if response.content:
                        yield ModelDelta(response.content)
                    yield response
                    return
                delta = assembler.add(event)
                if delta is not None:
                    yield delta
        if not assembler.is_whole:
            raise ModelConnectionError(
                f"the stream from {self._endpoint.where} ended before the answer was whole"
            )
        yield assembler.response()

    def __repr__(self) -> str:
        return f"OpenAIModel({self._name!r}, {self._endpoint.where!r})"


def _http_endpoint(base_url: str | None, api_key: str | None, timeout: float) -> HttpEndpoint:
    url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    key = api_key or os.environ.get("OPENAI_API_KEY")
    if not (key and key.strip()) and url.rstrip("/") == OPENAI_URL:
        raise ConfigurationError(
            "no API key: set OPENAI_API_KEY, or set OPENAI_BASE_URL to a server that needs none"
        )
    return HttpEndpoint(url, key, timeout)


def _client_endpoint(client: AsyncOpenAI) -> Endpoint:
    from tinyagent.models.openai_client import ClientEndpoint  # noqa: PLC0415 - an extra

    return ClientEndpoint(client)
