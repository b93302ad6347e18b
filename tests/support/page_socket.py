"""The page without a browser: opened, heard and clicked as NiceGUI's client does it."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from ast import literal_eval
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import aiohttp
import socketio

_ELEMENTS = re.compile(r"parseElements\(String\.raw`(.*?)`\)", re.DOTALL)
_QUERY = re.compile(r"query: (\{.*?\}),\n")
_ESCAPES = {"&#36;": "$", "&#96;": "`", "&gt;": ">", "&lt;": "<", "&amp;": "&"}


class PageSocket:
    """One open page.

    Args:
        client_id: what the server calls it.
        elements: as the document brought them, by their ids.

    Attributes:
        elements: as they are now.
        heard: all that the server has sent since, as one text.
    """

    def __init__(self, client_id: str, elements: dict[str, dict[str, Any]]) -> None:
        self.elements = elements
        self.heard = ""
        self._client_id = client_id
        self._news = asyncio.Event()
        self._socket = socketio.AsyncClient(reconnection=False)
        self._socket.on("update", self._update)
        self._socket.on("run_javascript", self._hear)

    async def connect(self, url: str, query: Mapping[str, Any]) -> None:
        """Connect; `query` is what the document says to send."""
        ids = {"document_id": str(uuid.uuid4()), "tab_id": str(uuid.uuid4())}
        text = {key: json.dumps(value).strip('"') for key, value in {**query, **ids}.items()}
        await self._socket.connect(
            f"{url}?{urlencode(text)}",
            socketio_path="/ui/_nicegui_ws/socket.io",
            transports=["websocket"],
            headers={"Origin": url},
        )

    async def close(self) -> None:
        """Close the page."""
        await self._socket.disconnect()

    def find(self, label: str) -> str:
        """The id of the element of this name, as a screen reader says it."""
        for number, element in self.elements.items():
            if (element.get("props") or {}).get("aria-label") == label:
                return number
        raise AssertionError(f"there is no {label!r} in the page")

    async def fire(self, label: str, event: str, *args: Any) -> None:
        """Have an event happen to the element of this name."""
        number = self.find(label)
        events = self.elements[number].get("events") or []
        for listener in (each for each in events if each["type"] == event):
            event_message = {
                "id": int(number),
                "client_id": self._client_id,
                "listener_id": listener["listener_id"],
                "args": [json.dumps(each) for each in args],
            }
            await self._socket.emit("event", event_message)

    async def wait_for(self, text: str) -> None:
        """Return when the server has sent this."""
        while text not in self.heard:
            self._news.clear()
            await self._news.wait()

    async def _update(self, changed: dict[str, Any]) -> None:
        changed.pop("_id", None)
        self.elements.update({key: each for key, each in changed.items() if each})
        self._hear(changed)

    def _hear(self, message: dict[str, Any]) -> None:
        self.heard += json.dumps(message, ensure_ascii=False)
        self._news.set()


@asynccontextmanager
async def open_page(http: aiohttp.ClientSession, url: str, path: str) -> AsyncGenerator[PageSocket]:
    """The page at this path of a server."""
    async with http.get(f"{url}{path}") as answer:
        answer.raise_for_status()
        document = await answer.text()
    elements = _found(_ELEMENTS, document)
    for escape, character in _ESCAPES.items():
        elements = elements.replace(escape, character)
    query: dict[str, Any] = literal_eval(_found(_QUERY, document))
    page = PageSocket(query["client_id"], json.loads(elements))
    await page.connect(url, query)
    try:
        yield page
    finally:
        await page.close()


def _found(pattern: re.Pattern[str], document: str) -> str:
    match = pattern.search(document)
    if match is None:
        raise AssertionError(f"the document is not one of NiceGUI's: no {pattern.pattern}")
    return match[1]
