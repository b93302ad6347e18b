"""`/ag-ui`: skillian as an agent, for any front end that speaks AG-UI.

The client keeps the conversation and sends all of it: nothing is stored.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, cast

from ag_ui.core import (
    AssistantMessage,
    ContentPart,
    DeveloperMessage,
    Message,
    RunAgentInput,
    SystemMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)
from ag_ui.core import ToolCall as AgUiCall
from fastapi import APIRouter, Response

from skillian.api.ag_ui_events import AgUiRun
from skillian.api.doors import in_slot
from skillian.api.openai_schemas import MAX_MESSAGES
from skillian.api.problems import ProblemError
from skillian.api.schemas import MAX_MESSAGE
from skillian.api.service import TheService
from skillian.api.stream import EventStream
from skillian.chat.conversation import Conversation
from skillian.chat.stateless import StatelessTurn
from tinyagent import ToolCall

_EXAMPLE = 'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n'

MAX_ID = 1000

router = APIRouter(tags=["AG-UI"])


@router.post(
    "/ag-ui",
    response_class=EventStream,
    responses={200: {"content": {"text/event-stream": {"example": _EXAMPLE}}}},
)
async def run(asked: RunAgentInput, service: TheService) -> Response:
    """Answer the last message with AG-UI's events; tools of the front end are not called."""
    if not asked.messages or not isinstance(asked.messages[-1], UserMessage):
        raise _invalid("messages: the last one must be the user's")
    for name, given in (("threadId", asked.thread_id), ("runId", asked.run_id)):
        if len(given) > MAX_ID or not _can_be_written(given):
            raise _invalid(f"{name}: it is a text of at most {MAX_ID} characters")
    if len(asked.messages) > MAX_MESSAGES:
        raise _invalid(f"messages: there are more than {MAX_MESSAGES}")
    question = _text(asked.messages[-1].content)
    if not question.strip() or len(question) > MAX_MESSAGE:
        raise _invalid(f"messages: the last one must have 1 to {MAX_MESSAGE} characters")
    turn = StatelessTurn(service.agent, question, conversation_of(asked.messages[:-1]))
    translated = AgUiRun(turn, asked.thread_id, asked.run_id)
    return EventStream(await in_slot(service.slots, _chunks(turn, translated)))


async def _chunks(turn: StatelessTurn, run: AgUiRun) -> AsyncGenerator[bytes, None]:
    yield _line(run.start().model_dump_json(by_alias=True))
    async with aclosing(turn.events()) as events:
        async for event in events:
            for translated in run.read(event):
                yield _line(translated.model_dump_json(by_alias=True))


def conversation_of(messages: Sequence[Message]) -> Conversation:
    """What was said before, with those calls that have a result, each beside it.

    Raises:
        ProblemError: a message holds more than text (422).
    """
    results = {
        message.tool_call_id: _text(message.content)
        for message in messages
        if isinstance(message, ToolMessage)
    }
    conversation = Conversation()
    for message in messages:
        match message:
            case UserMessage() | SystemMessage() | DeveloperMessage():
                conversation.add_user(_text(message.content))
            case AssistantMessage():
                calls = [
                    read
                    for call in message.tool_calls or ()
                    if call.id in results and (read := _call(call)) is not None
                ]
                if calls or message.content:
                    conversation.add_assistant(message.content or "", calls)
                for call in calls:
                    conversation.add_tool_result(results.pop(call.id, ""), call.id)
            case _:
                pass  # thoughts and what a front end shows beside are no part of it
    return conversation


def _call(call: AgUiCall) -> ToolCall | None:
    try:
        arguments: object = json.loads(call.function.arguments)
    except ValueError:
        return None
    if not isinstance(arguments, dict):
        return None
    return ToolCall(call.id, call.function.name, cast("dict[str, Any]", arguments))


def _text(content: str | Sequence[ContentPart]) -> str:
    if isinstance(content, str):
        return content
    if not all(isinstance(part, TextPart) for part in content):
        raise _invalid("messages: only text can be read")
    return "\n".join(part.text for part in content if isinstance(part, TextPart))


def _can_be_written(text: str) -> bool:
    """Whether a text is one in UTF-8: JSON can hold half a character, which no answer can."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _invalid(detail: str) -> ProblemError:
    return ProblemError(422, "validation_error", detail)


def _line(text: str) -> bytes:
    return f"data: {text}\n\n".encode()
