"""What the tests of the strict servers share."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from io import BytesIO
from typing import Any

import aiohttp

from tinyagent.testing import Call, Output, StrictServer

Json = dict[str, Any]
PARAMETERS: Json = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
ADD = Call("add", {"a": 1, "b": 2})
THINKS_AND_ADDS = Output(reasoning="I need the tool for this.", calls=[ADD])
ANSWER = Output("It is 3.", reasoning="That was easy.")


def tool(name: str = "add", **more: Any) -> Json:
    """A function tool as chat completions have it."""
    function = {"name": name, "description": "Add.", "parameters": PARAMETERS, **more}
    return {"type": "function", "function": function}


def png(width: int = 2, height: int = 3) -> bytes:
    """A small picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x7f" * width) * height)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def data_uri(data: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64_of(data)}"


async def post(
    server: StrictServer, path: str, body: Any, *, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    """Send a body as it is; gives the status and the JSON of the reply."""
    sent = {"Authorization": "Bearer k"} if headers is None else headers
    data = BytesIO(json.dumps(body).encode())
    async with (
        aiohttp.ClientSession() as session,
        session.post(server.url + path, data=data, headers=sent) as response,
    ):
        return response.status, await response.json()
