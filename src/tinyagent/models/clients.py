"""The clients of vendors, as callers pass them, as endpoints.

The packages `openai` and `anthropic` are made by the same generator: their clients and errors have
the same names.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from tinyagent.core.errors import ModelConnectionError, ModelTimeout
from tinyagent.models.endpoint import read_events, read_json
from tinyagent.models.failures import status_error

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI

Send = Callable[[dict[str, Any]], Awaitable[AbstractAsyncContextManager[Any]]]
"""Makes the reply to a body, to be entered with `async with`."""


class ClientEndpoint:
    """Sends the bodies that a model makes through a vendor's client.

    The client's own retries are off: the model retries. The client stays the caller's to close.

    Args:
        sdk: The vendor's package.
        send: Sends a body.
        base_url: The address that the client uses.
        key: The client's key.
    """

    def __init__(self, sdk: Any, send: Send, base_url: str, key: str | None) -> None:
        parts = urlsplit(base_url)
        self.where = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self.key = key
        self.variables = str(sdk.__name__).upper()
        self._send = send
        # The client's HTTP library depends on its version. An error after the headers is not
        # turned into the client's own errors.
        http = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
        self._status_error: Any = sdk.APIStatusError
        self._timeouts = (sdk.APITimeoutError, *(each.TimeoutException for each in http))
        self._breaks = (sdk.APIConnectionError, *(each.RequestError for each in http))

    async def post(self, body: dict[str, Any]) -> Any:
        """The JSON of the reply; raises `ModelError`."""
        with self._as_model_error():
            async with await self._send(body) as reply:
                kind = reply.headers.get("Content-Type", "")
                return await read_json(reply.iter_bytes(), kind, self.where)

    async def stream(self, body: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """The JSON of each event; raises `ModelError`."""
        with self._as_model_error():
            async with await self._send(body) as reply:
                kind = reply.headers.get("Content-Type", "")
                async with (
                    aclosing(reply.iter_bytes()) as chunks,
                    aclosing(read_events(chunks, kind, self.where)) as events,
                ):
                    async for event in events:
                        yield event

    @contextmanager
    def _as_model_error(self) -> Generator[None]:
        try:
            yield
        except self._timeouts:
            raise ModelTimeout(f"{self.where} did not answer within the client's timeout") from None
        except self._status_error as error:
            reply = error.response
            raise status_error(reply.status_code, reply.headers, reply.text, self.where) from None
        except self._breaks as error:
            raise ModelConnectionError(
                f"the connection to {self.where} failed: {error.__cause__ or error}"
            ) from None


def openai_client(client: AsyncOpenAI, api: Literal["chat", "responses"]) -> ClientEndpoint:
    """A caller's `AsyncOpenAI` or `AsyncAzureOpenAI` client as an endpoint."""
    import openai  # noqa: PLC0415 - an extra

    own = client.with_options(max_retries=0)
    resource: Any = own.chat.completions if api == "chat" else own.responses

    async def send(body: dict[str, Any]) -> Any:
        # The client knows OpenAI's own parameters only; what is in `extra_body` is sent as it is.
        asked = {key: body[key] for key in ("model", "messages", "input") if key in body}
        return resource.with_streaming_response.create(**asked, extra_body=body)

    return ClientEndpoint(openai, send, str(client.base_url), client.api_key)


def anthropic_client(client: AsyncAnthropic) -> ClientEndpoint:
    """A caller's `AsyncAnthropic` client as an endpoint."""
    import anthropic  # noqa: PLC0415 - an extra, 1 s of CPU

    own = client.with_options(max_retries=0)
    # Without an explicit timeout the client refuses to wait for a long unstreamed answer.
    create: Any = own.messages.with_streaming_response.create

    async def send(body: dict[str, Any]) -> Any:
        return create(**body, timeout=own.timeout)

    address = f"{str(client.base_url).rstrip('/')}/v1/messages"
    return ClientEndpoint(anthropic, send, address, client.api_key or client.auth_token or "")
