"""Sealed: a language model reads stand-ins for the texts of sources, and works with them."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from skillian.chat.sealed.code import closed_code, opened_code
from skillian.chat.sealed.plain import Vouched, names_of
from skillian.chat.sealed.printed import PYTHON
from skillian.chat.sealed.results import READERS, RUN_PYTHON, SealedReading, columns_of
from skillian.chat.sealed.stand_ins import NAME, StandIns, settled
from skillian.errors import InvalidInputError
from skillian.offline.earlier import as_object
from skillian.offline.language.vocabulary import Vocabulary
from tinyagent import (
    Event,
    Message,
    Middleware,
    RunContext,
    RunFinished,
    TextDelta,
    ToolCall,
    ToolResult,
    ToolStarted,
)
from tinyagent.core import ModelRequest, ModelResponded, ModelResponse, RawToolCall

_RESULT_OF = re.compile(r"\n\nResult of ([\w-]+):\n")
_BEGINNING = 5000
"""Characters by which a result that was cut is known."""
_WHOLE = "in code a stand-in must be a text of its own, such as 'text_…'; nothing else is replaced"


class OpenedCalls(Middleware):
    """Puts texts in place of the stand-ins in calls, so that they are checked and made with them.

    The `deps` of a run are its `StandIns`.
    """

    def bind(self, run: RunContext) -> Middleware:
        """Open the calls of one turn."""
        return _OpenedTurn(run.deps)


class _OpenedTurn(Middleware):
    def __init__(self, stand_ins: StandIns) -> None:
        self._stand_ins = stand_ins

    async def tool_call(
        self, call: ToolCall, call_next: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        arguments = opened_arguments(call.name, call.arguments, self._stand_ins)
        if arguments is None:
            return ToolResult(call, json.dumps(InvalidInputError(_WHOLE).to_dict()))
        return await call_next(replace(call, arguments=arguments))


class Sealed(Middleware):
    """Puts stand-ins into what a language model reads; what is stored has the texts.

    Args:
        vocabulary: The names of the catalogue, which stay as they are.
    """

    def __init__(self, vocabulary: Vocabulary | None) -> None:
        self._names = Vouched(() if vocabulary is None else names_of(vocabulary))
        self._python = Vouched(PYTHON)

    def bind(self, run: RunContext) -> Middleware:
        """Seal one turn."""
        return _SealedTurn(self._names, self._python, run.deps)


@dataclass
class _ReadMessages:
    """The messages that a model has read in a turn, and how.

    Attributes:
        vouched: What the user and the catalogue vouch for.
        messages: As they are stored.
        sealed: As they were read.
        tools: The tool of each call.
        own: The code of the model, and the columns that it may name.
    """

    vouched: Vouched
    messages: list[Message] = field(default_factory=list[Message])
    sealed: list[Message] = field(default_factory=list[Message])
    tools: dict[str, str] = field(default_factory=dict[str, str])
    own: list[str] = field(default_factory=list[str])

    def begins(self, messages: Sequence[Message]) -> bool:
        """Whether a request goes on after these messages, without a word of the user."""
        count = len(self.messages)
        is_begun = list(messages[:count]) == self.messages
        return is_begun and not any(map(_is_of_user, messages[count:]))


class _SealedTurn(Middleware):
    def __init__(self, names: Vouched, python: Vouched, stand_ins: StandIns) -> None:
        self._names = names
        self._python = python
        self._stand_ins = stand_ins
        self._whole: list[str] = []
        self._known: _ReadMessages | None = None

    async def model_call(
        self,
        request: ModelRequest,
        call_next: Callable[[ModelRequest], Awaitable[ModelResponse]],
    ) -> ModelResponse:
        response = await call_next(replace(request, messages=self._sealed(request.messages)))
        if not response.tool_calls:
            return response
        return replace(response, tool_calls=tuple(map(self._opened, response.tool_calls)))

    async def tool_call(
        self, call: ToolCall, call_next: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        result = await call_next(call)
        # The conversation has a long result without its middle, which is not JSON.
        if len(result.content) > _BEGINNING:
            self._whole.append(result.content)
        return result

    def _opened(self, call: RawToolCall) -> RawToolCall:
        """A call as it is stored; if it cannot be opened here, `OpenedCalls` says why."""
        if not NAME.search(call.arguments):
            return call
        arguments = opened_arguments(call.name, as_object(call.arguments), self._stand_ins)
        if not arguments:
            return call
        return replace(call, arguments=json.dumps(arguments, ensure_ascii=False))

    def _sealed(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """The messages as a model reads them; those of the request before stay as they were."""
        known = self._known
        if known is None or not known.begins(messages):
            said = (each.text for each in messages if _is_of_user(each))
            known = self._known = _ReadMessages(Vouched(said, self._names))
        for message in messages[len(known.messages) :]:  # what one quotes was read before it
            known.sealed.append(self._read_message(message, known))
            known.messages.append(message)
        return tuple(known.sealed)

    def _read_message(self, message: Message, known: _ReadMessages) -> Message:
        by_code = Vouched(known.own, known.vouched, self._python)
        reading = SealedReading(self._stand_ins, known.vouched, by_code)
        if message.role == "assistant":
            closed = self._closed(message, reading)
            known.tools |= {call.id: call.name for call in closed.tool_calls}
            known.own += _code_in(closed)
            return closed
        if message.role == "tool":
            tool = known.tools.get(message.tool_call_id or "", "")
            known.own += columns_of(message.text)
            return message.with_text(partial(self._result, tool, reading))
        if message.role == "user" and not _is_of_user(message):
            return message.with_text(partial(self._results, reading))
        return message

    def _results(self, reading: SealedReading, text: str) -> str:
        """Results as a model without function calls reads them, in a message of the user."""
        _, *parts = _RESULT_OF.split(f"\n\n{text}")
        if not parts:
            return text
        pairs = zip(parts[::2], parts[1::2], strict=True)
        return "\n\n".join(f"Result of {t}:\n{self._result(t, reading, r)}" for t, r in pairs)

    def _result(self, tool: str, reading: SealedReading, text: str) -> str:
        """The text of a result."""
        if tool and tool not in READERS:
            return text
        cut = [w for w in self._whole if not as_object(text) and text.startswith(w[:_BEGINNING])]
        return reading.text(tool, [text, *cut][-1])

    def _closed(self, message: Message, reading: SealedReading) -> Message:
        """A message of the model, whose answer and calls have the texts where they are stored."""
        names = self._stand_ins
        closed = message.with_text(names.closed_answer)
        calls = tuple(_closed_call(call, reading) for call in message.tool_calls)
        if calls == message.tool_calls:
            return closed
        if isinstance(closed.content, str):
            return replace(closed, tool_calls=calls)
        by_id = dict(zip((call.id for call in message.tool_calls), calls, strict=True))
        parts = (by_id[p.id] if isinstance(p, ToolCall) else p for p in closed.content)
        return replace(closed, content=tuple(parts), tool_calls=())


def opened_arguments(
    tool: str, arguments: Mapping[str, Any], stand_ins: StandIns
) -> dict[str, Any] | None:
    """The arguments of a call with texts in place of stand-ins; None if code has one elsewhere."""
    if tool != RUN_PYTHON:
        return dict(stand_ins.opened_value(arguments))
    code = opened_code(str(arguments.get("code", "")), stand_ins)
    return None if code is None else {**arguments, "code": code}


def _closed_call(call: ToolCall, reading: SealedReading) -> ToolCall:
    """A call of the conversation without the texts of sources."""
    if call.name == RUN_PYTHON:
        code = closed_code(str(call.arguments.get("code", "")), reading.stand_ins)
        arguments = {**call.arguments, "code": code} if "code" in call.arguments else call.arguments
    else:
        arguments = reading.condition(call.arguments)
    return call if arguments == call.arguments else replace(call, arguments=arguments)


def _code_in(message: Message) -> list[str]:
    """The code in the calls of a message, or in the call that its text is."""
    written = as_object(message.text).get("arguments") if "arguments" in message.text else None
    calls = [each.arguments for each in message.tool_calls]
    calls += [cast("Mapping[str, Any]", written)] if isinstance(written, dict) else []
    return [str(arguments.get("code", "")) for arguments in calls]


def _is_of_user(message: Message) -> bool:
    """Whether the user wrote it: results and remarks of the agent can have the user's role."""
    label = message.label
    return message.role == "user" and label is not None and label.sources == frozenset({"user"})


async def opened_events(
    events: AsyncGenerator[Event, None], stand_ins: StandIns
) -> AsyncGenerator[Event, None]:
    """The events of a turn for its user, with the texts in place of their stand-ins."""
    held: TextDelta | None = None
    async with aclosing(events):
        async for event in events:
            if held is not None and not _continues(held, event):
                yield replace(held, text=stand_ins.opened(held.text))
                held = None
            if isinstance(event, TextDelta) and event.kind != "restart":
                text = (held.text if held else "") + event.text
                at = len(text) if stand_ins.is_empty else settled(text)
                held = replace(event, text=text[at:]) if text[at:] else None
                if text[:at]:
                    yield replace(event, text=stand_ins.opened(text[:at]))
            else:
                yield _opened_event(event, stand_ins)
    if held is not None:
        yield replace(held, text=stand_ins.opened(held.text))


def _continues(held: TextDelta, event: Event) -> bool:
    """Whether an event is the next piece of a text."""
    return isinstance(event, TextDelta) and (event.step, event.kind) == (held.step, held.kind)


def _opened_event(event: Event, stand_ins: StandIns) -> Event:
    match event:
        case ToolStarted(call=call):
            arguments = opened_arguments(call.name, call.arguments, stand_ins)
            return (
                event
                if arguments is None
                else replace(event, call=replace(call, arguments=arguments))
            )
        case ModelResponded(response=response) if response.content:
            opened = replace(response, content=stand_ins.opened(response.content))
            return event if opened.content == response.content else replace(event, response=opened)
        case RunFinished(result=result) if isinstance(result.output, str):
            return replace(event, result=replace(result, output=stand_ins.opened(result.output)))
        case _:
            return event
