"""OpenAIModel: any server that speaks chat completions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.types import ModelRequest
from tinyagent.models.chat_completions import (
    StreamAssembler,
    decode_response,
    encode_request,
    is_whole_reply,
)
from tinyagent.models.endpoint import HttpEndpoint
from tinyagent.models.remote import Endpoint, RemoteModel, ReplyFormat

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"


_REPLIES = ReplyFormat(decode_response, is_whole_reply, StreamAssembler)


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
        endpoint: Endpoint = (
            _http_endpoint(base_url, api_key, timeout)
            if client is None
            else _client_endpoint(client)
        )
        super().__init__(name, endpoint, _REPLIES, retries)

    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        """The body of `POST /chat/completions`."""
        return encode_request(self._name, request, stream=stream)


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
