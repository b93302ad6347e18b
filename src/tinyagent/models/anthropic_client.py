"""The official `anthropic` client as the way to the server; imported only when one is needed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, contextmanager
from typing import Any
from urllib.parse import urlsplit

import anthropic

from tinyagent.core.errors import ModelConnectionError, ModelError, ModelTimeout
from tinyagent.models.body import read_events, read_json
from tinyagent.models.failures import status_error
from tinyagent.models.messages_api import error_status

ANTHROPIC_URL = "https://api.anthropic.com"
CONNECT_SECONDS = 10.0
# The client's HTTP library depends on its version. What breaks after the headers have come is not
# turned into the client's own errors.
_HTTP = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
_TIMEOUTS: tuple[type[Exception], ...] = (
    anthropic.APITimeoutError,
    *(module.TimeoutException for module in _HTTP),
)
_BREAKS: tuple[type[Exception], ...] = (
    anthropic.APIConnectionError,
    *(module.RequestError for module in _HTTP),
)
_Keeper = AsyncGenerator[anthropic.AsyncAnthropic, None]


class AnthropicEndpoint:
    """Sends the body that `AnthropicModel` makes through `client.messages`.

    Args:
        client: the caller's own, which stays the caller's to close; None makes one of `key` and
            `timeout` for each event loop (connections belong to a loop) and closes it with the
            loop. The clients' own retries are switched off: `AnthropicModel` does them.
    """

    def __init__(self, client: anthropic.AsyncAnthropic | None, key: str, timeout: float) -> None:
        self.variables = "ANTHROPIC"
        self._given = None if client is None else client.with_options(max_retries=0)
        self._timeout = timeout
        self._made: dict[asyncio.AbstractEventLoop, tuple[anthropic.AsyncAnthropic, _Keeper]] = {}
        self.key: str | None = key if client is None else client.api_key or client.auth_token
        self._base_url = os.environ.get("ANTHROPIC_BASE_URL") or ANTHROPIC_URL
        self.where = _address(self._base_url if client is None else str(client.base_url))

    async def post(self, body: dict[str, Any]) -> Any:
        """The JSON of the reply; raises `ModelError`."""
        with self._as_model_error():
            async with await self._send(body) as reply:
                kind = reply.headers.get("Content-Type", "")
                return self._checked(await read_json(reply.iter_bytes(), kind, self.where))

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
                        yield self._checked(event)

    async def _send(self, body: dict[str, Any]) -> Any:
        """The reply, to be entered with `async with`."""
        client = self._given or await self._client_of_this_loop()
        # The body is made by `AnthropicModel`, not by the client's typed parameters. Without a
        # timeout that is named, the client refuses to wait for long answers in one piece.
        create: Any = client.messages.with_streaming_response.create
        return create(**body, timeout=client.timeout)

    def _checked(self, data: Any) -> Any:
        """The JSON, unless it is an error: they come in the middle of streams too."""
        status = error_status(data)
        if status is not None:
            raise status_error(status, {}, json.dumps(data), self.where)
        return data

    async def _client_of_this_loop(self) -> anthropic.AsyncAnthropic:
        loop = asyncio.get_running_loop()
        made = self._made.get(loop)
        if made is None:
            keeper = self._keep(loop)
            made = self._made[loop] = (await anext(keeper), keeper)
        return made[0]

    async def _keep(self, loop: asyncio.AbstractEventLoop) -> _Keeper:
        """A loop closes its suspended async generators when it ends: this one closes the client."""
        client = anthropic.AsyncAnthropic(
            api_key=self.key,
            base_url=self._base_url,
            max_retries=0,
            # Redirects could take the key along.
            http_client=anthropic.DefaultAsyncHttpxClient(
                timeout=anthropic.Timeout(self._timeout, connect=CONNECT_SECONDS),
                follow_redirects=False,
            ),
        )
        try:
            yield client
        finally:
            del self._made[loop]
            await client.close()

    @contextmanager
    def _as_model_error(self) -> Generator[None]:
        try:
            yield
        except ModelError as error:
            raise _naming_our_variables(error) from None
        except _TIMEOUTS:
            raise ModelTimeout(f"{self.where} did not answer in the client's time") from None
        except anthropic.APIStatusError as error:
            said, status = error.response, error.status_code
            raise _naming_our_variables(
                status_error(status, said.headers, said.text, self.where)
            ) from None
        except _BREAKS as error:
            raise ModelConnectionError(
                f"the connection to {self.where} failed: {error.__cause__ or error}"
            ) from None


def _address(base_url: str) -> str:
    """Where requests go, without a user and password."""
    parts = urlsplit(base_url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}/v1/messages"


def _naming_our_variables(error: ModelError) -> ModelError:
    """The mends of other providers' errors name OpenAI's variables; the client reads these."""
    words = str(error).replace("OPENAI_", "ANTHROPIC_").replace(" It usually ends with /v1", "")
    error.args = (words,)
    return error
