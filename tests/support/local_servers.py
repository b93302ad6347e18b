"""Servers that list models as the documentation of each program shows, on free ports."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

OLLAMA = {
    "models": [
        {
            "name": "llama3.1:8b",
            "model": "llama3.1:8b",
            "modified_at": "2025-10-03T23:34:03.409490317-07:00",
            "size": 4920753328,
            "digest": "46e0c10c039e019119339687c3c1757cc81b9da49709a3b3924863ba87ca666e",
            "details": {
                "parent_model": "",
                "format": "gguf",
                "family": "llama",
                "families": ["llama"],
                "parameter_size": "8.0B",
                "quantization_level": "Q4_K_M",
            },
        },
        {
            "name": "nomic-embed-text:latest",
            "model": "nomic-embed-text:latest",
            "size": 274302450,
            "details": {"family": "nomic-bert", "families": ["nomic-bert"]},
        },
        {
            "name": "gpt-oss:120b-cloud",
            "model": "gpt-oss:120b-cloud",
            "remote_model": "gpt-oss:120b",
            "remote_host": "https://elsewhere.example:443",
            "size": 384,
            "details": {"family": "gptoss", "families": ["gptoss"]},
        },
    ]
}
LM_STUDIO = {
    "object": "list",
    "data": [
        {
            "id": "qwen2-vl-7b-instruct",
            "object": "model",
            "type": "vlm",
            "state": "not-loaded",
            "max_context_length": 32768,
        },
        {
            "id": "meta-llama-3.1-8b-instruct",
            "object": "model",
            "type": "llm",
            "state": "loaded",
            "max_context_length": 131072,
        },
        {
            "id": "text-embedding-nomic-embed-text-v1.5",
            "object": "model",
            "type": "embeddings",
            "state": "not-loaded",
            "max_context_length": 2048,
        },
    ],
}


def openai_list(owner: str, *names: str) -> dict[str, Any]:
    """The list of chat completions, as llama.cpp and vLLM write it."""
    data = [
        {"id": name, "object": "model", "created": 1735142223, "owned_by": owner} for name in names
    ]
    return {"object": "list", "data": data}


@dataclass
class ListingServer:
    """A server that answers GET with what its paths have, and remembers the requests."""

    replies: Mapping[str, web.StreamResponse | bytes | dict[str, Any]]
    url: str = ""
    requests: list[tuple[str, str, Mapping[str, str]]] = field(
        default_factory=list[tuple[str, str, Mapping[str, str]]]
    )

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append((request.method, request.path, dict(request.headers)))
        reply = self.replies.get(request.path)
        if reply is None:
            return web.Response(status=404)
        if isinstance(reply, web.StreamResponse):
            return reply
        body = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        return web.Response(body=body, content_type="application/json")


@asynccontextmanager
async def listing(replies: Mapping[str, Any]) -> AsyncGenerator[ListingServer]:
    """A listing server on loopback; the reply `hang` does not come before the end."""
    server = ListingServer(replies)
    ending = asyncio.Event()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if server.replies.get(request.path) == b"hang":
            await ending.wait()
        return await server.answer(request)

    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}"
    try:
        yield server
    finally:
        ending.set()
        await runner.cleanup()
