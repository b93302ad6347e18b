"""HTTP to a model server: pooled connections, bounded replies, typed errors.

Source for streams: HTML Living Standard, "Server-sent events", section "Interpreting an event
stream".
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar
from urllib.parse import urlsplit

from tinyagent.core.errors import (
    ConfigurationError,
    ModelConnectionError,
    ModelReplyError,
    ModelTimeout,
)
from tinyagent.models.failures import status_error

if TYPE_CHECKING:
    import aiohttp

CONNECT_SECONDS = 10.0
MAX_REPLY_BYTES = 32 * 1024 * 1024
MAX_STREAM_BYTES = 8 * MAX_REPLY_BYTES
DONE = "[DONE]"
"""The last event of a stream, as most servers of chat completions send it."""
_MAX_ERROR_BYTES = 64 * 1024
_OK = 200
_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Closable(Protocol):
    """A client that is closed when it is no longer needed."""

    async def close(self) -> None:
        """Close its connections."""
        ...


C = TypeVar("C", bound=Closable)


class PerLoop(Generic[C]):
    """One client for each event loop, made on first use and closed with the loop.

    Connections belong to a loop and should be closed with it, but no caller can be relied on to
    do so. A loop closes its suspended async generators when it ends (`shutdown_asyncgens`, which
    `asyncio.run` calls), so such a generator holds each client.

    Args:
        make: Makes a client.
    """

    def __init__(self, make: Callable[[], C]) -> None:
        self._make = make
        self._clients: dict[asyncio.AbstractEventLoop, tuple[C, AsyncGenerator[C, None]]] = {}

    async def get(self) -> C:
        """The client of the running loop."""
        loop = asyncio.get_running_loop()
        entry = self._clients.get(loop)
        if entry is None:
            holder = self._hold(loop)
            entry = self._clients[loop] = (await anext(holder), holder)
        return entry[0]

    async def _hold(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[C, None]:
        client = self._make()
        try:
            yield client
        finally:
            del self._clients[loop]
            await client.close()


def _http_session() -> aiohttp.ClientSession:
    import aiohttp  # noqa: PLC0415 - 0.2 s of CPU that `import tinyagent` does not pay

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar()
    )


sessions = PerLoop(_http_session)
"""The HTTP sessions that all models share. They keep no cookies and send no key of their own."""


class HttpEndpoint:
    """`POST {base_url}/{path}`, plain and streamed.

    Proxies (`HTTPS_PROXY`, `NO_PROXY` …) and certificates (`SSL_CERT_FILE`, `SSL_CERT_DIR`) come
    from the environment. Redirects are not followed.

    Args:
        base_url: For example `https://host/v1`.
        key: Sent as a bearer token; None sends none.
        timeout: Seconds without a byte from the server after which a request fails.
        variables: The prefix of the environment variables that configure it.
        path: The path below the base URL.
        headers: Sent with each request in place of the bearer token.

    Raises:
        ConfigurationError: The address or the key cannot be used.
    """

    def __init__(
        self,
        base_url: str,
        key: str | None,
        timeout: float,
        *,
        variables: str = "OPENAI",
        path: str = "chat/completions",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        url = f"{base_url.rstrip('/')}/{path}"
        self.variables = variables
        self.where = _without_secrets(url, variables)
        self.key = checked_key(key)
        if headers is None:
            headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        # A request has one Authorization: the key goes before a user and password in the address.
        self._url = self.where if "Authorization" in headers else url
        self._timeout = timeout
        self._proxy = _proxy_for(self._url)
        self._headers = {"Content-Type": "application/json", **headers}

    async def post(self, body: dict[str, Any]) -> Any:
        """The JSON of the reply; raises `ModelError`."""
        async with self._request(body) as response:
            kind = response.headers.get("Content-Type", "")
            return await read_json(response.content.iter_any(), kind, self.where)

    async def stream(self, body: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """The JSON of each event of the reply; ends with `DONE` or with the connection.

        Raises:
            ModelError: The server failed, in the middle too.
        """
        async with self._request(body) as response:
            kind = response.headers.get("Content-Type", "")
            chunks = response.content.iter_any()
            async with aclosing(read_events(chunks, kind, self.where)) as events:
                async for event in events:
                    yield event

    @asynccontextmanager
    async def _request(self, body: dict[str, Any]) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        import aiohttp  # noqa: PLC0415 - 0.2 s of CPU that `import tinyagent` does not pay

        session = await sessions.get()
        started = time.monotonic()
        payload = _to_json(body).encode(errors="replace")
        try:
            async with session.post(
                self._url,
                data=payload,
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=CONNECT_SECONDS, sock_read=self._timeout
                ),
                proxy=self._proxy,
                allow_redirects=False,
            ) as response:
                if response.status != _OK:
                    error = await _error_body(response)
                    raise status_error(response.status, response.headers, error, self.where)
                yield response
        except TimeoutError:
            raise ModelTimeout(
                f"{self.where} did not answer: no data for {self._timeout:g} s"
                f" ({time.monotonic() - started:.0f} s after the request)"
            ) from None
        except aiohttp.ClientConnectorError as error:
            raise ModelConnectionError(
                f"no connection to {self.where}: {error.strerror or error};"
                " is the server running, and is OPENAI_BASE_URL right?"
            ) from None
        except aiohttp.ClientError as error:
            raise ModelConnectionError(
                f"the connection to {self.where} broke before the answer was complete"
                f" ({type(error).__name__})"
            ) from None


async def _error_body(response: aiohttp.ClientResponse) -> str:
    """The first 64 KiB of the body of a failure."""
    body = b""
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _MAX_ERROR_BYTES:
            break
    return body[:_MAX_ERROR_BYTES].decode(errors="replace")


def checked_key(key: str | None) -> str | None:
    """The key without surrounding white space; None if there is none.

    Raises:
        ConfigurationError: It cannot be sent in a header.
    """
    if key is None or not key.strip():
        return None
    if not key.strip().isprintable() or not key.isascii():
        raise ConfigurationError(
            "the API key contains characters that cannot be sent in a header; copy it again"
        )
    return key.strip()


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment sets for an address.

    aiohttp can look it up too, but uses two threads for each request, which doubles its cost.
    """
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - 15 ms

    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def _without_secrets(url: str, variables: str) -> str:
    """The address without user and password; raises ConfigurationError if it is not usable."""
    form = f"the base URL ({variables}_BASE_URL or base_url=) must look like https://host/v1"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
        host.encode("idna")  # as connecting to it will
    except ValueError:
        raise ConfigurationError(f"{form}, got a host or port that cannot be read") from None
    if parts.scheme not in {"http", "https"} or not host or " " in host or parts.query:
        query = "?..." if parts.query else ""
        raise ConfigurationError(
            f"{form}, got {parts.scheme or '(no scheme)'}://{host or '(no host)'}{port}{query}"
        )
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path}"


async def read_json(chunks: AsyncIterable[bytes], kind: str, where: str) -> Any:
    """The JSON of a whole reply. `kind` is its Content-Type, `where` the address it came from.

    Raises:
        ModelReplyError: It is too large, or not JSON.
    """
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > MAX_REPLY_BYTES:
            raise ModelReplyError(
                f"{where} sent over {MAX_REPLY_BYTES:,} bytes; the rest is not read"
            )
        parts.append(chunk)
    return _parse(b"".join(parts), kind, where)


async def read_events(
    chunks: AsyncIterable[bytes], kind: str, where: str
) -> AsyncGenerator[Any, None]:
    """The JSON of each event of a streamed reply, up to its end or `DONE`, which is the last item.

    A server that does not stream sends one event: its whole reply.

    Raises:
        ModelReplyError: It is too large, or not JSON.
    """
    if "text/event-stream" not in kind:
        yield await read_json(chunks, kind, where)
        return
    decoder = SseDecoder(MAX_REPLY_BYTES)
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > MAX_STREAM_BYTES:
            raise ModelReplyError(f"{where} streamed over {MAX_STREAM_BYTES:,} bytes")
        for data in decoder.feed(chunk):
            if data == DONE.encode():
                yield DONE
                return
            yield _parse(data, kind, where)


def _parse(data: bytes, kind: str, where: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        hint = "" if "/v1/" in where else " It usually ends with /v1"
        raise ModelReplyError(
            f"{where} did not answer with JSON (Content-Type: {kind or 'none'},"
            f" {len(data):,} bytes); is OPENAI_BASE_URL right?{hint}"
        ) from None


class SseDecoder:
    """Takes bytes as they arrive and returns the data of each complete event.

    Args:
        max_bytes: The largest allowed event.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._rest: list[bytes] = []  # the pieces of a line that has not ended
        self._rest_size = 0
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of the events that `chunk` completes, in order.

        Raises:
            ModelReplyError: An event is larger than `max_bytes`.
        """
        events: list[bytes] = []
        self._rest.append(chunk)
        self._rest_size += len(chunk)
        if b"\n" in chunk:
            *lines, last = b"".join(self._rest).split(b"\n")
            self._rest, self._rest_size = [last], len(last)
            for line in lines:
                self._take_line(line.removesuffix(b"\r"), events)
        if self._size + self._rest_size > self._max_bytes:
            raise ModelReplyError(f"the stream has an event of over {self._max_bytes:,} bytes")
        return events

    def _take_line(self, line: bytes, events: list[bytes]) -> None:
        if line.startswith(b"data:"):
            value = line[5:].removeprefix(b" ")
            self._data.append(value)
            self._size += len(value)
        elif not line and self._data:
            events.append(b"\n".join(self._data))
            self._data.clear()
            self._size = 0
