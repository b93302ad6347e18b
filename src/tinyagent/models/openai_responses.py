"""OpenAIResponsesModel: OpenAI's Responses API, which its reasoning models need to call tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tinyagent.core.types import ModelRequest, ModelResponse, ReasoningWish
from tinyagent.models.openai import connect, connect_client
from tinyagent.models.remote import RemoteModel
from tinyagent.models.responses_api import StreamAssembler, decode_response, is_whole_reply
from tinyagent.models.responses_request import encode_request, responses_origin

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAIResponsesModel(RemoteModel):
    """A model behind the Responses API. Nothing is stored at the server.

    Each request holds the whole conversation, reasoning in its encrypted form included.

    Args:
        name: the model's name, such as `gpt-5.5`.
        base_url: where the server is; default `OPENAI_BASE_URL`, then OpenAI's own.
        api_key: default `OPENAI_API_KEY`.
        timeout: seconds without a byte from the server before a request is given up.
        retries: how often a request is made again after a failure that may pass (429, 5xx, a
            broken connection, a time-out), with growing waits, or as `Retry-After` says.
        client: your own `AsyncOpenAI` (or `AsyncAzureOpenAI`) client, used in place of all of the
            above but `retries`.
        provider: the name of the provider that serves the API, such as `"xai"`; by default it is
            known by the address.
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
        timeout: float = 600.0,
        retries: int = 2,
        client: AsyncOpenAI | None = None,
        provider: str | None = None,
        reasoning: ReasoningWish | None = None,
    ) -> None:
        if client is None:
            known, endpoint = connect(
                name, base_url, api_key, provider, timeout=timeout, path="responses"
            )
        else:
            known, endpoint = connect_client(name, client, provider, api="responses")
        self._provider = known
        self.provider = known.name
        self.sees_images = known.images
        super().__init__(name, endpoint, retries, reasoning)

    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        """The body of `POST /responses`."""
        return encode_request(self._name, request, stream=stream, provider=self._provider)

    def decode(self, data: Any, body: dict[str, Any]) -> ModelResponse:
        """Read a response."""
        del body
        return decode_response(data, responses_origin(self._provider, self._name))

    def is_whole_reply(self, data: Any) -> bool:
        """Whether it is a response rather than an event of one."""
        return is_whole_reply(data)

    def assembler(self, body: dict[str, Any]) -> StreamAssembler:
        """What puts events together."""
        del body
        return StreamAssembler(responses_origin(self._provider, self._name))
