"""A turn's events as those of AG-UI, by its official package."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

from ag_ui.core import (
    PROTOCOL_VERSION,
    BaseEvent,
    CustomEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from skillian.chat.stateless import StatelessTurn
from skillian.chat.turn_events import bounded
from skillian.storage import Draft


class AgUiRun:
    """Turns the events of one run, in their order.

    Args:
        turn: what runs.
        thread_id, run_id: as the client calls them.
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
        """What an event comes to; after `answer` or `turn_failed` the run has ended."""
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
                pass  # what all of them took is told at the end
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
        """End the message that is being written."""
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
        told = {name: data[name] for name in ("finished", "references", "unverified")}
        yield RunFinishedEvent(
            thread_id=self._thread_id, run_id=self._run_id, result=told, usage=[usage]
        )


def _result(data: Mapping[str, Any]) -> BaseEvent:
    result = data["result"]
    text = result if isinstance(result, str) else _json(result)
    call = data["id"]
    return ToolCallResultEvent(message_id=uuid4().hex, tool_call_id=call, content=bounded(text))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
