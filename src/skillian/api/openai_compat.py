"""`/v1`: skillian as a model, for any client of chat completions.

The messages of a request are the conversation; nothing is stored. Tools are called inside.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from skillian.api.doors import in_slot
from skillian.api.openai_answers import chunks, completion, failure_of
from skillian.api.openai_schemas import (
    Completion,
    CompletionRequest,
    ErrorDetail,
    ErrorReply,
    ModelCard,
    ModelList,
)
from skillian.api.problems import ProblemError, problem_of
from skillian.api.schemas import MAX_MESSAGE
from skillian.api.service import TheOwner, TheService
from skillian.api.stream import EventStream, while_connected
from skillian.chat.conversation import Conversation
from skillian.chat.stateless import StatelessTurn
from skillian.errors import ToolError, quoted
from skillian.storage import Draft, StorageError

MODEL = "skillian"
"""The name of the one model."""
STARTED = int(time.time())

_EXAMPLE = 'data: {"object":"chat.completion.chunk","choices":[{"delta":{"content":"7 of"}}]}\n\n'
_KINDS = {401: "authentication_error", 429: "rate_limit_error"}
_BAD_REQUEST, _UNPROCESSABLE, _BAD_GATEWAY, _INTERNAL = 400, 422, 502, 500


class OpenAIRoute(APIRoute):
    """A route whose errors have the form that clients of chat completions read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, with its errors turned."""
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await handle(request)
            except (
                HTTPException,
                ProblemError,
                RequestValidationError,
                StorageError,
                ToolError,
            ) as error:
                return _told(problem_of(error))

        return guarded


router = APIRouter(prefix="/v1", tags=["chat completions"], route_class=OpenAIRoute)


@router.get("/models")
async def list_models() -> ModelList:
    """The one model: skillian, with whatever answers behind it."""
    return ModelList(data=[_card()])


@router.get("/models/{name}", responses={404: {"model": ErrorReply}})
async def get_model(name: str) -> ModelCard:
    """The model of that name."""
    _check_model(name)
    return _card()


@router.post(
    "/chat/completions",
    response_model=Completion,
    responses={
        200: {"content": {"text/event-stream": {"example": _EXAMPLE}}},
        **{status: {"model": ErrorReply} for status in (400, 404, 500, 502, 503)},
    },
)
async def complete(
    asked: CompletionRequest, request: Request, service: TheService, owner: TheOwner
) -> Any:
    """Answer the last message, at once or in chunks (`stream`)."""
    _check_model(asked.model)
    said = [(_role(message.role), message.text) for message in asked.messages]
    role, question = said.pop()
    if asked.messages[-1].role != "user" or not question.strip():
        raise _invalid("messages: the last one must be the user's, and say something")
    if len(question) > MAX_MESSAGE:
        raise _invalid(f"messages: the last one has more than {MAX_MESSAGE} characters")
    turn = StatelessTurn(service.agent, question, service.recall.find(owner, said))

    def keep(answer: str) -> None:
        if turn.result is not None:
            whole = [*said, (role, question), ("assistant", answer)]
            service.recall.remember(owner, whole, Conversation(turn.result.memory))

    if asked.stream:
        with_usage = asked.stream_options is not None and asked.stream_options.include_usage
        written = chunks(turn, keep, model=MODEL, with_usage=with_usage)
        return EventStream(await in_slot(service.slots, written))
    with service.slots.taken():
        answer = await while_connected(request, _last(turn))
    failed = failure_of(turn, answer)
    if failed is not None:
        # What the model's server refused, it was asked often enough.
        no_retry = {"x-should-retry": "false"}
        status = _INTERNAL if answer.type == "turn_failed" else _BAD_GATEWAY
        return _error(status, failed, no_retry)
    keep(answer.data["content"])
    return completion(answer.data, MODEL)


async def _last(turn: StatelessTurn) -> Draft:
    last: Draft | None = None
    async with aclosing(turn.events()) as events:
        async for event in events:
            last = event
    if last is None:
        raise AssertionError("a turn always ends with an event")
    return last


def _role(role: str) -> str:
    """A client's instructions count as said by the user: skillian has its own."""
    return "assistant" if role == "assistant" else "user"


def _check_model(name: str) -> None:
    if name != MODEL:
        detail = f"there is no model {quoted(name)} here; ask for {MODEL!r}"
        raise ProblemError(404, "model_not_found", detail, None, param="model")


def _card() -> ModelCard:
    return ModelCard(id=MODEL, created=STARTED)


def _invalid(message: str) -> ProblemError:
    return ProblemError(_BAD_REQUEST, "invalid_value", message, None, param="messages")


def _told(problem: ProblemError) -> Response:
    status = _BAD_REQUEST if problem.status == _UNPROCESSABLE else problem.status
    faults: list[dict[str, str]] = problem.extra.get("errors") or []  # type: ignore[assignment]
    param = problem.extra.get("param") or (faults[0]["where"] if faults else None)
    told = "; ".join(f"{fault['where']}: {fault['message']}" for fault in faults)
    kind = _KINDS.get(status, "invalid_request_error" if status < _INTERNAL else "server_error")
    detail = ErrorDetail(
        message=told or problem.detail,
        type=kind,
        param=None if param is None else str(param),
        code=problem.code,
    )
    return _error(status, detail, problem.headers)


def _error(status: int, detail: ErrorDetail, headers: dict[str, str]) -> Response:
    return JSONResponse(ErrorReply(error=detail).model_dump(), status, headers)
