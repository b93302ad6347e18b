"""Recorder: the innermost middleware of a durable run, around the calls themselves.

It answers the calls of models, tools and code from the journal, or makes and records them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from tinyagent.core.context import Ask, RunControl
from tinyagent.core.errors import ModelContextTooLong, ModelFormatRefused, ModelRefused, RunAborted
from tinyagent.core.events import Event
from tinyagent.core.execution import ExecutionResult
from tinyagent.core.messages import ToolCall
from tinyagent.core.provenance import UNKNOWN
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult
from tinyagent.core.untrusted import take
from tinyagent.durable.blocks import run_block
from tinyagent.durable.cursor import Cursor, digest
from tinyagent.durable.journal import Entry, Journal
from tinyagent.durable.records import (
    refusal_from_dict,
    refusal_to_dict,
    response_from_dict,
    response_to_dict,
    tool_result_from_dict,
    tool_result_to_dict,
    value_or_text,
)
from tinyagent.durable.states import question
from tinyagent.middleware.approval import Decision, nobody
from tinyagent.middleware.base import (
    CodeRun,
    Middleware,
    ModelCall,
    SteeringMiddleware,
    ToolCallHandler,
)

_INSIDE: ContextVar[str] = ContextVar("_INSIDE", default="")
"""The place of the call of an agent as a tool, for the run that it begins."""


class Recorder(SteeringMiddleware):
    """Records the run of the workflow, and those of its agents as tools.

    Args:
        journal: Where records are.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def steer(self, run: RunControl) -> Middleware:
        """Record one run; any other run that starts meanwhile is part of the call it starts in."""
        inside = _INSIDE.get()
        if not self._journal.claim(inside):  # a run that a tool or a listener starts for itself
            return Middleware()
        run_id = self._journal.run_id
        run.run_id = f"{run_id}/{inside}" if inside else run_id
        recorded = _RecordedRun(Cursor(self._journal, run, f"{inside}/" if inside else ""))
        run.wrap_ask = recorded.asking
        return recorded


class _RecordedRun(Middleware):
    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._journal = cursor.journal

    def on_event(self, event: Event) -> None:
        """Mark an event that repeats an earlier one; agents as tools have no events."""
        if self._cursor.is_outermost:
            self._journal.mark(event)

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        """The recorded answer or refusal, or the model's own.

        The conversation is not compared: a prompt may change while runs are in progress. Other
        failures of the server are not recorded: when the run is resumed, the model is asked again.

        Raises:
            ModelFormatRefused: The recorded answer is to a request that offered its tools in
                another form; an agent steps down to it, as it did before.
            ModelError: The server failed.
            ReplayDiverged: The run has left out a call that it began before.
        """
        cursor, form = self._cursor, _form(request)
        place = cursor.place("model")
        while (entry := self._journal.find("model", place)) is not None:
            refused = cursor.read(entry, refusal_from_dict)
            if refused is None:
                return self._recorded_answer(entry, form)
            if isinstance(refused, ModelContextTooLong) or entry.value.get("form") == form:
                raise refused
            place = cursor.place("model")  # a form that this process has learned not to use
        cursor.expect_begun_calls()
        async with self._journal.calling():
            try:
                response = await call_next(request)
            except ModelRefused as refused:
                record = refusal_to_dict(refused)
                if record is not None:
                    about = {"form": form, **cursor.now()}
                    await self._journal.record("model", place, "", {**record, **about})
                raise
            record = {**response_to_dict(response), "form": form, **cursor.now()}
            await self._journal.record("model", place, "", record)
        return response

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        """The recorded result, or the tool's own."""
        cursor = self._cursor
        tool = cursor.run.tools.get(call.name)
        if tool is None:  # such a call does nothing outside this process
            return await call_next(call)
        place = cursor.place("tool", digest(call.name, call.arguments))
        if tool.is_agent:
            return await _call_agent(place, call, call_next)
        turn = cursor.next_turn()
        begun = cursor.begun(place)
        tries = len(begun)
        entry = self._journal.find("tool", place)
        if entry is not None:
            return self._recorded_result(entry, call)
        # A call in doubt has its turn on record, and comes after those of earlier turns.
        cursor.expect_new(place, call, begun[0].value.get("turn", turn) - 1 if begun else turn)
        about = {"arguments": value_or_text(dict(call.arguments)), "turn": turn}
        if tool.idempotent:
            async with self._journal.calling():
                return await self._record_result(place, await call_next(call), about)
        if tries and (skipped := await self._decided(place, tries, call)) is not None:
            return await self._record_result(place, skipped)
        async with self._journal.calling():
            begin = f"{place}#{tries + 1}"
            await self._journal.record("begin", begin, call.name, {**about, **cursor.now()})
            return await self._record_result(place, await call_next(call))

    async def code_run(self, code: str, call_next: CodeRun) -> ExecutionResult:
        """The recorded result, once the block has run again; or its result now."""
        place = self._cursor.place("code", digest(code))
        with self._cursor.in_block():
            return await run_block(self._cursor, place, code, call_next)

    def asking(self, ask: Ask) -> Ask:
        """`ask`, with each answer on record, so that it is asked for once in a run's life.

        If the agent names nobody to ask, the run waits for `DurableRuns.approve`.
        """
        cursor, journal = self._cursor, self._journal

        async def ask_once(call: ToolCall) -> Decision:
            name = f"{call.name} {call.doubt}".rstrip()  # a yes is for this call, for this reason
            place = cursor.place("ask", digest(name, call.arguments))
            entry = journal.find("ask", place)
            if entry is not None:
                return cursor.read(entry, _decision)
            cursor.expect_new(place, call)
            if ask is nobody:
                decision = _decision(await journal.answer(question("approval", f"{place}?", call)))
            else:
                async with journal.unfinished():  # so that the question is asked once
                    answer = await ask(call)
                decision = answer if isinstance(answer, Decision) else Decision(answer is True)
            record = {"approved": decision.approved, "reason": decision.reason}
            if decision.beside:
                record["beside"] = True
            await journal.record("ask", place, call.name, record)
            return decision

        return ask_once

    async def _decided(self, place: str, tries: int, call: ToolCall) -> ToolResult | None:
        """The result to use for a call in doubt; None if it is to be made again.

        Raises:
            Suspended: There is no decision yet.
            RunAborted: The decision is to end the run.
        """
        answer = await self._journal.answer(question("in_doubt", f"{place}#{tries}", call))
        choice = answer.get("choice")
        if choice == "retry":
            return None
        if choice == "abort":
            raise RunAborted(f"a call to {call.name} was started, and its result is not known")
        text = f"{call.name} was started, and its result is not known; it was not called again"
        return ToolResult(call, f"Error: {text}", is_error=True, error=RuntimeError(text))

    def _recorded_answer(self, entry: Entry, form: str) -> ModelResponse:
        response = self._cursor.read(entry, response_from_dict)
        self._cursor.go_on_from(entry.value)
        recorded = entry.value.get("form")
        if recorded != form:
            self._cursor.take_back("model")
            raise ModelFormatRefused(
                f"the run's requests are of the form {recorded!r}, not {form!r}"
            )
        return response

    def _recorded_result(self, entry: Entry, call: ToolCall) -> ToolResult:
        result = self._cursor.read(entry, lambda record: tool_result_from_dict(record, call))
        self._cursor.go_on_from(entry.value)
        if self._cursor.run.label is not None and result.label is None:
            return replace(result, label=UNKNOWN)  # recorded before the run had labels
        return result

    async def _record_result(
        self, place: str, result: ToolResult, about: Mapping[str, Any] | None = None
    ) -> ToolResult:
        """Record a result, and return it as a later execution will read it."""
        if self._cursor.run.label is not None:
            result = replace(result, label=self._cursor.run.label(result))
        record = {**(about or {}), **tool_result_to_dict(result), **self._cursor.now()}
        await self._journal.record("tool", place, result.call.name, record)
        return tool_result_from_dict(record, result.call)


async def _call_agent(place: str, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
    outer = _INSIDE.set(place)
    try:
        return await call_next(call)
    finally:
        _INSIDE.reset(outer)


def _decision(data: Mapping[str, Any]) -> Decision:
    beside = data.get("beside") is True
    return Decision(take(data, "approved", bool), take(data, "reason", str), beside)


def _form(request: ModelRequest) -> str:
    """How the request offers its tools."""
    offered = {
        "tools": request.format.tools,
        "response_format": request.format.response_format,
        "instructions": request.format.instructions,
    }
    return " ".join(name for name, value in offered.items() if value)
