"""Journal: what a durable run has asked and was answered, as steps of its DBOS workflow.

It is the innermost middleware, around the calls themselves: what an earlier execution of the run
recorded is answered from the record, anything else is done and recorded. A record is found by its
place, not by its number, so calls side by side need no order:

    2.1 model                             the model's first answer in step 2 of the agent
    2.9f8e7d6c-1#1 begin send_mail        a call begins: its digest, its first occurrence, first try
    2.9f8e7d6c-1 tool send_mail           its result
    2.9f8e7d6c-1 ask send_mail            the answer to the question for approval
    3.ab12cd34-1 code                     the block of code of step 3
    4.0d1e2f3a-1/1.1 model                in step 1 of an agent that is a tool, called in step 4

DBOS refuses each record of an execution that no longer owns its run: two workers that hold the
same run do no harm, because a call that is not idempotent is begun on record before it is made.
"""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from dbos import DBOS

from tinyagent.core.context import RunContext
from tinyagent.core.errors import ReplayDiverged
from tinyagent.core.execution import ExecutionResult
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult
from tinyagent.durable.approval import Question, Suspended, asking, doubt
from tinyagent.durable.models import call_model
from tinyagent.durable.records import (
    Record,
    tool_result_from_dict,
    tool_result_to_dict,
    value_or_text,
)
from tinyagent.durable.replay import run_block
from tinyagent.middleware.base import CodeRun, Middleware, ModelCall, ToolCallHandler

T = TypeVar("T")

_INSIDE: ContextVar[str] = ContextVar("_INSIDE", default="")
"""The place of the call of an agent as a tool, in which the run lies."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record. `name` is the step's name: place, kind and, of a call, the tool."""

    number: int
    name: str
    value: Any

    @property
    def place(self) -> str:
        """Where in the run it stands."""
        return self.name.split(" ", 2)[0]

    @property
    def kind(self) -> str:
        """`model`, `begin`, `tool`, `ask`, `code` or `end`."""
        return [*self.name.split(" ", 2), ""][1]


class Gate:
    """Lets calls begin, until it is closed: then those under way end, and none begins."""

    def __init__(self) -> None:
        self.under_way = 0
        self._is_open = True
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def calling(self) -> AsyncGenerator[None]:
        """Around a call; behind a closed gate it waits until its process ends."""
        if not self._is_open:
            await asyncio.get_running_loop().create_future()
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1
            self._changed.set()

    async def idle(self) -> None:
        """Wait until no call is under way."""
        while self.under_way:
            self._changed.clear()
            await self._changed.wait()

    def close(self) -> None:
        """Let nothing begin any more."""
        self._is_open = False


class Journal(Middleware):
    """The journal of one execution of a run, the runs of its agents as tools included.

    Made within the workflow, whose steps are written to.

    Args:
        run_id: the run's id.
        entries: what earlier executions recorded.
        answers: reads the answers that people have given, by question.
        gate: the process's.
    """

    def __init__(
        self,
        run_id: str,
        entries: Iterable[Entry],
        answers: Callable[[], Awaitable[Mapping[str, Any]]],
        gate: Gate,
    ) -> None:
        self.run_id = run_id
        self.questions: list[Question] = []
        self._entries = {(entry.kind, entry.place): entry for entry in entries}
        self._unread = set(self._entries)
        self._read_answers = answers
        self._process = gate
        self._own = Gate()
        self._workflow = contextvars.copy_context()
        for _ in range(max((entry.number for entry in self._entries.values()), default=0)):
            DBOS.reserve_step()  # new records are numbered behind those there are

    def bind(self, run: RunContext) -> Middleware:
        """Journal one run: that of the workflow, or of an agent as a tool within it."""
        inside = _INSIDE.get()
        run.run_id = f"{self.run_id}/{inside}" if inside else self.run_id
        bound = BoundJournal(self, run, f"{inside}/" if inside else "")
        run.asking = lambda ask: asking(bound, ask)
        return bound

    @property
    def is_replaying(self) -> bool:
        """Whether there are records that were not asked for yet."""
        return bool(self._unread)

    def find(self, kind: str, place: str) -> Entry | None:
        """The record of an earlier execution; it is then read."""
        self._unread.discard((kind, place))
        return self._entries.get((kind, place))

    def unread(self, kind: str, prefix: str) -> list[Entry]:
        """Records of a step of a run, which begins its places so, that nobody has asked for."""
        return [
            self._entries[key]
            for key in self._unread
            if key[0] == kind and key[1].startswith(prefix) and "/" not in key[1][len(prefix) :]
        ]

    async def record(self, kind: str, place: str, what: str, value: Record) -> None:
        """Write a record; it is complete even where the run is cancelled meanwhile.

        Raises:
            BaseException: DBOS's own, where the run is cancelled or has been handed on.
        """
        name = " ".join(filter(None, (place, kind, what)))
        context = self._workflow.copy()
        step = context.run(DBOS.reserve_step)
        writing = step.run_async({"name": name}, lambda: value)
        await asyncio.shield(asyncio.create_task(writing, context=context))

    @asynccontextmanager
    async def calling(self) -> AsyncGenerator[None]:
        """Around each call to the outside."""
        if self.questions:  # the run is being put away: nothing new begins
            raise Suspended
        async with self._process.calling(), self._own.calling():
            yield

    async def answer(self, question: Question) -> Mapping[str, Any]:
        """What somebody has answered; without an answer the run is put away.

        Raises:
            Suspended: once all calls that are under way beside this one have their records.
        """
        given: Mapping[str, Any] | None = (await self._read_answers()).get(question.place)
        if given is not None:
            return given
        self.questions.append(question)
        await self._own.idle()
        raise Suspended


class BoundJournal(Middleware):
    """The journal as one run sees it."""

    def __init__(self, journal: Journal, run: RunContext, prefix: str) -> None:
        self.journal = journal
        self.run = run
        self._prefix = prefix
        self._seen: Counter[str] = Counter()
        self._in_block = False
        self._is_known_block = False

    @property
    def step(self) -> str:
        """The places of this step of the run begin so."""
        return f"{self._prefix}{self.run.step}."

    def place(self, kind: str, asked: str = "") -> str:
        """A new place in this step: by what is asked and how often it was, else by number."""
        stem = f"{self.step}{asked}-" if asked else self.step
        self._seen[f"{kind} {stem}"] += 1
        return f"{stem}{self._seen[f'{kind} {stem}']}"

    def take_back(self, kind: str) -> None:
        """Give the last numbered place to whoever asks next."""
        self._seen[f"{kind} {self.step}"] -= 1

    def digest_of(self, call: ToolCall) -> str:
        """A short name for the call."""
        return digest(call.name, call.arguments)

    def now(self) -> Record:
        """When it is, in the run's own time: part of a record that takes time."""
        return {"at": self.run.seconds}

    def go_on_from(self, record: Mapping[str, Any]) -> None:
        """Let the run's clock go on from where it was when the record was made."""
        at = record.get("at", 0.0)
        self.run.started -= max(0.0, float(at) - self.run.seconds)

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        """The recorded answer, or the model's own."""
        return await call_model(self, request, call_next)

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        """The recorded result, or the tool's own."""
        tool = self.run.tools.get(call.name)
        if tool is None or call.fault is not None:  # nothing is done but in this process
            return await call_next(call)
        place = self.place("tool", self.digest_of(call))
        if tool.is_agent:
            return await self._call_agent(place, call, call_next)
        turn = self._next_turn()
        tries = self._tries(place)
        entry = self.journal.find("tool", place)
        if entry is not None:
            self.go_on_from(entry.value)
            return self.read(entry, lambda record: tool_result_from_dict(record, call))
        if self._in_block:
            self._check_order(place, call, turn, begun=bool(tries))
        asked = {"arguments": value_or_text(dict(call.arguments)), "turn": turn}
        if tool.idempotent:
            async with self.journal.calling():
                return await self._record_result(place, await call_next(call), asked)
        if tries and (skipped := await doubt(self, place, tries, call)) is not None:
            return await self._record_result(place, skipped)
        async with self.journal.calling():
            begin = f"{place}#{tries + 1}"
            await self.journal.record("begin", begin, call.name, {**asked, **self.now()})
            return await self._record_result(place, await call_next(call))

    async def code_run(self, code: str, call_next: CodeRun) -> ExecutionResult:
        """The recorded result, once the block has run again; or what it comes to now."""
        place = self.place("code", digest(code))
        self._in_block = True
        try:
            return await run_block(self, place, code, call_next)
        finally:
            self._in_block = self._is_known_block = False

    def expect_recorded_calls(self) -> None:
        """From now on in this block, a call that has no record is a divergence."""
        self._is_known_block = True

    def pass_over_calls(self) -> None:
        """Take the calls of this step as read: the block that made them is behind."""
        for kind in ("tool", "begin"):
            for entry in self.journal.unread(kind, self.step):
                self.journal.find(kind, entry.place)

    def read(self, entry: Entry, reader: Callable[[Mapping[str, Any]], T]) -> T:
        """The record, read strictly.

        Raises:
            ReplayDiverged: it cannot be read.
        """
        try:
            return reader(entry.value)
        except (ValueError, TypeError, AttributeError) as fault:
            raise ReplayDiverged(
                f"record {entry.number} of the run ({entry.name}) cannot be read: {fault}"
            ) from None

    async def _call_agent(
        self, place: str, call: ToolCall, call_next: ToolCallHandler
    ) -> ToolResult:
        outer = _INSIDE.set(place)
        try:
            return await call_next(call)
        finally:
            _INSIDE.reset(outer)

    async def _record_result(
        self, place: str, result: ToolResult, asked: Mapping[str, Any] | None = None
    ) -> ToolResult:
        """Record it, and give it as a later execution will read it."""
        record = {**(asked or {}), **tool_result_to_dict(result), **self.now()}
        await self.journal.record("tool", place, result.call.name, record)
        return tool_result_from_dict(record, result.call)

    def _tries(self, place: str) -> int:
        """How often earlier executions began the call."""
        tries = 0
        while self.journal.find("begin", f"{place}#{tries + 1}"):
            tries += 1
        return tries

    def _next_turn(self) -> int:
        """The how manieth call of this step it is, the recorded ones counted too."""
        self._seen[f"turn {self.step}"] += 1
        return self._seen[f"turn {self.step}"]

    def _check_order(self, place: str, call: ToolCall, turn: int, *, begun: bool) -> None:
        """Code that asks for something new must have asked for all that it asked for before."""
        recorded = self.journal.unread("tool", self.step) + self.journal.unread("begin", self.step)
        missed = [entry for entry in recorded if entry.value.get("turn", 0) <= turn]
        if self._is_known_block or (missed and not begun):
            raise ReplayDiverged(_told(place, call, missed))


def digest(name: str, arguments: Mapping[str, Any] | None = None) -> str:
    """A short name for what is asked."""
    record = value_or_text([name, dict(arguments or {})])
    text = json.dumps(record, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _told(place: str, call: ToolCall, missed: Iterable[Entry]) -> str:
    first = min(missed, key=lambda entry: entry.number, default=None)
    recorded = "no such call" if first is None else f"a call {first.name!r} (record {first.number})"
    return (
        f"the code does not ask for the same again: at {place} it calls {call.name}"
        f" with {dict(call.arguments)!r:.200}, where {recorded} is recorded. A block must not"
        " depend on time, chance or what lies outside it, but through tools"
    )
