"""Signing in with an API key: the browser keeps the signed digest of the key in a cookie."""

from __future__ import annotations

import hashlib
import secrets
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files

import nicegui
from cachetools import TTLCache
from fastapi import Request, Response
from itsdangerous import BadSignature, TimestampSigner
from pydantic import Field
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse

from skillian.api.auth import LOGIN, PAGE, among
from skillian.api.problems import ProblemError
from skillian.api.service import Body
from skillian.settings import Settings, key_digest

COOKIE = "skillian-key"
MAX_AGE_SECONDS = 30 * 86400
MAX_ENDED = 100_000
"""How many visits that were ended are remembered; their cookies are refused."""


class SignIn(Body):
    """What the form sends."""

    key: str = Field(max_length=1000)


class Login:
    """Signs browsers in, and recognizes them by their cookie.

    Args:
        settings: The digests of the keys, and the secret that signs cookies. Without a secret a
            random one is used, and browsers must sign in again after a restart.

    A cookie is refused once its browser has signed out, as long as this process runs.
    """

    def __init__(self, settings: Settings) -> None:
        configured = settings.page_secret
        secret = configured.get_secret_value() if configured else secrets.token_urlsafe(32)
        self._signer = TimestampSigner(secret, salt=COOKIE, digest_method=hashlib.sha256)
        self._digests = settings.api_keys
        self._ended: TTLCache[str, bool] = TTLCache[str, bool](MAX_ENDED, MAX_AGE_SECONDS)

    def owner(self, headers: Headers) -> str:
        """The digest in the cookie of a request; empty without a valid cookie."""
        return self._read(headers)[0]

    def _read(self, headers: Headers) -> tuple[str, str]:
        """The digest and the visit in a cookie; both are empty without a valid one."""
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
            value = cookie.value if cookie is not None else ""
            signed = self._signer.unsign(value, max_age=MAX_AGE_SECONDS).decode()
        except (BadSignature, CookieError):
            return "", ""
        digest, _, visit = signed.partition(".")
        return ("", "") if visit in self._ended else (digest, visit)

    def add_routes(self) -> None:
        """Serve the form, and sign in and out."""
        page = files("skillian.web.shell").joinpath("login.html").read_text(encoding="utf-8")
        path = LOGIN.removeprefix(PAGE)

        @nicegui.app.get(path, include_in_schema=False)
        async def show() -> HTMLResponse:
            return HTMLResponse(page)

        @nicegui.app.post(path, include_in_schema=False)
        async def enter(form: SignIn, request: Request) -> Response:
            digest = among(key_digest(form.key.strip()), self._digests)
            if not digest:
                raise ProblemError(401, "unauthorized", "This is not a key of this server.")
            answer = Response(status_code=204)
            answer.set_cookie(
                COOKIE,
                self._signer.sign(f"{digest}.{secrets.token_hex(16)}").decode(),
                max_age=MAX_AGE_SECONDS,
                secure=request.url.scheme == "https",
                httponly=True,
                samesite="strict",
            )
            return answer

        @nicegui.app.delete(path, include_in_schema=False)
        async def leave(request: Request) -> Response:
            _, visit = self._read(request.headers)
            if visit:
                self._ended[visit] = True
            answer = Response(status_code=204)
            answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
            return answer
