"""Signing in with an API key: the browser keeps its digest, signed, in a cookie of the session."""

from __future__ import annotations

import hashlib
import secrets
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files

import nicegui
from fastapi import Request, Response
from itsdangerous import BadSignature, TimestampSigner
from pydantic import Field
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse

from skillian.api.auth import LOGIN, PAGE, among
from skillian.api.problems import ProblemError
from skillian.api.schemas import Body
from skillian.settings import Settings, key_digest

COOKIE = "skillian-key"
MAX_AGE_SECONDS = 30 * 86400


class Key(Body):
    """What the form sends."""

    key: str = Field(max_length=1000)


class Login:
    """Knows browsers by their cookie.

    Args:
        settings: hold the keys' digests and the secret that cookies are signed with; where that
            is not set, one is made up, and a restart asks for the key again.
    """

    def __init__(self, settings: Settings) -> None:
        given = settings.page_secret
        secret = secrets.token_urlsafe(32) if given is None else given.get_secret_value()
        self._signer = TimestampSigner(secret, salt=COOKIE, digest_method=hashlib.sha256)
        self._digests = settings.api_keys

    def owner(self, headers: Headers) -> str:
        """The digest that a request's cookie holds; an empty text where there is none to trust."""
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
            value = cookie.value if cookie is not None else ""
            return self._signer.unsign(value, max_age=MAX_AGE_SECONDS).decode()
        except (BadSignature, CookieError):
            return ""

    def add_routes(self) -> None:
        """Serve the form, and take what it sends."""
        form = files("skillian.web").joinpath("login.html").read_text(encoding="utf-8")
        path = LOGIN.removeprefix(PAGE)

        @nicegui.app.get(path, include_in_schema=False)
        async def show() -> HTMLResponse:
            return HTMLResponse(form)

        @nicegui.app.post(path, include_in_schema=False)
        async def enter(asked: Key, request: Request) -> Response:
            digest = among(key_digest(asked.key.strip()), self._digests)
            if not digest:
                raise ProblemError(401, "unauthorized", "This is none of the server's keys.")
            answer = Response(status_code=204)
            answer.set_cookie(
                COOKIE,
                self._signer.sign(digest).decode(),
                max_age=MAX_AGE_SECONDS,
                secure=request.url.scheme == "https",
                httponly=True,
                samesite="strict",
            )
            return answer

        @nicegui.app.delete(path, include_in_schema=False)
        async def leave() -> Response:
            answer = Response(status_code=204)
            answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
            return answer
