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
from yarl import URL

from tinyagent.execution.network.heads import RequestRefused
from tinyagent.execution.network.names import ip_address, is_public
from tinyagent.execution.network.rules import HostPolicy, Target

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
_MOST_LINE = 16 << 10
_MAX_HOST_CONNECTIONS = 64


class AddressRefused(OSError):
    """A name stands for an address that may not be reached."""


class PinnedResolver(AbstractResolver):
    """Resolves the names of allowed requests, and refuses addresses that are not public.

    The connection goes to the very addresses that were checked.

    Args:
        policy: says which names may have addresses that are not public.
    """

    def __init__(self, policy: HostPolicy) -> None:
        self._policy = policy

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name.

        Raises:
            AddressRefused: one of them may not be reached.
            OSError: there are none.
        """
        schemes = ("http", "https")
        is_private = any(self._policy.is_private(Target(each, host, port)) for each in schemes)
        # With a last dot, no search domain is tried. A private name may be one of a local file.
        name = host if is_private else f"{host}."
        places = await asyncio.get_running_loop().getaddrinfo(
            name, port, family=family, type=socket.SOCK_STREAM
        )
        addresses = list(dict.fromkeys(str(place[4][0]) for place in places))
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
    """A connection that was kept brought bytes that nobody has asked for; nothing was sent."""


class CleanRequest(aiohttp.ClientRequest):
    """Is not sent on a kept connection that holds a part of an answer: it could be taken for it."""

    async def send(self, conn: Any) -> aiohttp.ClientResponse:
        """Send it.

        Raises:
            StaleConnection: the connection cannot be used.
        """
        if conn.protocol is None or conn.protocol.should_close:
            conn.close()
            raise StaleConnection
        return await super().send(conn)


def open_client(policy: HostPolicy) -> aiohttp.ClientSession:
    """A client that keeps no cookies, follows no redirects, and uses no proxy of the host."""
    connector = aiohttp.TCPConnector(
        resolver=PinnedResolver(policy), use_dns_cache=False, limit=_MAX_HOST_CONNECTIONS,
        ssl=_verified(),
    )  # fmt: skip
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
        RequestRefused: it would not lead to the target.
    """
    url = URL(f"{target.scheme}://{target.host}:{target.port}{text}", encoded=True)
    if (url.scheme, url.host, url.port) != target or url.user is not None:
        raise RequestRefused(400, "the target of this request cannot be read")
    return url


def reason_of(error: Exception, target: Target) -> tuple[int, str]:
    """A status and words for what kept a request from being answered."""
    cause: Any = error.__cause__ or error
    for fault in (error, getattr(error, "os_error", None), cause):
        if isinstance(fault, AddressRefused):
            return 403, str(fault)
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
