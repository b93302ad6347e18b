"""`/ag-ui`: skillian as an agent for any front end that speaks AG-UI, by its official package.

The client keeps the conversation and sends all of it; nothing is stored.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast
from uuid import uuid4

from ag_ui.core import (
    PROTOCOL_VERSION,
    AssistantMessage,
    BaseEvent,
    ContentPart,
    CustomEvent,
    DeveloperMessage,
    Message,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    SystemMessage,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TextPart,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
    UserMessage,
)
from ag_ui.core import ToolCall as AgUiCall
from fastapi import APIRouter, Response

from skillian.api.limits import in_slot
from skillian.api.problems import ProblemError
from skillian.api.protocols.openai_schemas import MAX_MESSAGES
from skillian.api.service import MAX_MESSAGE, TheService
from skillian.api.streams import EventStream
from skillian.chat.agent import Conversation
from skillian.chat.stateless import StatelessTurn
from skillian.chat.turn_events import bounded
from skillian.storage import Draft
from tinyagent import ToolCall

_EXAMPLE = 'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n'

MAX_ID = 1000

router = APIRouter(tags=["AG-UI"])


@router.post(
    "/ag-ui",
    response_class=EventStream,
    responses={200: {"content": {"text/event-stream": {"example": _EXAMPLE}}}},
)
async def run(body: RunAgentInput, service: TheService) -> Response:
    """Answer the last message with AG-UI events; the front end's tools are not called."""
    if not body.messages or not isinstance(body.messages[-1], UserMessage):
        raise _invalid("messages: the last one must be from the user")
    for name, text in (("threadId", body.thread_id), ("runId", body.run_id)):
        if len(text) > MAX_ID or not _is_unicode(text):
            raise _invalid(f"{name}: must be text of at most {MAX_ID} characters")
    if len(body.messages) > MAX_MESSAGES:
        raise _invalid(f"messages: there are more than {MAX_MESSAGES}")
    question = _text(body.messages[-1].content)
    if not question.strip() or len(question) > MAX_MESSAGE:
        raise _invalid(f"messages: the last one must have 1 to {MAX_MESSAGE} characters")
    turn = StatelessTurn(service.agent, question, conversation_of(body.messages[:-1]))
    translated = AgUiRun(turn, body.thread_id, body.run_id)
    return EventStream(await in_slot(service.slots, _chunks(turn, translated)))


async def _chunks(turn: StatelessTurn, run: AgUiRun) -> AsyncGenerator[bytes, None]:
    yield _line(run.start().model_dump_json(by_alias=True))
    async with aclosing(turn.events()) as events:
        async for event in events:
            for translated in run.read(event):
                yield _line(translated.model_dump_json(by_alias=True))


def conversation_of(messages: Sequence[Message]) -> Conversation:
    """The conversation so far, with the calls that have a result, each next to its result.

    Raises:
        ProblemError: A message holds more than text (422).
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
                pass  # reasoning and front-end activity are not part of the conversation
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
        raise _invalid("messages: only text is supported")
    return "\n".join(part.text for part in content if isinstance(part, TextPart))


def _is_unicode(text: str) -> bool:
    """Whether UTF-8 can hold the text: JSON can hold half a surrogate pair, an answer cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _invalid(detail: str) -> ProblemError:
    return ProblemError(422, "validation_error", detail)


def _line(text: str) -> bytes:
    return f"data: {text}\n\n".encode()


class AgUiRun:
    """Translates the events of one run, in their order.

    Args:
        turn: The turn.
        thread_id: The client's id of the conversation.
        run_id: The client's id of the run.
    """

    def __init__(self, turn: StatelessTurn, thread_id: str, run_id: str) -> None:
        self._turn = turn
        self._thread_id = thread_id
        self._run_id = run_id
        self._message = ""
        self._part: tuple[int, str] = (0, "")
        self._text = ""

    def start(self) -> BaseEvent:
        """The first event."""
        return RunStartedEvent(
            thread_id=self._thread_id, run_id=self._run_id, protocol_version=PROTOCOL_VERSION
        )

    def read(self, event: Draft) -> Iterator[BaseEvent]:
        """The AG-UI events for an event; after `answer` or `turn_failed` the run has ended."""
        data = event.data
        match event.type:
            case "delta" if data["kind"] == "restart":
                yield from self._close()
            case "delta":
                yield from self._write(data["step"], data["kind"], data["text"])
            case "tool_started":
                yield from self._close()
                yield from self._call(data)
            case "tool_finished":
                yield _result(data)
            case "answer":
                yield from self._answer(data)
            case "model_finished":
                pass  # the last event has the totals
            case "turn_failed":
                yield from self._close()
                yield RunErrorEvent(message=data["message"], code="turn_failed")
            case _:
                yield CustomEvent(name=event.type, value=data)

    def _write(self, step: int, kind: str, text: str) -> Iterator[BaseEvent]:
        if self._part != (step, kind):
            yield from self._close()
            self._part, self._message, self._text = (step, kind), uuid4().hex, ""
            if kind == "reasoning":
                yield ReasoningStartEvent(message_id=self._message)
                yield ReasoningMessageStartEvent(message_id=self._message)
            else:
                yield TextMessageStartEvent(message_id=self._message)
        if text:
            self._text += text
            content = TextMessageContentEvent if kind == "text" else ReasoningMessageContentEvent
            yield content(message_id=self._message, delta=text)

    def _close(self) -> Iterator[BaseEvent]:
        """End the message in progress."""
        if self._part[1] == "reasoning":
            yield ReasoningMessageEndEvent(message_id=self._message)
            yield ReasoningEndEvent(message_id=self._message)
        elif self._part[1]:
            yield TextMessageEndEvent(message_id=self._message)
        self._part = (0, "")

    def _call(self, data: Mapping[str, Any]) -> Iterator[BaseEvent]:
        call = data["id"]
        yield ToolCallStartEvent(tool_call_id=call, tool_call_name=data["tool"])
        yield ToolCallArgsEvent(tool_call_id=call, delta=_json(data["args"]))
        yield ToolCallEndEvent(tool_call_id=call)

    def _answer(self, data: Mapping[str, Any]) -> Iterator[BaseEvent]:
        result = self._turn.result
        used = data["usage"]
        usage = TokenUsage(
            input_tokens=used["input_tokens"],
            output_tokens=used["output_tokens"],
            total_tokens=used["input_tokens"] + used["output_tokens"],
            cached_input_tokens=used["cached_tokens"],
        )
        if result is not None and result.state == "error":
            yield from self._close()
            yield RunErrorEvent(message=data["content"], code="model_failed", usage=[usage])
            return
        if self._part[1] != "text" or self._text.strip() != data["content"].strip():
            yield from self._close()
            yield from self._write(-1, "text", data["content"])
        yield from self._close()
        result_data = {name: data[name] for name in ("finished", "references", "unverified")}
        result_data |= {name: data.get(name, []) for name in ("scope", "offers")}
        yield RunFinishedEvent(
            thread_id=self._thread_id, run_id=self._run_id, result=result_data, usage=[usage]
        )


def _result(data: Mapping[str, Any]) -> BaseEvent:
    result = data["result"]
    text = result if isinstance(result, str) else _json(result)
    call = data["id"]
    return ToolCallResultEvent(message_id=uuid4().hex, tool_call_id=call, content=bounded(text))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
