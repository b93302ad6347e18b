"""AnthropicModel: Claude, over Anthropic's own client."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.types import ModelRequest, ReasoningWish
from tinyagent.models.endpoint import checked_key
from tinyagent.models.providers import PROVIDERS
from tinyagent.models.remote import RemoteModel
from tinyagent.models.wire.messages_reply import MessagesReply
from tinyagent.models.wire.messages_request import encode_request, prefix_of
from tinyagent.models.wire.shared import Origin

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

    from tinyagent.models.clients import ClientEndpoint


class AnthropicModel(RemoteModel):
    """Claude behind Anthropic's Messages API. Needs the extra `anthropic`.

    The address is `ANTHROPIC_BASE_URL`, by default Anthropic's own. A request's temperature is
    not sent: the API takes none.

    Args:
        name: the model's name, such as `claude-sonnet-5`.
        api_key: default `ANTHROPIC_API_KEY`.
        max_tokens: the largest answer, thoughts included, if a request does not say: the API
            needs a limit.
        timeout: seconds without a byte from the server after which a request fails. An answer
            that is not streamed arrives in one piece, after all its tokens are made.
        retries: how often a request is repeated after a failure that may pass (429, 5xx, a
            broken connection, a timeout), with growing waits or as `Retry-After` says.
        client: your own `AsyncAnthropic` client, used in place of `api_key` and `timeout`.
        reasoning: how much to reason if a request does not say: `"off"`, `"low"`, `"medium"`,
            `"high"`, or an approximate number of tokens.

    Raises:
        ConfigurationError: the key is missing, or the package `anthropic` is not installed.
    """

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
        self._max_tokens = max_tokens
        key = None
        if client is None:
            key = checked_key(api_key or os.environ.get("ANTHROPIC_API_KEY"))
            if key is None:
                raise ConfigurationError("no API key: set ANTHROPIC_API_KEY")
        super().__init__(
            name,
            PROVIDERS["anthropic"].for_model(name),
            _endpoint(client, key or "", timeout),
            retries=retries,
            reasoning=reasoning,
        )

    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        """The body of `POST /v1/messages`."""
        return encode_request(
            self._name,
            request,
            max_tokens=self._max_tokens,
            stream=stream,
            provider=self._profile,
        )

    def reply(self, body: dict[str, Any]) -> MessagesReply:
        """What reads a message and marks its reasoning with this model and what precedes it."""
        origin = Origin(self.provider, self._name)
        return MessagesReply(
            lambda block: origin.mark({"block": dict(block), "prefix": prefix_of(body)})
        )


def _endpoint(client: AsyncAnthropic | None, key: str, timeout: float) -> ClientEndpoint:
    from tinyagent.models.clients import anthropic_client  # noqa: PLC0415 - an extra

    try:
        return anthropic_client(client, key, timeout)
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"AnthropicModel needs the package {error.name!r}: pip install anthropic"
        ) from None
