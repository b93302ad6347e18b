"""Sessions: create, list, read, rename, export and delete them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from skillian.api.service import Body, SessionId, TheOwner, TheService
from skillian.chat.export import session_markdown

MAX_OFFSET = 10**9

Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET)]

router = APIRouter(prefix="/sessions", tags=["sessions"])


class NewSession(Body):
    """A new session; without a title, its first message becomes the title."""

    title: str = Field("", max_length=500)


class SessionTitle(Body):
    """A session's title."""

    title: str = Field(max_length=500, examples=["Gap of company 1001"])


class SessionInfo(BaseModel):
    """A session; `updated` is when it was last used."""

    id: str
    title: str
    created: str
    updated: str


class SessionPage(BaseModel):
    """Some of the sessions, most recently used first; `total` is the number of all."""

    sessions: list[SessionInfo]
    total: int
    offset: int
    limit: int


class SessionDetail(SessionInfo):
    """A session with its messages.

    A message has a `role` (`user`, `assistant`, `tool`) and `content`; tool calls are in
    `tool_calls`, their results follow with a `tool_call_id`. `broken` marks a turn that ended
    without an answer.
    """

    messages: list[dict[str, Any]]


@router.post("", response_model=SessionInfo, status_code=201)
async def create(
    service: TheService, owner: TheOwner, response: Response, body: NewSession | None = None
) -> dict[str, Any]:
    """Create a session."""
    record = await service.store.create(owner, body.title if body else "")
    response.headers["Location"] = f"/sessions/{record.id}"
    return record.to_dict()


@router.get("", response_model=SessionPage)
async def list_sessions(
    service: TheService,
    owner: TheOwner,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> dict[str, Any]:
    """List the sessions, most recently used first."""
    records = await service.store.list(owner, offset, limit)
    total = await service.store.count(owner)
    sessions = [record.to_dict() for record in records]
    return {"sessions": sessions, "total": total, "offset": offset, "limit": limit}


@router.get("/{session_id}", response_model=SessionDetail)
async def read(session_id: SessionId, service: TheService, owner: TheOwner) -> dict[str, Any]:
    """Read a session with its messages."""
    record = await service.store.get(owner, session_id)
    return {**record.to_dict(), "messages": await service.store.messages(session_id)}


@router.patch("/{session_id}", response_model=SessionInfo)
async def rename(
    session_id: SessionId, body: SessionTitle, service: TheService, owner: TheOwner
) -> dict[str, Any]:
    """Give a session another title."""
    return (await service.store.rename(owner, session_id, body.title)).to_dict()


@router.delete("/{session_id}", status_code=204)
async def delete(session_id: SessionId, service: TheService, owner: TheOwner) -> None:
    """Delete a session with its messages; a running turn is cancelled."""
    await service.store.delete(owner, session_id)
    service.turns.cancel(session_id)


@router.get(
    "/{session_id}/export",
    response_class=Response,
    responses={200: {"content": {"application/json": {}, "text/markdown": {}}}},
)
async def export(
    session_id: SessionId,
    service: TheService,
    owner: TheOwner,
    form: Annotated[Literal["json", "markdown"], Query(alias="format")] = "json",
) -> Response:
    """Download a session as JSON or Markdown."""
    await service.store.get(owner, session_id)
    exported = await service.store.export(session_id)
    if form == "json":
        return _file(json.dumps(exported, indent=2), "application/json", f"{session_id}.json")
    return _file(session_markdown(exported), "text/markdown", f"{session_id}.md")


def _file(text: str, media_type: str, name: str) -> Response:
    content = text.encode("utf-8", "backslashreplace")  # a model may write half a surrogate pair
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)
