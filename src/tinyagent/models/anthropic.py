"""AnthropicModel: Claude."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.types import ModelRequest, ReasoningWish
from tinyagent.models.endpoint import HttpEndpoint, checked_key
from tinyagent.models.providers import PROVIDERS
from tinyagent.models.remote import ModelEndpoint, RemoteModel
from tinyagent.models.wire.messages_reply import MessagesReply
from tinyagent.models.wire.messages_request import encode_request, prefix_of
from tinyagent.models.wire.shared import Origin
from tinyagent.options import checks_options, require_least

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_URL = "https://api.anthropic.com"
_VERSION = "2023-06-01"  # the only one there is


@checks_options()
class AnthropicModel(RemoteModel):
    """Claude behind Anthropic's Messages API.

    The address is `ANTHROPIC_BASE_URL`, by default Anthropic's own. A request's temperature is
    not sent: the API takes none.

    Args:
        name: The model's name, such as `claude-sonnet-5`.
        api_key: Default `ANTHROPIC_API_KEY`.
        max_tokens: The largest answer, thoughts included, if a request does not say: the API
            needs a limit.
        timeout: Seconds without a byte from the server after which a request fails. An answer
            that is not streamed arrives in one piece, after all its tokens are made.
        retries: How often a request is repeated after a failure that may pass (429, 5xx, a
            broken connection, a timeout), with growing waits or as `Retry-After` says.
        client: Your own `AsyncAnthropic` client, used in place of `api_key` and `timeout`.
        reasoning: How much to reason if a request does not say: `"off"`, `"low"`, `"medium"`,
            `"high"`, or an approximate number of tokens. Where it is part of `max_tokens`, it
            takes at most half of these.
        show_reasoning: Asks for a summary of the thoughts of models that otherwise hide them.

    Raises:
        ConfigurationError: The key is missing, or the address is not valid.
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
        show_reasoning: bool = False,
    ) -> None:
        require_least(0, timeout=timeout)
        require_least(1, max_tokens=max_tokens)
        self._max_tokens = max_tokens
        endpoint: ModelEndpoint
        if client is None:
            endpoint = _connect(api_key, timeout)
        else:
            from tinyagent.models.clients import anthropic_client  # noqa: PLC0415 - an extra

            endpoint = anthropic_client(client)
        profile = PROVIDERS["anthropic"].for_model(name, show_reasoning=show_reasoning)
        super().__init__(name, profile, endpoint, retries=retries, reasoning=reasoning)

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


def _connect(api_key: str | None, timeout: float) -> HttpEndpoint:
    key = checked_key(api_key or os.environ.get("ANTHROPIC_API_KEY"))
    if key is None:
        raise ConfigurationError("no API key: set ANTHROPIC_API_KEY")
    return HttpEndpoint(
        os.environ.get("ANTHROPIC_BASE_URL") or _URL,
        key,
        timeout,
        variables="ANTHROPIC",
        path="v1/messages",
        headers={"x-api-key": key, "anthropic-version": _VERSION},
    )
