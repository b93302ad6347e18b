"""`/v1`: skillian as a model for any client of chat completions.

The messages of a request are the conversation; nothing is stored. skillian calls its own tools.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from skillian.api.limits import in_slot
from skillian.api.problems import CHAT_COMPLETIONS, ProblemError
from skillian.api.protocols.openai_schemas import (
    CachedTokens,
    Completion,
    CompletionChoice,
    CompletionMessage,
    CompletionRequest,
    CompletionUsage,
    ErrorDetail,
    ErrorReply,
    ModelCard,
    ModelList,
)
from skillian.api.service import MAX_MESSAGE, TheOwner, TheService
from skillian.api.streams import EventStream, while_connected
from skillian.chat.agent import Conversation
from skillian.chat.stateless import StatelessTurn
from skillian.errors import quoted
from skillian.storage import Draft

MODEL = "skillian"
"""The name of the one model."""
STARTED = int(time.time())
DONE = b"data: [DONE]\n\n"
_CALL_LIKE = ("{", "[", "<", "`")

_EXAMPLE = 'data: {"object":"chat.completion.chunk","choices":[{"delta":{"content":"7 of"}}]}\n\n'
_BAD_REQUEST, _BAD_GATEWAY, _INTERNAL = 400, 502, 500


router = APIRouter(prefix=CHAT_COMPLETIONS, tags=["chat completions"])


@router.get("/models")
async def list_models() -> ModelList:
    """List the one model, skillian."""
    return ModelList(data=[_card()])


@router.get("/models/{name}", responses={404: {"model": ErrorReply}})
async def get_model(name: str) -> ModelCard:
    """Read the model of this name."""
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
    body: CompletionRequest, request: Request, service: TheService, owner: TheOwner
) -> Any:
    """Answer the last message, at once or in chunks (`stream`)."""
    _check_model(body.model)
    transcript = [(_role(message.role), message.text) for message in body.messages]
    role, question = transcript.pop()
    if body.messages[-1].role != "user" or not question.strip():
        raise _invalid("messages: the last one must be from the user, and not empty")
    if len(question) > MAX_MESSAGE:
        raise _invalid(f"messages: the last one has more than {MAX_MESSAGE} characters")
    turn = StatelessTurn(service.agent, question, service.recall.find(owner, transcript))

    def keep(answer: str) -> None:
        if turn.result is not None:
            whole = [*transcript, (role, question), ("assistant", answer)]
            service.recall.remember(owner, whole, Conversation(turn.result.memory))

    if body.stream:
        with_usage = body.stream_options is not None and body.stream_options.include_usage
        lines = chunks(turn, keep, model=MODEL, with_usage=with_usage)
        return EventStream(await in_slot(service.slots, lines))
    with service.slots.taken():
        answer = await while_connected(request, _last(turn))
    failure = failure_of(turn, answer)
    if failure is not None:
        # The model's server has been asked several times already.
        no_retry = {"x-should-retry": "false"}
        status = _INTERNAL if answer.type == "turn_failed" else _BAD_GATEWAY
        return _error(status, failure, no_retry)
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
    """A client's instructions count as a user's message: skillian has its own instructions."""
    return "assistant" if role == "assistant" else "user"


def _check_model(name: str) -> None:
    if name != MODEL:
        detail = f"there is no model {quoted(name)} here; ask for {MODEL!r}"
        raise ProblemError(404, "model_not_found", detail, None, param="model")


def _card() -> ModelCard:
    return ModelCard(id=MODEL, created=STARTED)


def _invalid(message: str) -> ProblemError:
    return ProblemError(_BAD_REQUEST, "invalid_value", message, None, param="messages")


def _error(status: int, detail: ErrorDetail, headers: dict[str, str]) -> Response:
    return JSONResponse(ErrorReply(error=detail).model_dump(), status, headers)


def completion(answer: Mapping[str, Any], model: str) -> Completion:
    """The completion for an event `answer`."""
    usage = answer["usage"]
    choice = CompletionChoice(
        message=CompletionMessage(content=answer["content"]), finish_reason=_reason(answer)
    )
    return Completion(
        id=_new_id(),
        created=int(time.time()),
        model=model,
        choices=[choice],
        usage=CompletionUsage(
            prompt_tokens=usage["input_tokens"],
            completion_tokens=usage["output_tokens"],
            total_tokens=usage["input_tokens"] + usage["output_tokens"],
            prompt_tokens_details=CachedTokens(cached_tokens=usage["cached_tokens"]),
        ),
        skillian=_skillian(answer),
    )


async def chunks(
    turn: StatelessTurn, keep: Callable[[str], None], *, model: str, with_usage: bool
) -> AsyncGenerator[bytes, None]:
    """The turn as server-sent chunks; a failure is the last one, with `error`.

    Args:
        turn: The turn to run.
        keep: Called with the whole text that was sent, once there is an answer.
        model: Its name.
        with_usage: Whether the last chunk has the token usage.
    """
    head = {
        "id": _new_id(),
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": model,
    }
    head |= {"usage": None} if with_usage else {}
    sent = SentText()
    yield _chunk(head, {"role": "assistant", "content": ""})
    async with aclosing(turn.events()) as events:
        async for event in events:
            failure = failure_of(turn, event)
            if failure is not None:
                yield _line({"error": failure.model_dump()})
                break
            if text := sent.read(event):
                yield _chunk(head, {"content": text})
            if event.type == "answer":
                keep(sent.text)
                whole = completion(event.data, model)
                yield _chunk(head, {}, _reason(event.data), skillian=whole.skillian)
                if with_usage:
                    yield _line({**head, "choices": [], "usage": whole.usage.model_dump()})
    yield DONE


def failure_of(turn: StatelessTurn, event: Draft) -> ErrorDetail | None:
    """The error in the last event of a turn that failed, or whose model failed."""
    if event.type == "turn_failed":
        return ErrorDetail(
            message=str(event.data["message"]), type="server_error", code="turn_failed"
        )
    if event.type == "answer" and turn.result is not None and turn.result.state == "error":
        return ErrorDetail(
            message=str(event.data["content"]), type="server_error", code="model_failed"
        )
    return None


class SentText:
    """The part of a turn's text that is sent; a stream cannot take back what it has sent.

    Text before tool calls is sent as it arrives. Text that starts like a call, because some models
    write calls as text, is held back until it proves to be the answer.

    Attributes:
        text: All that is sent.
    """

    def __init__(self) -> None:
        self.text = ""
        self._step: Any = 0
        self._written = ""
        self._sent = ""

    def read(self, event: Draft) -> str:
        """The text to send now, often none."""
        if event.type == "answer":
            content = str(event.data["content"])
            return "" if content.strip() == self._sent.strip() else self._send(content)
        if event.type != "delta" or event.data["kind"] == "reasoning":
            return ""
        if event.data["step"] != self._step or event.data["kind"] == "restart":
            self._step, self._written, self._sent = event.data["step"], "", ""
        self._written += event.data["text"] if event.data["kind"] == "text" else ""
        beginning = self._written.lstrip()
        if not beginning or beginning.startswith(_CALL_LIKE):
            return ""
        return self._send(self._written[len(self._sent) :])

    def _send(self, text: str) -> str:
        """Note a text as sent, set apart from the text of other steps."""
        separate = f"\n\n{text}" if self.text and not self._sent else text
        self._sent += text
        self.text += separate
        return separate


def _chunk(
    head: Mapping[str, Any],
    delta: Mapping[str, Any],
    reason: Literal["stop", "length"] | None = None,
    **more: Any,
) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
    return _line({**head, "choices": [choice], **more})


def _line(data: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def _reason(answer: Mapping[str, Any]) -> Literal["stop", "length"]:
    return "stop" if answer["finished"] else "length"


def _skillian(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The tool calls without their results, which may be long, and the checks of the numbers."""
    calls = [
        {name: value for name, value in call.items() if name != "result"}
        for call in answer["tool_calls"]
    ]
    return {
        "tool_calls": calls,
        "references": answer["references"],
        "unverified": answer["unverified"],
        "scope": answer.get("scope", []),
        "offers": answer.get("offers", []),
    }


def _new_id() -> str:
    return f"chatcmpl-{uuid4().hex}"
