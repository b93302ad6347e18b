"""Chat: a message and its answer, whole or streamed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from skillian.api.problems import ProblemError
from skillian.api.service import (
    MAX_MESSAGE,
    Body,
    OpenTurn,
    Service,
    SessionId,
    TheOwner,
    TheService,
)
from skillian.api.streams import (
    EVENTS,
    EventStream,
    encoded,
    wants_events,
    while_connected,
)
from skillian.chat.turns import follow
from skillian.storage import TurnEvent
from tinyagent import Decision

MAX_NUMBER = 2**53

router = APIRouter(tags=["chat"])


def _has_text(message: str) -> str:
    if not message.strip():
        raise ValueError("the message is empty")
    return message


MessageText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_MESSAGE,
        description="The message in words.",
        examples=["Compare amounts between fi_reporting and bpc_reporting for company 1001"],
    ),
    AfterValidator(_has_text),
]


class SessionChatRequest(Body):
    """A message to a session."""

    message: MessageText


class ChatRequest(SessionChatRequest):
    """A message to a session, or without `session_id` to a new session."""

    session_id: SessionId | None = None


class ToolCallInfo(BaseModel):
    """A tool call; `result` is its JSON, or its text if it is not JSON."""

    tool: str
    args: dict[str, Any]
    result: Any
    duration_ms: float


class UsageInfo(BaseModel):
    """The model calls of a turn and their tokens."""

    requests: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int


class ReferenceInfo(BaseModel):
    """A number of the answer and its place in a tool's result."""

    model_config = ConfigDict(extra="allow")


class ChatResponse(BaseModel):
    """The answer to a message.

    `finished` is false if a limit ended the turn without an answer: `response` then has the results
    so far and the reason. The numbers of `unverified` are in no tool result. Each entry of `scope`
    has what one call covered, in parts: sources, measures, conditions, groups, limits, time.
    `offers` are the readings of a question that was not answered, each a question to ask instead.
    `verified` is whether the answer is the one that the team has verified; null if there is none.
    """

    response: str
    tool_calls: list[ToolCallInfo]
    session_id: str
    finished: bool
    usage: UsageInfo
    model: str = Field(description="The model that answered; the offline planner is named as such.")
    references: list[ReferenceInfo]
    unverified: list[str]
    scope: list[list[str]] = []
    offers: list[str] = []
    verified: bool | None = None


class ApprovalRequest(Body):
    """Whether a waiting call may be made; the model reads the reason of a refusal."""

    approved: bool
    reason: str = Field("", max_length=1000)


@router.post("/chat", response_model=ChatResponse, responses=EVENTS)
async def chat(
    body: ChatRequest, request: Request, service: TheService, owner: TheOwner
) -> Response | dict[str, Any]:
    """Answer a message in its session, or in a new one.

    With `Accept: text/event-stream` the turn is streamed as it happens.
    """
    session_id = body.session_id
    if session_id is None:
        service.slots.check()  # otherwise the session would stay empty
        session_id = (await service.store.create(owner)).id
    return await _answer(service, request, owner, session_id, body.message)


@router.post("/sessions/{session_id}/chat", response_model=ChatResponse, responses=EVENTS)
async def session_chat(
    session_id: SessionId,
    body: SessionChatRequest,
    request: Request,
    service: TheService,
    owner: TheOwner,
) -> Response | dict[str, Any]:
    """Answer a message in its session; several messages are answered one after another."""
    return await _answer(service, request, owner, session_id, body.message)


@router.get("/sessions/{session_id}/events", response_class=Response, responses={**EVENTS, 204: {}})
async def events(
    session_id: SessionId,
    service: TheService,
    owner: TheOwner,
    last_event_id: Annotated[str | None, Header(max_length=20, pattern=r"^\d*$")] = None,
) -> Response:
    """The events of a session after `Last-Event-ID`, then new ones until no turn is running.

    204 if there are none to come. Reading keeps the turn going.
    """
    await service.store.get(owner, session_id)
    after = min(int(last_event_id or 0), MAX_NUMBER)
    progress = await service.store.progress(session_id, after, limit=1)
    if not progress.events and not progress.is_running:
        return Response(status_code=204)
    return EventStream(encoded(_followed(service, session_id, owner, after), session_id))


@router.post("/sessions/{session_id}/approvals/{call_id}", status_code=204)
async def approve(
    session_id: SessionId,
    call_id: Annotated[str, Path(max_length=200)],
    body: ApprovalRequest,
    service: TheService,
    owner: TheOwner,
) -> None:
    """Approve or refuse a call that waits for it, as its event `approval_wanted` says."""
    await service.store.get(owner, session_id)
    await service.turns.answer(session_id, call_id, Decision(body.approved, body.reason))


async def _followed(
    service: Service, session_id: str, owner: str, after: int
) -> AsyncGenerator[TurnEvent, None]:
    with service.turns.read(session_id, service.settings.resume_seconds):
        async with aclosing(follow(service.store, session_id, owner, after)) as events_of_turn:
            async for event in events_of_turn:
                yield event


async def _answer(
    service: Service, request: Request, owner: str, session_id: str, message: str
) -> Response | dict[str, Any]:
    turn = service.turns.start(session_id, owner, message)
    grace = service.settings.resume_seconds
    if not wants_events(request):
        return await while_connected(request, _whole(service, turn, session_id))
    with turn.read(grace):
        # An error before the turn begins has its own status.
        await while_connected(request, turn.first())
        chunks = encoded(_read(turn, grace), session_id)
        return EventStream(chunks, {"Location": f"/sessions/{session_id}"})


async def _read(turn: OpenTurn, grace: float) -> AsyncGenerator[TurnEvent, None]:
    with turn.read(grace):
        async with aclosing(turn.events()) as events_of_turn:
            async for event in events_of_turn:
                yield event


async def _whole(service: Service, turn: OpenTurn, session_id: str) -> dict[str, Any]:
    """The response, once the turn has ended."""
    last: TurnEvent | None = None
    with turn.read(0):  # without its events no client can resume it
        async with aclosing(turn.events()) as events_of_turn:
            async for event in events_of_turn:
                if event.type in {"answer", "turn_failed"}:
                    last = event
    if last is None and await service.store.running_turn(session_id) is not None:
        detail = "This server is stopping; the answer will be in the session."
        raise ProblemError(503, "turn_goes_on", detail)
    if last is None or last.data.get("type") == "cancelled":
        raise ProblemError(503, "turn_cancelled", "This turn was cancelled; ask again.")
    if last.type == "turn_failed":
        raise ProblemError(500, "turn_failed", str(last.data["message"]))
    rest = {name: value for name, value in last.data.items() if name != "content"}
    return {
        **rest,
        "response": last.data["content"],
        "session_id": session_id,
        "model": service.agent.model_name,
    }
