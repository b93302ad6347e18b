"""HTTP to a chat completions server: one connection pool a loop, bounded, typed errors."""

from __future__ import annotations

import asyncio
import json
import time
import weakref
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tinyagent.core.errors import (
    ConfigurationError,
    ModelConnectionError,
    ModelReplyError,
    ModelTimeout,
)
from tinyagent.models.failures import status_error
from tinyagent.models.sse import SseDecoder

if TYPE_CHECKING:
    import aiohttp

CONNECT_SECONDS = 10.0
MAX_REPLY_BYTES = 32 * 1024 * 1024
_MAX_ERROR_BYTES = 64 * 1024
_OK = 200
_DONE = b"[DONE]"


class HttpEndpoint:
    """`POST {base_url}/chat/completions`, plain and streamed.

    Proxies (`HTTPS_PROXY`, `NO_PROXY` …) and certificates (`SSL_CERT_FILE`, `SSL_CERT_DIR`) come
    from the environment. Redirects are not followed.

    Args:
        base_url: for example `https://host/v1`.
        key: sent as a bearer token; None sends none.
        timeout: seconds without a byte from the server before a request is given up.

    Raises:
        ConfigurationError: the address or the key cannot be used.
    """

    def __init__(self, base_url: str, key: str | None, timeout: float) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self.where = _without_secrets(self._url)
        self._key = _checked_key(key)
        self._timeout = timeout
        self._sessions: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, AsyncGenerator[aiohttp.ClientSession, None]
        ] = weakref.WeakKeyDictionary()
        self._open: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = (
            weakref.WeakKeyDictionary()
        )

    async def post(self, body: dict[str, Any]) -> Any:
        """The JSON of the reply; raises `ModelError`."""
        async with self._request(body) as response:
            data = await self._read(response, MAX_REPLY_BYTES)
            return self._parse(data, response.headers.get("Content-Type", ""))

    async def stream(self, body: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """The JSON of each event of the reply; ends at `[DONE]` or with the connection.

        Raises:
            ModelError: the server failed, in the middle too.
        """
        async with self._request(body) as response:
            kind = response.headers.get("Content-Type", "")
            if "text/event-stream" not in kind:
                yield self._parse(await self._read(response, MAX_REPLY_BYTES), kind)
                return
            decoder = SseDecoder(MAX_REPLY_BYTES)
            async for chunk in response.content.iter_any():
                for data in decoder.feed(chunk):
                    if data == _DONE:
                        return
                    yield self._parse(data, kind)

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        keeper = self._sessions.pop(asyncio.get_running_loop(), None)
        self._open.pop(asyncio.get_running_loop(), None)
        if keeper is not None:
            await keeper.aclose()

    @asynccontextmanager
    async def _request(self, body: dict[str, Any]) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        import aiohttp  # noqa: PLC0415 - 0.2 s of CPU that `import tinyagent` does not pay

        session = await self._session()
        sent = time.monotonic()
        payload = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(
            errors="replace"
        )
        try:
            async with session.post(self._url, data=payload, allow_redirects=False) as response:
                if response.status != _OK:
                    said = await self._read(response, _MAX_ERROR_BYTES)
                    text = self._without_key(said.decode(errors="replace"))
                    raise status_error(response.status, response.headers, text, self.where)
                yield response
        except TimeoutError:
            raise ModelTimeout(
                f"{self.where} did not answer: nothing came for {self._timeout:g} s"
                f" ({time.monotonic() - sent:.0f} s after the request)"
            ) from None
        except aiohttp.ClientConnectorError as error:
            raise ModelConnectionError(
                f"no connection to {self.where}: {self._without_key(str(error.strerror or error))};"
                " is the server running, and is OPENAI_BASE_URL right?"
            ) from None
        except aiohttp.ClientError as error:
            raise ModelConnectionError(
                f"the connection to {self.where} broke before the answer was whole"
                f" ({type(error).__name__})"
            ) from None

    async def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._open.get(loop)
        if session is None:
            # A pool belongs to one loop and should be closed with it, but no caller can be
            # trusted to. A loop closes its suspended async generators when it ends
            # (`shutdown_asyncgens`): so one of them holds the pool.
            keeper = self._keep_session()
            session = await anext(keeper)
            self._sessions[loop] = keeper
            self._open[loop] = session
        return session

    async def _keep_session(self) -> AsyncGenerator[aiohttp.ClientSession, None]:
        import aiohttp  # noqa: PLC0415

        headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip, deflate"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        async with aiohttp.ClientSession(
            headers=headers,
            trust_env=True,
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_SECONDS, sock_read=self._timeout
            ),
            auto_decompress=True,
        ) as session:
            yield session

    async def _read(self, response: aiohttp.ClientResponse, limit: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for chunk in response.content.iter_any():
            size += len(chunk)
            if size > limit:
                if limit == _MAX_ERROR_BYTES:
                    break
                raise ModelReplyError(f"{self.where} sent over {limit:,} bytes; not read further")
            parts.append(chunk)
        return b"".join(parts)

    def _parse(self, data: bytes, kind: str) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise ModelReplyError(
                f"{self.where} did not answer with JSON (Content-Type: {kind or 'none'},"
                f" {len(data):,} bytes); is OPENAI_BASE_URL right? It usually ends with /v1"
            ) from None

    def _without_key(self, text: str) -> str:
        return text if not self._key else text.replace(self._key, "***")


def _checked_key(key: str | None) -> str | None:
    if key is None or not key.strip():
        return None
    if not key.strip().isprintable() or not key.isascii():
        raise ConfigurationError(
            "the API key holds characters that cannot be sent in a header; copy it again"
        )
    return key.strip()


def _without_secrets(url: str) -> str:
    """The address as it may be shown: no user, password or query."""
    parts = urlsplit(url)
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        port = ":?"
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == ":?":
        raise ConfigurationError(
            "the base URL (OPENAI_BASE_URL or base_url=) must look like https://host/v1,"
            f" got {parts.scheme or '(no scheme)'}://{parts.hostname or '(no host)'}{port}"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{port}{parts.path}"
