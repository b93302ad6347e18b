"""Who may ask: keys, and without any only this machine itself."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from skillian.api.limits import Buckets
from skillian.api.problems import ProblemError
from skillian.errors import SkillianError
from skillian.settings import Settings, key_digest

PAGE = "/ui"
"""Where the page is mounted."""
LOGIN = f"{PAGE}/login"
PUBLIC = frozenset({"/health", "/ready", "/openapi.json"})
"""What needs no key."""

# Scripts and styles of the page: the same for everybody, and many at once.
_ASSETS = f"{PAGE}/_nicegui/"

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
            owner = self._owner(scope)
            if not _is_free(scope["path"]):
                self._buckets.take(owner)
        except ProblemError as problem:
            await _refusal(scope, problem)(scope, receive, send)
            return
        scope.setdefault("state", {})["owner"] = owner
        await self._app(scope, receive, send)

    def _owner(self, scope: Scope) -> str:
        headers = Headers(scope=scope)
        if scope["path"].startswith(f"{PAGE}/"):
            _check_own_origin(headers)
        if not self._digests:
            _check_local(scope, headers)
            return ""
        if _is_free(scope["path"]) or scope["path"] in {LOGIN, PAGE, "/"}:
            return ""
        if "authorization" not in headers and self._cookie_owner is not None:
            owner = among(self._cookie_owner(headers), self._digests)
            if owner:
                _check_own_origin(headers)
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


def _is_free(path: str) -> bool:
    """Whether anybody may ask for it, and as often as he likes."""
    return path in PUBLIC or path.startswith(_ASSETS)


def _refusal(scope: Scope, problem: ProblemError) -> Response:
    """A person whom the page does not know is asked for the key."""
    is_page = scope["type"] == "http" and scope["path"].startswith(f"{PAGE}/")
    if problem.status == _UNKNOWN and is_page:
        return RedirectResponse(LOGIN, 303)
    return problem.response()


def _check_own_origin(headers: Headers) -> None:
    """A browser's cookie and its sockets are for pages of this very server.

    Raises:
        ProblemError: a page of elsewhere asks (403).
    """
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != headers.get("host"):
        raise ProblemError(403, "wrong_origin", "Pages of other hosts are not answered.")


def _check_local(scope: Scope, headers: Headers) -> None:
    """Without keys: a request from this machine, and not from a page of elsewhere in its browser.

    Raises:
        ProblemError: it is not (403, 421).
    """
    server = scope.get("server") or ("localhost", None)
    if not is_loopback(str(server[0])):
        raise ProblemError(403, "forbidden", "Without API keys only this machine is answered.")
    # A name of somebody else's may lead here (DNS rebinding): the browser tells which it was.
    if not is_loopback(_host_of(f"//{headers.get('host', '')}")):
        raise ProblemError(421, "wrong_host", "Without API keys the host is localhost.")
    origin = headers.get("origin")
    if origin is not None and not is_loopback(_host_of(origin)):
        raise ProblemError(403, "wrong_origin", "Pages of other hosts are not answered.")


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
