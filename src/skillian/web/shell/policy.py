"""The page's Content-Security-Policy: only scripts of this server run, none from the data."""

from __future__ import annotations

import secrets

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# NiceGUI's client compiles Vue templates and runs scripts that its server sends, so it needs
# 'unsafe-eval'. Inline scripts need the nonce, so injected markup runs nothing.
_POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval';"
    " style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:;"
    " connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'self';"
    " frame-ancestors 'none'"
)
_SCRIPT = b"<script"


def policy(nonce: str) -> str:
    """The policy of a document whose own scripts have this nonce."""
    return _POLICY.format(nonce=nonce)


class PagePolicy:
    """ASGI middleware that gives each document its policy, and its scripts their nonce.

    Args:
        app: The application that makes the documents, in which no data can write a tag.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = bytearray()

        async def collect(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_document(message):
                start = message
            elif start is None:
                await send(message)
            else:
                body.extend(message.get("body", b""))
                if not message.get("more_body", False):
                    await _send_document(start, bytes(body), send)

        await self._app(scope, receive, collect)


def _is_document(start: Message) -> bool:
    kind = MutableHeaders(raw=start["headers"]).get("content-type", "")
    return kind.startswith("text/html")


async def _send_document(start: Message, body: bytes, send: Send) -> None:
    nonce = secrets.token_urlsafe(16)
    body = body.replace(_SCRIPT, _SCRIPT + f' nonce="{nonce}"'.encode())
    headers = MutableHeaders(raw=start["headers"])
    headers["Content-Length"] = str(len(body))
    headers["Content-Security-Policy"] = policy(nonce)
    await send({**start, "headers": headers.raw})
    await send({"type": "http.response.body", "body": body})
