"""Who may use the service: holders of keys or, without keys, only this machine."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from skillian.api.limits import Buckets, check_head
from skillian.api.problems import ProblemError
from skillian.errors import SkillianError
from skillian.settings import Settings, key_digest

PAGE = "/ui"
"""The path of the page."""
LOGIN = f"{PAGE}/login"
HEALTH = "/health"
PUBLIC = frozenset({HEALTH, "/ready", "/openapi.json"})
"""Paths that need no key."""

# Scripts and styles of the page: the same for everybody, and many at once. A missing one has a
# short answer (`web.page`), never a page.
ASSETS = "/_nicegui/"
"""Their path below the page's."""

# What a browser sends for a request from its address bar, or from a page of this server.
_OWN_SITES = frozenset({"same-origin", "none"})
_IPV6_NETWORK = 64

_UNKNOWN = 401

CookieOwner = Callable[[Headers], str]


def check_address(host: str, *, has_keys: bool) -> None:
    """Refuse to serve other machines without keys.

    Raises:
        SkillianError: The address is not loopback, and there are no keys.
    """
    if not has_keys and not is_loopback(host):
        raise SkillianError(
            f"{host} can be reached by other machines and no API keys are set; set"
            " SKILLIAN_API_KEYS (a comma list), or serve on 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class Access:
    """Admits requests, and notes their owner for the rest of the application.

    Args:
        app: The application behind it.
        settings: Hold the keys' digests, and how often each may ask.
        cookie_owner: Returns the digest in a browser's cookie, or an empty text.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, cookie_owner: CookieOwner | None = None
    ) -> None:
        self._app = app
        self._cookie_owner = cookie_owner
        self._digests = settings.api_keys
        self._buckets = Buckets(settings.requests_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a problem."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        try:
            check_head(scope)
            owner = self._admitted(scope)
        except ProblemError as problem:
            await _refusal(scope, problem)(scope, receive, send)
            return
        scope.setdefault("state", {})["owner"] = owner
        await self._app(scope, receive, send)

    def _admitted(self, scope: Scope) -> str:
        """The owner of a request, counted for its key or, without one, for the client's address."""
        path, address = scope["path"], _address(scope)
        is_asset = path.startswith(f"{PAGE}{ASSETS}") and scope.get("method") in {"GET", "HEAD"}
        try:
            owner = self._owner(scope, is_asset=is_asset)
        except ProblemError:
            self._buckets.take(address)
            raise
        if is_asset or path == HEALTH:
            return owner
        if owner or not self._digests:
            self._buckets.take(owner)
        else:  # a client that is refused often can still sign in
            self._buckets.take(f"{address} {path}" if path == LOGIN else address)
        return owner

    def _owner(self, scope: Scope, *, is_asset: bool) -> str:
        headers = Headers(scope=scope)
        if scope["path"].startswith(f"{PAGE}/"):
            _check_own_origin(scope, headers)
        if not self._digests:
            _check_local(scope, headers)
            return ""
        if is_asset or scope["path"] in PUBLIC or scope["path"] in {LOGIN, PAGE, "/"}:
            return ""
        if "authorization" not in headers and self._cookie_owner is not None:
            owner = among(self._cookie_owner(headers), self._digests)
            if owner:
                _check_own_origin(scope, headers)
                return owner
        scheme, _, key = headers.get("authorization", "").partition(" ")
        owner = among(key_digest(key.strip()), self._digests)
        if scheme.lower() != "bearer" or not owner:
            detail = "Send one of the API keys: Authorization: Bearer KEY"
            raise ProblemError(401, "unauthorized", detail, {"WWW-Authenticate": "Bearer"})
        return owner


def among(digest: str, known: Iterable[str]) -> str:
    """The digest if it is known, otherwise an empty text; takes the same time for each."""
    match = ""
    for each in known:
        if hmac.compare_digest(each, digest):
            match = each
    return match


def _address(scope: Scope) -> str:
    """The client's address; for IPv6 its network, which usually belongs to one client."""
    host = str((scope.get("client") or ("", 0))[0])
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"address {host[:_IPV6_NETWORK]}"
    if address.version == 4:  # noqa: PLR2004 - a version has no other name
        return f"address {address}"
    return f"address {ipaddress.ip_network((int(address), _IPV6_NETWORK), strict=False)}"


def _refusal(scope: Scope, problem: ProblemError) -> Response:
    """The answer to a refused request; a person on the page is asked for a key."""
    is_page = scope["type"] == "http" and scope["path"].startswith(f"{PAGE}/")
    if problem.status == _UNKNOWN and is_page:
        return RedirectResponse(LOGIN, 303)
    return problem.response(scope["path"])


def _check_own_origin(scope: Scope, headers: Headers) -> None:
    """Check that a browser's request comes from a page of this server.

    Raises:
        ProblemError: It comes from a page of another host (403).
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    is_own = origin is None or _netloc(origin) == headers.get("host")
    if not (is_own and (site in _OWN_SITES or _is_opening(scope, headers))):
        raise ProblemError(403, "wrong_origin", "Requests from pages of other hosts are refused.")


def _is_opening(scope: Scope, headers: Headers) -> bool:
    """Whether a person follows a link to the page; the other site cannot read it."""
    is_shown = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    is_page = scope["path"] in {"/", PAGE} or scope["path"].startswith(f"{PAGE}/")
    return is_page and scope.get("method") == "GET" and is_shown == ("navigate", "document")


def _check_local(scope: Scope, headers: Headers) -> None:
    """Check, without keys, that a request comes from this machine, and not from a foreign page.

    Raises:
        ProblemError: It does not (403, 421).
    """
    server = scope.get("server") or ("localhost", None)
    if not is_loopback(str(server[0])):
        raise ProblemError(403, "forbidden", "Without API keys, only this machine has access.")
    # Another name may resolve to this address (DNS rebinding); the browser sends the name.
    if not is_loopback(_host_of(headers.get("host", ""))):
        raise ProblemError(421, "wrong_host", "Without API keys, the host must be localhost.")
    _check_own_origin(scope, headers)


def _host_of(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""
