"""The host's own client: the only thing that reaches the network for sandboxed code."""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import socket
import ssl
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection
from yarl import URL

from tinyagent.execution.network.heads import RequestRefused
from tinyagent.execution.network.lookups import Lookups
from tinyagent.execution.network.names import ip_address, is_public
from tinyagent.execution.network.rules import HostPolicy, Target

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
_MOST_LINE = 16 << 10
_MAX_HOST_CONNECTIONS = 64


class AddressRefused(OSError):
    """A name stands for an address that may not be reached."""

    status = 403

    @property
    def reason(self) -> str:
        """For who wrote the code."""
        return str(self)


class PinnedResolver(AbstractResolver):
    """Resolves the names of allowed requests, and refuses addresses that are not public.

    The connection goes to the very addresses that were checked.

    Args:
        policy: Says which names may have addresses that are not public.
        lookups: Of the executor.
    """

    def __init__(self, policy: HostPolicy, lookups: Lookups) -> None:
        self._policy = policy
        self._lookups = lookups

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name.

        Raises:
            AddressRefused: One of them may not be reached.
            OSError: There are none.
        """
        schemes = ("http", "https")
        is_private = any(self._policy.is_private(Target(each, host, port)) for each in schemes)
        # With a last dot, no search domain is tried. A private name may be one of a local file.
        name = host if is_private else f"{host}."
        addresses = await self._lookups.find(name, port, family)
        if not is_private and not all(map(is_public, addresses)):
            raise AddressRefused(
                f"{host} stands for an address that is not public; such hosts must be listed with"
                " private=True"
            )
        return [_result(host, address, port) for address in addresses]

    async def close(self) -> None:
        """There is nothing to close."""


def _result(host: str, address: str, port: int) -> ResolveResult:
    version = ipaddress.ip_address(address.partition("%")[0]).version
    family = socket.AF_INET if version == 4 else socket.AF_INET6  # noqa: PLR2004 - IPv4
    flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    return ResolveResult(
        hostname=host, host=address, port=port, family=family, proto=0, flags=flags
    )


@functools.cache
def _verified() -> ssl.SSLContext:
    """How servers are verified: as Python does by default. The code cannot change it."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class StaleConnection(aiohttp.ClientConnectionError):
    """A kept connection received bytes without a request; nothing was sent."""


class CleanRequest(aiohttp.ClientRequest):
    """Is not sent on a kept connection that holds a part of an answer: it could be taken for it."""

    async def send(self, conn: Any) -> aiohttp.ClientResponse:
        """Send it.

        Raises:
            StaleConnection: The connection cannot be used.
        """
        if conn.protocol is None or conn.protocol.should_close:
            conn.close()
            raise StaleConnection
        return await super().send(conn)


class BoundConnector(aiohttp.TCPConnector):
    """Leaves no connection behind that still has to send something: it would go on doing so.

    Args:
        resolver: Of names.
    """

    def __init__(self, resolver: PinnedResolver) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            resolver=resolver, use_dns_cache=False, limit=_MAX_HOST_CONNECTIONS, ssl=_verified()
        )
        self._transports: set[asyncio.Transport] = set()

    async def connect(self, *args: Any, **kwargs: Any) -> Connection:
        """A connection for a request."""
        self._abort({each for each in self._transports if each.is_closing()})
        connection = await super().connect(*args, **kwargs)
        if connection.transport is not None:
            self._transports.add(connection.transport)
        return connection

    async def close(self, *, abort_ssl: bool = True) -> None:
        """End all connections at once."""
        self._abort(self._transports)
        await super().close(abort_ssl=abort_ssl)

    def _abort(self, transports: set[asyncio.Transport]) -> None:
        for transport in transports:
            transport.abort()
        self._transports -= transports


def open_client(policy: HostPolicy, lookups: Lookups) -> aiohttp.ClientSession:
    """A client that keeps no cookies, follows no redirects, and uses no proxy of the host."""
    connector = BoundConnector(PinnedResolver(policy, lookups))
    return aiohttp.ClientSession(
        connector=connector,
        request_class=CleanRequest,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS, sock_read=READ_SECONDS),
        max_line_size=_MOST_LINE,
        max_field_size=_MOST_LINE,
    )


def url_of(target: Target, text: str) -> URL:
    """The URL of a request, exactly as it was sent.

    Raises:
        RequestRefused: It would not lead to the target.
    """
    url = URL(f"{target.scheme}://{target.host}:{target.port}{text}", encoded=True)
    if (url.scheme, url.raw_host, url.port) != target or url.user is not None:
        raise RequestRefused(400, "the target of this request cannot be read")
    return url


def reason_of(error: Exception, target: Target) -> tuple[int, str]:
    """A status and words for what kept a request from being answered."""
    cause: Any = error.__cause__ or error
    for fault in (error, getattr(error, "os_error", None), cause):
        if isinstance(fault, AddressRefused | RequestRefused):  # the latter by its body
            return fault.status, fault.reason
    if isinstance(error, TimeoutError):
        return 504, f"{target} did not answer in time"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return 502, f"{target.host} has no address: is the name right?"
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return 502, f"the certificate or TLS of {target} cannot be verified"
    if isinstance(error, aiohttp.ClientConnectorError):
        address = "" if ip_address(target.host) is None else " at this address"
        return 502, f"{target} does not accept connections{address}"
    return 502, f"{target} did not answer as HTTP says ({type(error).__name__})"
