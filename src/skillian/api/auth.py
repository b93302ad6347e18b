"""Who may ask: keys, and without any only this machine itself."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from skillian.api.bounds import check_head
from skillian.api.limits import Buckets
from skillian.api.problems import ProblemError
from skillian.errors import SkillianError
from skillian.settings import Settings, key_digest

PAGE = "/ui"
"""Where the page is mounted."""
LOGIN = f"{PAGE}/login"
HEALTH = "/health"
PUBLIC = frozenset({HEALTH, "/ready", "/openapi.json"})
"""What needs no key."""

# Scripts and styles of the page: the same for everybody, and many at once. What is not there is
# answered shortly (`web.page`), never by a page.
ASSETS = "/_nicegui/"
"""Where they are, below the page."""

# What a browser says of a request of its own address bar, or of a page of this server.
_OWN_SITES = frozenset({"same-origin", "none"})
_IPV6_NETWORK = 64

_UNKNOWN = 401

CookieOwner = Callable[[Headers], str]


def check_address(host: str, *, has_keys: bool) -> None:
    """Refuse to serve others without keys.

    Raises:
        SkillianError: the address is not loopback, and there are no keys.
    """
    if not has_keys and not is_loopback(host):
        raise SkillianError(
            f"{host} can be reached by others and no API keys are set; set SKILLIAN_API_KEYS"
            " (a comma list), or serve on 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine itself and nothing else."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class Gate:
    """Lets requests in that may ask, and tells the rest of the application whose they are.

    Args:
        app: what is behind it.
        settings: hold the keys' digests, and how often each may ask.
        cookie_owner: the digest that a browser's cookie holds, or an empty text.
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
        """Whose a request is. It is counted for its key; without one, for the client's address."""
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
        else:  # who is refused often can still sign in
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
        found = among(key_digest(key.strip()), self._digests)
        if scheme.lower() != "bearer" or not found:
            detail = "Send one of the API keys: Authorization: Bearer KEY"
            raise ProblemError(401, "unauthorized", detail, {"WWW-Authenticate": "Bearer"})
        return found


def among(digest: str, known: Iterable[str]) -> str:
    """The digest if it is known; takes as long for each of them."""
    found = ""
    for each in known:
        if hmac.compare_digest(each, digest):
            found = each
    return found


def _address(scope: Scope) -> str:
    """Who asks, as far as it shows: of IPv6 the network, all of which is usually one client's."""
    host = str((scope.get("client") or ("", 0))[0])
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"address {host[:_IPV6_NETWORK]}"
    if address.version == 4:  # noqa: PLR2004 - a version has no other name
        return f"address {address}"
    return f"address {ipaddress.ip_network((int(address), _IPV6_NETWORK), strict=False)}"


def _refusal(scope: Scope, problem: ProblemError) -> Response:
    """A person whom the page does not know is asked for the key."""
    is_page = scope["type"] == "http" and scope["path"].startswith(f"{PAGE}/")
    if problem.status == _UNKNOWN and is_page:
        return RedirectResponse(LOGIN, 303)
    return problem.response()


def _check_own_origin(scope: Scope, headers: Headers) -> None:
    """A browser's cookie and its sockets are for pages of this very server.

    Raises:
        ProblemError: a page of elsewhere asks (403).
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    is_own = origin is None or _netloc(origin) == headers.get("host")
    if not (is_own and (site in _OWN_SITES or _is_opening(scope, headers))):
        raise ProblemError(403, "wrong_origin", "Pages of other hosts are not answered.")


def _is_opening(scope: Scope, headers: Headers) -> bool:
    """Whether a person follows a link to the page; the other site reads nothing of it."""
    is_shown = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    is_page = scope["path"] in {"/", PAGE} or scope["path"].startswith(f"{PAGE}/")
    return is_page and scope.get("method") == "GET" and is_shown == ("navigate", "document")


def _check_local(scope: Scope, headers: Headers) -> None:
    """Without keys: a request from this machine, and not from a page of elsewhere in its browser.

    Raises:
        ProblemError: it is not (403, 421).
    """
    server = scope.get("server") or ("localhost", None)
    if not is_loopback(str(server[0])):
        raise ProblemError(403, "forbidden", "Without API keys only this machine is answered.")
    # A name of somebody else's may lead here (DNS rebinding): the browser tells which it was.
    if not is_loopback(_host_of(headers.get("host", ""))):
        raise ProblemError(421, "wrong_host", "Without API keys the host is localhost.")
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
