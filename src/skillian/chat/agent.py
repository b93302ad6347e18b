"""Agent: tinyagent's `ReactAgent` with the skills' tools, its conversations, and approval."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, cast

from skillian.chat.check.grounded import Grounded
from skillian.chat.computed import computed_by, reason_of_end
from skillian.chat.direct import DirectModel, direct_call
from skillian.chat.reading.briefing import Briefing
from skillian.chat.reading.fitting import Fitted
from skillian.chat.sealed.middleware import OpenedCalls, Sealed, opened_events
from skillian.chat.sealed.stand_ins import StandIns
from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.planner import OfflinePlanner
from skillian.skills.registry import SkillRegistry
from skillian.skills.skill import in_session, session_id
from tinyagent import (
    Approval,
    Decision,
    Event,
    Memory,
    Message,
    Middleware,
    Model,
    ReactAgent,
    RunContext,
    RunFinished,
    RunResult,
    ToolCall,
    ToolResult,
)
from tinyagent.core import RunControl
from tinyagent.provenance import Label, Provenance

MAX_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class ToolCallMade:
    """A tool call of a turn; `result` has the texts for which a language model read stand-ins."""

    tool: str
    arguments: dict[str, Any]
    result: str
    duration_ms: float


@dataclass(frozen=True, slots=True)
class AgentResponse:
    """The result of a turn. `finished` is False if it ended without an answer."""

    content: str
    tool_calls_made: tuple[ToolCallMade, ...]
    finished: bool


class Agent:
    """Answers messages with the tools of the skills, at most 10 rounds of model and tools each.

    A direct call (`chat.direct`) is made without the model; approval and limits are the same.
    A language model reads stand-ins for texts of sources; events and answers have the texts.

    Args:
        model: The model that answers.
        skills: Their tools are offered; their instructions are the system prompt.
        vocabulary: What questions and calls are checked against; without it they are not checked.
        approvals: Asks a person about tools that need approval; without it they are refused.
        briefing: The catalogue and the examples that a language model reads.
        context_tokens: What the model can read and write at once; None if that is plenty.
    """

    def __init__(
        self,
        model: Model,
        skills: SkillRegistry,
        vocabulary: Vocabulary | None = None,
        approvals: Approvals | None = None,
        *,
        briefing: Briefing | None = None,
        context_tokens: int | None = None,
    ) -> None:
        briefing, every = briefing or Briefing(), skills.get_all_tools()
        self.model_name = model.name
        self.skills = skills
        checks: list[Middleware] = [TurnSession(), Provenance()]
        if approvals is not None:
            checks.append(AskPerson(approvals))
        tools = [replace(each.as_tool(), is_offered=briefing.offers(each)) for each in every]
        self._direct = ReactAgent(DirectModel(), tools, middleware=tuple(checks), max_steps=2)
        if vocabulary is not None:
            checks.append(Grounded(vocabulary))
        if not isinstance(model, OfflinePlanner):
            # Calls are checked with the texts; only then what the model reads is sealed.
            checks = [OpenedCalls(), *checks, Sealed(vocabulary), Fitted(context_tokens)]
        self._agent = ReactAgent(
            model,
            tools,
            deps_type=StandIns,
            middleware=checks,
            max_steps=MAX_ROUNDS,
            answer_at_limit=False,  # figures are those of tools, or there is no answer
            instructions=f"{skills.system_prompt(offered=True)}\n\n{briefing.text}".strip(),
        )

    async def process(
        self, user_message: str, conversation: Conversation | None = None
    ) -> tuple[AgentResponse, Conversation]:
        """Answer one message; returns the answer and the conversation with it.

        A turn that ends at a limit or because its model fails is answered too, with the results so
        far and the reason; only a cancellation is raised.
        """
        result: RunResult[Any] | None = None
        async with aclosing(self.stream(user_message, conversation)) as events:
            async for event in events:
                if isinstance(event, RunFinished):
                    result = event.result
        if result is None:
            raise AssertionError("a run always ends with RunFinished")
        return respond(result), Conversation(result.memory)

    def stream(
        self, user_message: str, conversation: Conversation | None = None
    ) -> AsyncGenerator[Event, None]:
        """The turn as tinyagent's events while it happens."""
        memory = None if conversation is None else conversation.memory
        if direct_call(user_message) is not None:
            return self._direct.stream(user_message, memory=memory)
        stand_ins = StandIns()
        events = self._agent.stream(user_message, memory=memory, deps=stand_ins)
        return opened_events(events, stand_ins)


def respond(result: RunResult[Any]) -> AgentResponse:
    """The response to a finished run."""
    calls = tuple(_tool_call_made(call) for step in result.steps for call in step.results)
    if result.state == "completed":
        return AgentResponse(str(result), calls, finished=True)
    made = (computed_by(call.tool, call.arguments, call.result) for call in reversed(calls))
    last = next(filter(None, made), None)
    why = f"No answer was found: {reason_of_end(result, in_short=last is not None)}."
    content = why if last is None else f"{why} The last result:\n\n{last.words}"
    return AgentResponse(content, calls, finished=False)


def _tool_call_made(result: ToolResult) -> ToolCallMade:
    return ToolCallMade(
        result.call.name,
        dict(result.call.arguments),
        result.content,
        round(result.duration_seconds * 1000, 1),
    )


class TurnSession(Middleware):
    """Gives each turn without a session its own session."""

    def bind(self, run: RunContext) -> Middleware:
        """The session that the turn belongs to, or the turn itself as one."""
        return _InSession(session_id() or run.run_id)


class _InSession(Middleware):
    def __init__(self, name: str) -> None:
        self._name = name

    async def tool_call(
        self, call: ToolCall, call_next: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        with in_session(self._name):
            return await call_next(call)


_USER = Label(frozenset({"user"}))

PARTS = "parts"
"""The key of the parts of a stored message: reasoning, and data that its provider needs back."""
MAX_PARTS_CHARACTERS = 1_000_000


def as_stored(message: Message) -> dict[str, Any]:
    """The JSON form with the text as `content`, and parts other than text in `parts`.

    Very long parts are left out; the conversation continues without them.
    """
    if isinstance(message.content, str) and not any(call.opaque for call in message.tool_calls):
        return message.to_dict()
    calls = tuple(replace(call, opaque=None) for call in message.tool_calls)
    plain = replace(message, content=message.text, tool_calls=calls).to_dict()
    parts = replace(message, content=message.parts, tool_calls=()).to_dict()["content"]
    return plain if len(json.dumps(parts)) > MAX_PARTS_CHARACTERS else {**plain, PARTS: parts}


def _read(stored: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message as tinyagent reads it: with its parts, and those of the user as the user's."""
    if stored["role"] == "user" and "label" not in stored:
        stored = {**stored, "label": _USER.to_dict()}
    if PARTS not in stored:
        return stored
    return {**stored, "content": stored[PARTS], "tool_calls": ()}


class Conversation:
    """The messages of one conversation, oldest first. Tool results follow their calls."""

    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = Memory() if memory is None else memory

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages."""
        return tuple(self._memory.messages)

    @property
    def memory(self) -> Memory:
        """The same as an agent's memory."""
        return self._memory

    def add_user(self, content: str) -> None:
        """Append a user message."""
        self._memory.add("user", content, label=_USER)

    def add_assistant(self, content: str, tool_calls: Iterable[ToolCall] = ()) -> None:
        """Append an assistant message, or the tools that it calls."""
        self._memory.add("assistant", content, tool_calls=tool_calls)

    def add_tool_result(self, content: str, tool_call_id: str) -> None:
        """Append the result of a tool call."""
        self._memory.add("tool", content, tool_call_id=tool_call_id)

    def to_list(self) -> list[dict[str, Any]]:
        """The JSON form."""
        return self._memory.to_list()

    @classmethod
    def from_list(cls, data: Iterable[Mapping[str, Any]]) -> Conversation:
        """Read the JSON form or stored messages; raises KeyError for a missing part."""
        return cls(Memory.from_list(map(_read, data)))


APPROVAL_SECONDS = 1800.0

_NOBODY = Decision(approved=False, reason="nobody is available to approve it")
LATE = Decision(approved=False, reason="nobody answered in time")

_SUSPENDS: ContextVar[bool] = ContextVar("skillian_suspends", default=False)


@dataclass(frozen=True, slots=True)
class ApprovalWanted:
    """A call waits for approval."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ApprovalGiven:
    """The call was approved or refused."""

    call: ToolCall
    decision: Decision


Emit = Callable[[ApprovalWanted | ApprovalGiven], None]


class Approvals:
    """The calls of this process that wait, by session.

    Args:
        seconds: How long each waits; after that it is refused.
    """

    def __init__(self, seconds: float = APPROVAL_SECONDS) -> None:
        self._seconds = seconds
        self._waiting: dict[tuple[str, str], asyncio.Future[Decision]] = {}
        self._possible: Counter[str] = Counter()

    @contextmanager
    def possible(self, session: str) -> Generator[None]:
        """Calls of this session may wait during the block: people see its events."""
        # A cancelled turn may still be ending when the next turn of its session has begun.
        self._possible[session] += 1
        try:
            yield
        finally:
            self._possible[session] -= 1
            self._possible += Counter()  # drops sessions at zero

    @staticmethod
    @contextmanager
    def asked_by(*, suspends: bool) -> Generator[None]:
        """Runs that start in the block ask as a durable run does, if `suspends`.

        A durable run is suspended while a call waits; it waits in no process.
        """
        token = _SUSPENDS.set(suspends)
        try:
            yield
        finally:
            _SUSPENDS.reset(token)

    async def ask(self, call: ToolCall, emit: Emit) -> Decision:
        """Wait for the answer; a call that nobody can see is refused immediately."""
        session = session_id()
        if session not in self._possible:
            return _NOBODY
        key = session, call.id
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._waiting[key] = answer
        emit(ApprovalWanted(call))
        try:
            decision = await asyncio.wait_for(answer, self._seconds)
        except TimeoutError:
            decision = LATE
        finally:
            del self._waiting[key]
        emit(ApprovalGiven(call, decision))
        return decision

    def answer(self, session: str, call_id: str, decision: Decision) -> bool:
        """Answer a call that waits; False if it does not wait."""
        waiting = self._waiting.get((session, call_id))
        if waiting is None or waiting.done():
            return False
        waiting.set_result(decision)
        return True


class AskPerson(Approval):
    """Asks a person through the turn's own events, in their order.

    Args:
        approvals: Where the calls wait.
    """

    def __init__(self, approvals: Approvals) -> None:
        super().__init__()
        self._approvals = approvals

    def steer(self, run: RunControl) -> Middleware:
        """Ask through the events of this run."""
        if _SUSPENDS.get():
            return _bound_to_suspend(run)

        async def ask(call: ToolCall) -> Decision:
            # The stream passes on any event; its readers here know these two as well.
            return await self._approvals.ask(call, cast("Emit", run.emit))

        return Approval(ask).steer(run)


def _bound_to_suspend(run: RunControl) -> Middleware:
    """Let the durable run ask, and emit the events of it."""
    asking, emit = run.wrap_ask, cast("Emit", run.emit)

    def with_events(
        ask: Callable[[ToolCall], Awaitable[Any]],
    ) -> Callable[[ToolCall], Awaitable[Any]]:
        question = asking(ask)

        async def ask_with_events(call: ToolCall) -> Decision:
            emit(ApprovalWanted(call))
            decision = cast("Decision", await question(call))
            emit(ApprovalGiven(call, decision))
            return decision

        return ask_with_events

    run.wrap_ask = with_events
    try:
        return Approval().steer(run)
    finally:
        run.wrap_ask = asking
