"""A caller's own `AsyncOpenAI` client as the way to the server; imported only when one is given."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, contextmanager
from typing import Any, Literal

import openai

from tinyagent.core.errors import ModelConnectionError, ModelTimeout
from tinyagent.models.body import read_events, read_json
from tinyagent.models.failures import status_error

# The client's HTTP library depends on its version. What breaks after the headers have come is not
# turned into the client's own errors.
_HTTP = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
_TIMEOUTS: tuple[type[Exception], ...] = (
    openai.APITimeoutError,
    *(module.TimeoutException for module in _HTTP),
)
_BREAKS: tuple[type[Exception], ...] = (
    openai.APIConnectionError,
    *(module.RequestError for module in _HTTP),
)


class ClientEndpoint:
    """Sends the body that a model makes through `client.chat.completions` or `client.responses`.

    The client's own retries are switched off: the model does them. Closing the client is left
    to its owner.
    """

    def __init__(
        self, client: openai.AsyncOpenAI, api: Literal["chat", "responses"] = "chat"
    ) -> None:
        own = client.with_options(max_retries=0)
        # The body is made by the model, not by the client's typed parameters.
        resource: Any = own.chat.completions if api == "chat" else own.responses
        self._create: Any = resource.with_streaming_response.create
        url = client.base_url
        self.where = f"{url.scheme}://{url.netloc.decode()}{url.path}"
        self.key: str | None = client.api_key
        self.variables = "OPENAI"

    async def post(self, body: dict[str, Any]) -> Any:
        """The JSON of the reply; raises `ModelError`."""
        with self._as_model_error():
            async with self._create(**body) as reply:
                kind = reply.headers.get("Content-Type", "")
                return await read_json(reply.iter_bytes(), kind, self.where)

    async def stream(self, body: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """The JSON of each event; raises `ModelError`."""
        with self._as_model_error():
            async with self._create(**body) as reply:
                kind = reply.headers.get("Content-Type", "")
                async with aclosing(read_events(reply.iter_bytes(), kind, self.where)) as events:
                    async for event in events:
                        yield event

    @contextmanager
    def _as_model_error(self) -> Generator[None]:
        try:
            yield
        except _TIMEOUTS:
            raise ModelTimeout(f"{self.where} did not answer in the client's time") from None
        except openai.APIStatusError as error:
            raise status_error(
                error.status_code, error.response.headers, error.response.text, self.where
            ) from None
        except _BREAKS as error:
            raise ModelConnectionError(
                f"the connection to {self.where} failed: {error.__cause__ or error}"
            ) from None
