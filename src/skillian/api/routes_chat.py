"""Chat: a message and its answer, whole or as it comes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request, Response

from skillian.api.problems import ProblemError
from skillian.api.runs import Run
from skillian.api.schemas import Answer, ChatRequest, ChatResponse, SessionChatRequest, SessionId
from skillian.api.service import Service, TheOwner, TheService
from skillian.api.stream import EVENTS, EventStream, told, wants_events, while_connected
from skillian.chat.sessions import follow
from skillian.storage import TurnEvent
from tinyagent import Decision

MAX_NUMBER = 2**53

router = APIRouter(tags=["chat"])


@router.post("/chat", response_model=ChatResponse, responses=EVENTS)
async def chat(
    asked: ChatRequest, request: Request, service: TheService, owner: TheOwner
) -> Response | dict[str, Any]:
    """Answer a message in its session, or in a new one.

    With `Accept: text/event-stream` the turn is told as it happens.
    """
    if asked.session_id is None:
        service.slots.check()  # else the session would stay empty
        session_id = (await service.store.create(owner)).id
    else:
        session_id = (await service.store.get(owner, asked.session_id)).id
    return await _answer(service, request, owner, session_id, asked.message)


@router.post("/sessions/{session_id}/chat", response_model=ChatResponse, responses=EVENTS)
async def session_chat(
    session_id: SessionId,
    asked: SessionChatRequest,
    request: Request,
    service: TheService,
    owner: TheOwner,
) -> Response | dict[str, Any]:
    """Answer a message in its session; one after the other where several are asked."""
    await service.store.get(owner, session_id)
    return await _answer(service, request, owner, session_id, asked.message)


@router.get("/sessions/{session_id}/events", response_class=Response, responses={**EVENTS, 204: {}})
async def events(
    session_id: SessionId,
    service: TheService,
    owner: TheOwner,
    last_event_id: Annotated[str | None, Header(max_length=20, pattern=r"^\d*$")] = None,
) -> Response:
    """The events of a session after `Last-Event-ID`, then new ones until no turn is under way.

    204 where there is nothing more to come. Who reads keeps the turn going.
    """
    await service.store.get(owner, session_id)
    after = min(int(last_event_id or 0), MAX_NUMBER)
    progress = await service.store.progress(session_id, after, limit=1)
    if not progress.events and not progress.is_running:
        return Response(status_code=204)
    return EventStream(told(_followed(service, session_id, owner, after), session_id))


@router.post("/sessions/{session_id}/approvals/{call_id}", status_code=204)
async def approve(
    session_id: SessionId,
    call_id: Annotated[str, Path(max_length=200)],
    asked: Answer,
    service: TheService,
    owner: TheOwner,
) -> None:
    """Say yes or no to a call of a turn that waits for it, as its event `approval_wanted` says."""
    await service.store.get(owner, session_id)
    await service.runs.answer(session_id, call_id, Decision(asked.approved, asked.reason))


async def _followed(
    service: Service, session_id: str, owner: str, after: int
) -> AsyncGenerator[TurnEvent, None]:
    with service.runs.read(session_id, service.settings.resume_seconds):
        async with aclosing(follow(service.store, session_id, owner, after)) as found:
            async for event in found:
                yield event


async def _answer(
    service: Service, request: Request, owner: str, session_id: str, message: str
) -> Response | dict[str, Any]:
    run = service.runs.start(session_id, owner, message)
    grace = service.settings.resume_seconds
    if not wants_events(request):
        return await while_connected(request, _whole(service, run, session_id))
    with run.read(grace):
        # What is refused before the turn begins gets its own status.
        await while_connected(request, run.first())
        chunks = told(_read(run, grace), session_id)
        return EventStream(chunks, {"Location": f"/sessions/{session_id}"})


async def _read(run: Run, grace: float) -> AsyncGenerator[TurnEvent, None]:
    with run.read(grace):
        async with aclosing(run.events()) as found:
            async for event in found:
                yield event


async def _whole(service: Service, run: Run, session_id: str) -> dict[str, Any]:
    """The response, once the turn has ended."""
    last: TurnEvent | None = None
    with run.read(0):  # without its events nobody could go on with it
        async with aclosing(run.events()) as found:
            async for event in found:
                if event.type in {"answer", "turn_failed"}:
                    last = event
    if last is None and service.settings.durable:
        detail = "This server ends; the answer will be in the session."
        raise ProblemError(503, "turn_goes_on", detail)
    if last is None:
        raise ProblemError(503, "turn_cancelled", "This turn was cancelled; ask again.")
    if last.type == "turn_failed":
        raise ProblemError(500, "turn_failed", str(last.data["message"]))
    told_last = {name: value for name, value in last.data.items() if name != "content"}
    return {
        **told_last,
        "response": last.data["content"],
        "session_id": session_id,
        "model": service.agent.model_name,
    }
