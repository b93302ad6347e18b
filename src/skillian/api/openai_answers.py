"""A turn's events as a chat completion, whole and in chunks."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Literal
from uuid import uuid4

from skillian.api.openai_schemas import (
    CachedTokens,
    Choice,
    Completion,
    CompletionUsage,
    ErrorDetail,
    Message,
)
from skillian.chat.stateless import StatelessTurn
from skillian.storage import Draft

DONE = b"data: [DONE]\n\n"
_CALL_LIKE = ("{", "[", "<", "`")


def completion(answer: Mapping[str, Any], model: str) -> Completion:
    """The completion that an `answer` amounts to."""
    usage = answer["usage"]
    choice = Choice(message=Message(content=answer["content"]), finish_reason=_reason(answer))
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
    turn: StatelessTurn, told: Callable[[str], None], *, model: str, with_usage: bool
) -> AsyncGenerator[bytes, None]:
    """The turn as chunks for the wire; a failure is the last one, with `error`.

    Args:
        turn: is run.
        told: is given the whole text that was sent, once there is an answer.
        model: its name.
        with_usage: whether the last chunk says what it cost.
    """
    head = {
        "id": _new_id(),
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": model,
    }
    head |= {"usage": None} if with_usage else {}
    spoken = Spoken()
    yield _chunk(head, {"role": "assistant", "content": ""})
    async with aclosing(turn.events()) as events:
        async for event in events:
            failed = failure_of(turn, event)
            if failed is not None:
                yield _line({"error": failed.model_dump()})
                break
            if text := spoken.read(event):
                yield _chunk(head, {"content": text})
            if event.type == "answer":
                told(spoken.text)
                whole = completion(event.data, model)
                yield _chunk(head, {}, _reason(event.data), skillian=whole.skillian)
                if with_usage:
                    yield _line({**head, "choices": [], "usage": whole.usage.model_dump()})
    yield DONE


def failure_of(turn: StatelessTurn, event: Draft) -> ErrorDetail | None:
    """The error that a last event is, of a turn whose model failed."""
    if event.type == "turn_failed":
        return ErrorDetail(
            message=str(event.data["message"]), type="server_error", code="turn_failed"
        )
    if event.type == "answer" and turn.result is not None and turn.result.state == "error":
        return ErrorDetail(
            message=str(event.data["content"]), type="server_error", code="model_failed"
        )
    return None


class Spoken:
    """What of a turn's text is sent: a stream cannot take back what it has said.

    What a model writes before its calls is sent as it comes. A step whose text begins as a call
    does, as models write it that know no other way, waits until it proves to be the answer.

    Attributes:
        text: all that is sent.
    """

    def __init__(self) -> None:
        self.text = ""
        self._step: Any = 0
        self._written = ""
        self._sent = ""

    def read(self, event: Draft) -> str:
        """What is to be sent now, often nothing."""
        if event.type == "answer":
            content = str(event.data["content"])
            return "" if content.strip() == self._sent.strip() else self._say(content)
        if event.type != "delta" or event.data["kind"] == "reasoning":
            return ""
        if event.data["step"] != self._step or event.data["kind"] == "restart":
            self._step, self._written, self._sent = event.data["step"], "", ""
        self._written += event.data["text"] if event.data["kind"] == "text" else ""
        beginning = self._written.lstrip()
        if not beginning or beginning.startswith(_CALL_LIKE):
            return ""
        return self._say(self._written[len(self._sent) :])

    def _say(self, text: str) -> str:
        """Send the text, apart from what is sent of other steps."""
        told = f"\n\n{text}" if self.text and not self._sent else text
        self._sent += text
        self.text += told
        return told


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
    """The tool calls without their results, which may be long, and what the numbers rest on."""
    calls = [
        {name: value for name, value in call.items() if name != "result"}
        for call in answer["tool_calls"]
    ]
    return {
        "tool_calls": calls,
        "references": answer["references"],
        "unverified": answer["unverified"],
    }


def _new_id() -> str:
    return f"chatcmpl-{uuid4().hex}"
