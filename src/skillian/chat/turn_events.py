"""From an agent's events, read in batches, to the messages and events of a turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, field
from itertools import groupby
from time import perf_counter
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from skillian.chat.agent import ApprovalGiven, ApprovalWanted, as_stored, respond
from skillian.chat.check.grounded import offers_of
from skillian.chat.scope import scopes_of
from skillian.offline.planner import NOT_UNDERSTOOD
from skillian.storage import Draft
from tinyagent import (
    CodeFinished,
    CodeStarted,
    Event,
    Message,
    OutputDelta,
    RunFinished,
    RunResult,
    StepFinished,
    TextDelta,
    ToolCall,
    ToolFinished,
    ToolResult,
    ToolStarted,
    Usage,
)
from tinyagent.core import ModelRequested, ModelResponded, ModelResponse, SignalGiven, remembered

DELTA_SECONDS = 0.1
LONGEST_SECONDS = 1.0
# Text waits this many times as long as the last batch took: under load, batches grow.
_PATIENCE = 50
DELTA_CHARACTERS = 512
GATHER_SECONDS = 0.05
"""How long other events wait for more: what comes within it is stored by one write."""


class Batches:
    """Reads the events of a stream as they arrive. Leaving the block ends the stream.

    A batch of text only is returned every `DELTA_SECONDS` (less often if its reader is slow) or
    `DELTA_CHARACTERS`; any other event returns the batch within `GATHER_SECONDS`, and a call
    that waits for approval at once.
    """

    def __init__(self, stream: AsyncGenerator[Event, None]) -> None:
        self._stream = stream
        self._events: list[Event] = []
        self._characters = 0
        self._has_ended = False
        # The end, long text, and a call that waits for a person do not wait for more.
        self._at_once = asyncio.Event()
        self._some = asyncio.Event()
        # Text comes in thousands of pieces; they do not wake the reader before it is time.
        self._urgent = asyncio.Event()
        self._returned = 0.0
        self._task = asyncio.create_task(self._take())

    def stop(self) -> None:
        """End the stream; the events so far are still returned."""
        self._task.cancel()

    async def next(self) -> Sequence[Event]:
        """The next events, at least one, or none when the stream has ended; text is joined.

        Raises:
            Exception: The exception of the stream.
        """
        loop = asyncio.get_running_loop()
        due = self._due(loop.time())
        await self._some.wait()
        if not self._urgent.is_set() and loop.time() < due:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._urgent.wait()
        if self._urgent.is_set() and not self._at_once.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(GATHER_SECONDS):
                    await self._at_once.wait()
        batch, self._events, self._characters = self._events, [], 0
        if not self._has_ended:  # otherwise the flags stay set
            self._some.clear()
            self._urgent.clear()
            self._at_once.clear()
        elif not batch and not self._task.cancelled():
            await self._task
        self._returned = loop.time()
        return joined(batch)

    def _due(self, now: float) -> float:
        """When a batch of text only is due."""
        if not self._returned:
            return now
        pause = max(DELTA_SECONDS, (now - self._returned) * _PATIENCE)
        return self._returned + min(pause, LONGEST_SECONDS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # `next` raised it, or it came after the end

    async def _take(self) -> None:
        try:
            async with aclosing(self._stream) as events:
                async for event in events:
                    self._events.append(event)
                    self._some.set()
                    if isinstance(event, TextDelta):
                        self._characters += len(event.text)
                    is_long = self._characters >= DELTA_CHARACTERS
                    if is_long or not isinstance(event, TextDelta):
                        self._urgent.set()
                    if is_long or isinstance(event, ApprovalWanted):
                        self._at_once.set()
        finally:
            self._has_ended = True
            self._some.set()
            self._urgent.set()
            self._at_once.set()


def joined(events: Iterable[Event]) -> list[Event]:
    """The events, with adjacent pieces of the same text joined."""
    result: list[Event] = []
    for text, run in groupby(events, _text_of):
        if text is None:
            result += run
        else:
            pieces = cast("Iterator[TextDelta]", run)
            result.append(TextDelta(text[0], "".join(piece.text for piece in pieces), text[1]))
    return result


def _text_of(event: Event) -> tuple[int, str] | None:
    """The text that it is a piece of; None if it is not text, or restarts a text."""
    if isinstance(event, TextDelta) and event.kind != "restart":
        return event.step, event.kind
    return None


MAX_RESULT_CHARACTERS = 20_000
"""The maximum length of a tool result in the memory of later turns; the same as within a turn."""
MAX_RESULTS_BYTES = 2 * 1024 * 1024
"""The maximum size of the JSON of all tool results in the events of a turn."""

MAX_ORIGINS = 50
"""The maximum number of values of a call whose origins a question shows."""

T = TypeVar("T")
AgentEvent = Event | ApprovalWanted | ApprovalGiven
Check = Callable[[str, Sequence[Any], str], Any]
"""`answer_check.check_answer`, for example: takes the answer, the tool results and the question."""
Verify = Callable[[str, Mapping[str, Any], str], bool | None]
"""Takes the question, the data of the event `answer` and the finish reason of the last reply.

Returns whether the answer is the one that the team has verified; None if the team has none.
"""


@dataclass(slots=True)
class TurnRecord:
    """Reads a turn's events; `taken` returns the messages and events to store.

    Attributes:
        question: The message of the turn.
        result: The result of the run, once it has ended.
        results: The tool results so far.
        calls: The tool calls so far: tool, args, result, duration_ms.
    """

    question: str = ""
    result: RunResult[Any] | None = None
    results: list[Any] = field(default_factory=list[Any])
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _drafts: list[Draft] = field(default_factory=list[Draft])
    _response: ModelResponse = field(default_factory=lambda: ModelResponse(""))
    _open: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    _done: dict[str, ToolResult] = field(default_factory=dict[str, ToolResult])
    _bytes: int = 0
    _asked: float = 0.0

    def read(self, events: Iterable[AgentEvent]) -> None:
        """Read events."""
        for event in events:
            match event:
                case TextDelta():
                    self._add_delta(event)
                case ModelRequested():
                    self._asked = perf_counter()
                case ModelResponded(step=step, response=response):
                    self._add_response(step, response.usage)
                    self._response = response
                case ToolStarted(call=call):
                    self._open[call.id] = call
                case ToolFinished(result=result):
                    self._add_result(event.step, result)
                case StepFinished():
                    self._close_step()
                case RunFinished(result=result):
                    self._close_step()
                    self.result = result
                case _:
                    pass
            self._drafts += drafts_of(event)

    @property
    def is_answered(self) -> bool:
        """Whether the run has ended with an answer, or with an error that explains why not."""
        result = self.result
        return result is not None and (result.state == "completed" or result.error is not None)

    def answer(self, check: Check | None = None, verify: Verify | None = None) -> dict[str, Any]:
        """The data of the event `answer`, once `is_answered`."""
        if self.result is None:
            raise AssertionError("the run has not ended")
        response = respond(self.result)
        checked = None if check is None else check(response.content, self.results, self.question)
        is_answer = response.finished and self._response.finish_reason != NOT_UNDERSTOOD
        answer: dict[str, Any] = _whole(
            {
                "content": response.content,
                "tool_calls": self.calls,
                "finished": response.finished,
                "usage": self.result.usage.to_dict(),
                "references": []
                if checked is None
                else [asdict(one) for one in checked.references],
                # What skillian says itself, of a failure or of the question, is in no result.
                "unverified": list(checked.unverified) if checked and is_answer else [],
                "scope": scopes_of(self.results),
                "offers": offers_of(response.content, self._response.finish_reason),
            }
        )
        if verify is not None:
            answer["verified"] = verify(self.question, answer, self._response.finish_reason)
        return answer

    def closing_message(self, text: str) -> dict[str, Any]:
        """The message that holds the answer `text`, with the reasoning before it."""
        content = remembered(self._response, text, ()) if self._has_ended_well else text
        label = None if self.result is None else self.result.label
        return _whole(as_stored(Message("assistant", content, label=label)))

    @property
    def _has_ended_well(self) -> bool:
        return self.result is not None and self.result.state == "completed"

    def taken(self) -> tuple[Sequence[dict[str, Any]], Sequence[Draft]]:
        """The messages and events since the last call."""
        messages, self._messages = self._messages, []
        drafts, self._drafts = self._drafts, []
        return _whole(messages), [Draft(each.type, _whole(each.data)) for each in drafts]

    def _add_delta(self, delta: TextDelta) -> None:
        before = self._drafts[-1] if self._drafts else None
        head = {"step": delta.step, "kind": delta.kind}
        text = delta.text
        if before is not None and before.type == "delta" and delta.kind != "restart":
            *known, written = before.data.values()
            if known == list(head.values()):
                self._drafts.pop()
                text = written + text
        self._drafts.append(Draft("delta", {**head, "text": text}))

    def _add_response(self, step: int, usage: Usage) -> None:
        """The time and tokens of a model request; the text of its answer is in the deltas."""
        took = {"step": step, "duration_ms": _milliseconds(perf_counter() - self._asked)}
        tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        self._drafts.append(Draft("model_finished", took | tokens))

    def _add_result(self, step: int, result: ToolResult) -> None:
        self._done[result.call.id] = result
        value = _as_json(result.content)
        self.results.append(value)
        size = len(json.dumps(value))
        self._bytes += size
        if self._bytes > MAX_RESULTS_BYTES:
            self._bytes -= size
            value = _left_out(size)
        outcome = {"result": value, "duration_ms": _milliseconds(result.duration_seconds)}
        call = {"tool": result.call.name, "args": dict(result.call.arguments)}
        self.calls.append({**call, **outcome})
        head = {"step": step, "id": result.call.id, "tool": result.call.name}
        self._drafts.append(
            Draft("tool_finished", {**head, **outcome, "is_error": result.is_error})
        )

    def _close_step(self) -> None:
        """Add the messages of a step; each call gets a result, as models require."""
        if self._open:
            calls = tuple(self._open.values())
            # Calls that the model wrote as text are in the text, which is not stored in addition.
            text = (self._response.content or "") if self._response.tool_calls else ""
            content = remembered(self._response, text, calls)
            messages = [Message("assistant", content, calls, label=self._response.label)]
            for call in calls:
                result = self._done.get(call.id)
                text = "Error: not finished: the turn ended" if result is None else result.content
                label = None if result is None else result.label
                messages.append(Message("tool", bounded(text), tool_call_id=call.id, label=label))
            self._messages += [as_stored(message) for message in messages]
        self._open, self._done = {}, {}


def drafts_of(event: AgentEvent) -> list[Draft]:
    """The stored form of an event that needs no other event."""
    data: dict[str, Any]
    match event:
        case ToolStarted(step=step, call=call):
            kind = "tool_started"
            data = {"step": step, "id": call.id, "tool": call.name, "args": dict(call.arguments)}
        case CodeStarted(step=step, code=code):
            kind, data = "code_started", {"step": step, "code": code}
        case OutputDelta(step=step, text=text):
            kind, data = "code_output", {"step": step, "text": text}
        case CodeFinished(step=step, result=result):
            kind = "code_finished"
            data = {"step": step, "output": result.output, "error": result.error}
            data["duration_ms"] = _milliseconds(result.duration_seconds)
        case ApprovalWanted(call=call):
            kind = "approval_wanted"
            data = {"id": call.id, "tool": call.name, "args": dict(call.arguments)}
            data |= _doubt_of(call)
        case ApprovalGiven(call=call, decision=decision):
            kind = "approval_given"
            data = {"id": call.id, "approved": decision.approved, "reason": decision.reason}
        case SignalGiven(step=step, signal=signal):
            kind = "signal"
            data = {"step": step, "type": signal.type.value, "message": signal.message}
        case _:
            return []
    return [Draft(kind, data)]


def _doubt_of(call: ToolCall) -> dict[str, Any]:
    """Why a call breaks a rule, and where each of its values comes from; nothing if it does not."""
    if not call.doubt:
        return {}
    origins = [
        {"path": bounded(each.path), "from": each.vouched_by, "fault": bounded(each.fault)}
        for each in call.origins[:MAX_ORIGINS]
    ]
    return {"doubt": call.doubt, "origins": origins}


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 1)


def _as_json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=str)  # NaN is not valid JSON
    except ValueError:
        return text


def _whole(value: T) -> T:
    """A JSON value without lone surrogates, which models write and databases refuse."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return cast("T", json.loads(text.encode(errors="replace")))
    return value


def _left_out(size: int) -> dict[str, Any]:
    message = (
        f"the result has {size} bytes, and a turn's results at most {MAX_RESULTS_BYTES};"
        " ask for fewer rows"
    )
    return {"error": True, "type": "runtime_error", "message": message}


def bounded(text: str) -> str:
    """A tool result as later turns read it: without its middle if it is too long."""
    left_out = len(text) - MAX_RESULT_CHARACTERS
    if left_out <= 0:
        return text
    half = MAX_RESULT_CHARACTERS // 2
    return f"{text[:half]}\n[{left_out} characters left out]\n{text[-half:]}"
