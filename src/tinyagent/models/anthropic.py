"""AnthropicModel: Claude, over Anthropic's own client."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.types import ModelRequest, ModelResponse, ReasoningWish
from tinyagent.models.encoding import Origin
from tinyagent.models.messages_api import Mark, StreamAssembler, decode_response, is_whole_reply
from tinyagent.models.messages_request import encode_request, prefix_of
from tinyagent.models.providers import PROVIDERS
from tinyagent.models.remote import RemoteModel

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

    from tinyagent.models.anthropic_client import AnthropicEndpoint


class AnthropicModel(RemoteModel):
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
        reasoning: how much to reason, where a request does not say: `"off"`, `"low"`, `"medium"`,
            `"high"`, or about how many tokens.

    Raises:
        ConfigurationError: no key, or the package `anthropic` is not installed.
    """

    provider = "anthropic"

    def __init__(  # noqa: PLR0913 - all but the name have defaults
        self,
        name: str,
        *,
        api_key: str | None = None,
        max_tokens: int = 16_384,
        timeout: float = 600.0,
        retries: int = 2,
        client: AsyncAnthropic | None = None,
        reasoning: ReasoningWish | None = None,
    ) -> None:
        if not name.strip():
            raise ConfigurationError(
                "the model's name is empty; give one such as 'claude-sonnet-5'"
            )
        self._max_tokens = max_tokens
        self.sees_images = PROVIDERS["anthropic"].for_model(name).images
        key = "" if client is not None else _checked_key(api_key)
        super().__init__(name, _endpoint(client, key, timeout), retries, reasoning)

    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        """The body of `POST /v1/messages`."""
        return encode_request(self._name, request, max_tokens=self._max_tokens, stream=stream)

    def decode(self, data: Any, body: dict[str, Any]) -> ModelResponse:
        """Read a message."""
        return decode_response(data, self._marker(body))

    def is_whole_reply(self, data: Any) -> bool:
        """Whether it is a message rather than an event of one."""
        return is_whole_reply(data)

    def assembler(self, body: dict[str, Any]) -> StreamAssembler:
        """What puts events together."""
        return StreamAssembler(self._marker(body))

    def _marker(self, body: dict[str, Any]) -> Mark:
        """Marks blocks with this model, and with what they come behind."""
        origin = Origin("anthropic", self._name)
        return lambda block: origin.mark({"block": dict(block), "prefix": prefix_of(body)})


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
