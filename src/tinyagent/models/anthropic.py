"""AnthropicModel: Claude, over Anthropic's own client."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from tinyagent.core.errors import ConfigurationError, ModelConnectionError
from tinyagent.core.types import ModelDelta, ModelRequest, ModelResponse
from tinyagent.models.body import hiding
from tinyagent.models.messages_api import (
    StreamAssembler,
    decode_response,
    encode_request,
    is_whole_reply,
)
from tinyagent.models.retry import attempts

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

    from tinyagent.models.anthropic_client import AnthropicEndpoint


class AnthropicModel:
    """Claude behind Anthropic's messages API. Needs the extra `anthropic`.

    The address is `ANTHROPIC_BASE_URL`, by default Anthropic's own. A request's temperature is
    not sent: the API takes none.

    Args:
        name: the model's name, such as `claude-sonnet-5`.
        api_key: default `ANTHROPIC_API_KEY`.
        max_tokens: the most that an answer may have, thoughts included, where the request names
            no number of its own: the API wants one.
        timeout: seconds without a byte from the server before a request is given up. An answer
            that is not streamed comes in one piece, after all its tokens are made.
        retries: how often a request is made again after a failure that may pass (429, 5xx, a
            broken connection, a time-out), with growing waits, or as `Retry-After` says.
        client: your own `AsyncAnthropic` client, used in place of `api_key` and `timeout`.

    Raises:
        ConfigurationError: no key, or the package `anthropic` is not installed.
    """

    def __init__(
        self,
        name: str,
        *,
        api_key: str | None = None,
        max_tokens: int = 16_384,
        timeout: float = 600.0,
        retries: int = 2,
        client: AsyncAnthropic | None = None,
    ) -> None:
        if not name.strip():
            raise ConfigurationError(
                "the model's name is empty; give one such as 'claude-sonnet-5'"
            )
        self._name = name
        self._max_tokens = max_tokens
        self._retries = retries
        key = "" if client is not None else _checked_key(api_key)
        self._endpoint = _endpoint(client, key, timeout)

    @property
    def name(self) -> str:
        """The model's name as the server knows it."""
        return self._name

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer; raises `ModelError`."""
        body = self._body(request, stream=False)
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
        body = self._body(request, stream=True)
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
                if is_whole_reply(event):  # the server does not stream
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

    def _body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        return encode_request(self._name, request, max_tokens=self._max_tokens, stream=stream)

    def __repr__(self) -> str:
        return f"AnthropicModel({self._name!r}, {self._endpoint.where!r})"


def _checked_key(api_key: str | None) -> str:
    key = (api_key or os.environ.get("ANTHROPIC_API_KEY") or "").strip()
    if not key:
        raise ConfigurationError("no API key: set ANTHROPIC_API_KEY")
    if not key.isprintable() or not key.isascii():
        raise ConfigurationError(
            "the API key holds characters that cannot be sent in a header; copy it again"
        )
    return key


def _endpoint(client: AsyncAnthropic | None, key: str, timeout: float) -> AnthropicEndpoint:
    try:
        from tinyagent.models.anthropic_client import (  # noqa: PLC0415 - an extra, 1 s of CPU
            AnthropicEndpoint,
        )
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"AnthropicModel needs the package {error.name!r}: pip install anthropic"
        ) from None
    return AnthropicEndpoint(client, key, timeout)
