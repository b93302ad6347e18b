from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from skillian.web.shell.policy import PagePolicy

PAGE = "<html><script>a()</script><script type=module>b()</script>é</html>"


async def document(_: Request) -> Response:
    return HTMLResponse(PAGE)


async def pieces(_: Request) -> Response:
    async def sent() -> AsyncGenerator[str]:
        for piece in PAGE:
            yield piece

    return StreamingResponse(sent(), media_type="text/html")


async def script(_: Request) -> Response:
    return PlainTextResponse("<script>", media_type="text/javascript")


@asynccontextmanager
async def client() -> AsyncGenerator[httpx.AsyncClient]:
    routes = [Route("/document", document), Route("/pieces", pieces), Route("/script", script)]
    transport = httpx.ASGITransport(PagePolicy(Starlette(routes=routes)))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as opened:
        yield opened


@pytest.mark.parametrize("path", ["/document", "/pieces"])
async def test_each_document_has_its_own_nonce_for_its_scripts(path: str) -> None:
    async with client() as http:
        answers = [await http.get(path) for _ in range(2)]
    nonces = set[str]()
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        document_nonces = set(re.findall(r'<script nonce="([^"]+)"', answer.text))
        assert len(document_nonces) == 1
        assert f"script-src 'self' 'nonce-{document_nonces.copy().pop()}' 'unsafe-eval'" in policy
        assert "default-src 'none'" in policy
        assert "http" not in policy
        assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
        assert int(answer.headers["content-length"]) == len(answer.content)
        assert answer.text.count("<script nonce=") == answer.text.count("<script") == 2
        nonces |= document_nonces
    assert len(nonces) == 2


async def test_other_responses_are_not_changed() -> None:
    async with client() as http:
        answer = await http.get("/script")
    assert answer.text == "<script>"
    assert "content-security-policy" not in answer.headers
