"""Server-sent events, and work that ends when its client disconnects."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from fastapi import Request, Response
from fastapi.sse import format_sse_event
from starlette.types import Receive, Scope, Send

from skillian.api.problems import ClientGone, problem_of
from skillian.storage import TurnEvent

MEDIA_TYPE = "text/event-stream"
KEEP_ALIVE_SECONDS = 15.0

_COMMENT = b": still here\n\n"
_EXAMPLE = 'event: delta\ndata: {"turn":1,"step":2,"kind":"text","text":"The gap"}\nid: 4\n\n'

T = TypeVar("T")


EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer, or the turn's events if they are asked for",
        "content": {MEDIA_TYPE: {"example": _EXAMPLE}},
    }
}
"""The responses that a route that can stream declares."""


def wants_events(request: Request) -> bool:
    """Whether the client asks for server-sent events."""
    return MEDIA_TYPE in request.headers.get("accept", "").lower()


def encode(event: TurnEvent, session_id: str) -> bytes:
    """An event as bytes; its number is the id after which a client resumes."""
    head: dict[str, Any] = {"turn": event.turn}
    if event.type == "turn_started":
        head["session_id"] = session_id
    data = json.dumps({**head, **event.data}, separators=(",", ":"))
    return format_sse_event(data_str=data, event=event.type, id=str(event.number))


async def while_connected(
    request: Request, work: Coroutine[Any, Any, T], arrived: asyncio.Event | None = None
) -> T:
    """The result of `work`, which is cancelled when the client disconnects.

    Args:
        request: The request.
        work: The work.
        arrived: Set once `work` has read the body of the request, if it does that itself.

    Raises:
        ClientGone: The client has disconnected.
    """
    task = asyncio.create_task(work)
    disconnected = asyncio.create_task(_gone(request.receive, arrived))
    try:
        await asyncio.wait([task, disconnected], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        return await task
    finally:
        await _end(task, disconnected)


class EventStream(Response):
    """Sends chunks as they arrive, and a comment after a long pause.

    When the client disconnects, the chunks are closed at once, and awaited. FastAPI's own
    `EventSourceResponse` cannot do this: it is for routes that always stream, and it cancels
    through an anyio scope, which cancels the clean-up of a turn as well.

    Args:
        chunks: Events as bytes.
        headers: More headers.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        headers: dict[str, str] | None = None,
        status_code: int = 200,  # FastAPI's OpenAPI document reads this default
    ) -> None:
        # Without these a proxy may wait for more before it passes on what it has.
        fixed = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(None, status_code, headers={**fixed, **(headers or {})})
        del self.headers["content-length"]
        self._chunks = chunks
        self._is_quiet = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Answer as an ASGI application."""
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        sending = asyncio.create_task(self._send(send))
        keeping = asyncio.create_task(self._keep_alive(send))
        disconnected = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait([sending, disconnected], return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                await sending
        finally:
            await _end(sending, keeping, disconnected)

    async def _send(self, send: Send) -> None:
        async with aclosing(self._chunks) as chunks:
            async for chunk in chunks:
                self._is_quiet = False
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _keep_alive(self, send: Send) -> None:
        while True:
            self._is_quiet = True
            await asyncio.sleep(KEEP_ALIVE_SECONDS)
            if self._is_quiet:
                await send({"type": "http.response.body", "body": _COMMENT, "more_body": True})


async def encoded(
    events: AsyncGenerator[TurnEvent, None], session_id: str
) -> AsyncGenerator[bytes, None]:
    """The events as bytes; an error that ends them is the last, an event `error` with a problem."""
    try:
        async with aclosing(events):
            async for event in events:
                yield encode(event, session_id)
    except Exception as error:  # noqa: BLE001 - the answer has begun, so its stream reports it
        problem = json.dumps(problem_of(error).to_dict())
        yield format_sse_event(data_str=problem, event="error")


async def _gone(receive: Receive, arrived: asyncio.Event | None = None) -> None:
    if arrived is not None:
        await arrived.wait()
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel what is not done, and wait for it."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # it failed after the client disconnected
