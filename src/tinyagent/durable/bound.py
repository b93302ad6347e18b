"""BoundJournal: the journal as one run sees it; it answers the run's calls, or records them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from tinyagent.core.context import RunControl
from tinyagent.core.errors import ReplayDiverged
from tinyagent.core.events import Event
from tinyagent.core.execution import ExecutionResult
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult
from tinyagent.durable.approval import doubt
from tinyagent.durable.entries import INSIDE, Entry
from tinyagent.durable.models import call_model
from tinyagent.durable.records import (
    Record,
    tool_result_from_dict,
    tool_result_to_dict,
    value_or_text,
)
from tinyagent.durable.replay import run_block
from tinyagent.middleware.base import CodeRun, Middleware, ModelCall, ToolCallHandler

if TYPE_CHECKING:
    from tinyagent.durable.journal import Journal

T = TypeVar("T")


class BoundJournal(Middleware):
    """The journal as one run sees it."""

    def __init__(self, journal: Journal, run: RunControl, prefix: str) -> None:
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

    def on_event(self, event: Event) -> None:
        """Mark what is told of again; of agents as tools nothing is told."""
        if not self._prefix:
            self.journal.mark(event)

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
            result = self.read(entry, lambda record: tool_result_from_dict(record, call))
            self.go_on_from(entry.value)
            return result
        if not tries:
            self.expect_new(place, call, turn)
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

    def expect_new(self, place: str, call: ToolCall, turn: int = 0) -> None:
        """Let code ask for what has no record once it has asked for all that it asked for before.

        Args:
            place: of the call.
            call: the call.
            turn: the how manieth of this step; 0: it is still to be counted.

        Raises:
            ReplayDiverged: it did something else then.
        """
        turn = turn or self._seen[f"turn {self.step}"] + 1
        recorded = self.journal.unread("tool", self.step) + self.journal.unread("begin", self.step)
        missed = [entry for entry in recorded if entry.value.get("turn", turn + 1) <= turn]
        if self._in_block and (self._is_known_block or missed):
            raise ReplayDiverged(_told(place, call, missed))

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
        outer = INSIDE.set(place)
        try:
            return await call_next(call)
        finally:
            INSIDE.reset(outer)

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
