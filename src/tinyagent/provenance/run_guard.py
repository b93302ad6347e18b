"""The guard of one run: the labels of all that it reads, and the check of its calls."""

from __future__ import annotations

import asyncio
import copy
import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from tinyagent.core.context import DELEGATION, Caller, Delegation, RunControl
from tinyagent.core.execution import ExecutionResult
from tinyagent.core.logs import logger
from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.provenance import (
    COMMON,
    OPERATOR,
    OUTER,
    UNKNOWN,
    Label,
    Mark,
    join,
)
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult, ToolSpec
from tinyagent.middleware.base import CodeRun, Middleware, ModelCall, ToolCallHandler
from tinyagent.provenance.evidence import Evidence
from tinyagent.provenance.judge import Verdict, judge
from tinyagent.provenance.links import without_links
from tinyagent.provenance.policies.policy import Policy
from tinyagent.provenance.records import Record
from tinyagent.provenance.vault import Opened
from tinyagent.provenance.vouching import as_json

MAX_REFUSED = 10
"""How often a person refuses doubtful calls of one tool in a run before nobody is asked again."""

_ALLOWED = Verdict("", ())
T = TypeVar("T")
MakeCaller = Callable[[str, Policy, Mapping[str, ToolSpec], Callable[[str], bool]], Caller]
"""Makes what the runs that start in a call of a tool inherit."""


class Guard(Middleware):
    """The labels of one run, and its check of calls.

    Args:
        policy: Of the run.
        run: Its state.
        outer: What the policy of its caller adds to it.
        caller: Makes what runs inherit that start in its calls.
    """

    def __init__(self, policy: Policy, run: RunControl, outer: Policy, caller: MakeCaller) -> None:
        self._policy, self._outer, self._caller = policy, outer, caller
        self._run = run
        self._evidence = Evidence(run.task, policy, run.tools)
        self._messages: list[Message] = []  # of the request before
        described = {tool.described_by for tool in run.tools.values() if tool.described_by}
        self._base = OPERATOR | Label(frozenset(described))
        self._of_request = self._context = self._base
        self._process = Label()
        self._in_code = False
        self._clean = set[frozenset[str]]()  # sources that are all trusted
        self._tainted: dict[frozenset[str], int] = {}  # how many items were trusted then
        # Not a method: it outlives the run, whose results need not.
        items = self._evidence.trusted_items
        self._trusts = partial(_trusts, policy, run.tools, items, run.delegation)
        self._trusted_items = items
        self._callers: dict[tuple[Any, ...], tuple[Label, Caller]] = {}
        self._labels: dict[str, Label] = {}  # of tools whose results all have the same label
        self._asking = asyncio.Lock()
        self._refused = Counter[str]()  # by tool
        self._refused_at = 0  # the step in which a person said no
        self._approved: dict[tuple[int, str], ToolCall] = {}  # beside one that was asked about

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        """Label the answer with all that the request contains."""
        self._take([message for message in request.messages if message.role != "system"])
        return replace(await call_next(request), label=self._context)

    def _take(self, messages: list[Message]) -> None:
        """Read the messages of a request; mostly, it begins with those of the one before."""
        known = self._messages
        goes_on = len(known) <= len(messages) and all(map(operator.is_, known, messages))
        new = messages[len(known) :] if goes_on else messages
        labels = join(message.label for message in new)
        self._messages = messages
        self._of_request = (self._of_request if goes_on else self._base) | labels
        self._context = self._of_request | self._process
        self._evidence.read(new, goes_on=goes_on)

    async def code_run(self, code: str, call_next: CodeRun) -> ExecutionResult:
        """Label the result with all that has ever entered the process."""
        self._process |= self._context | Label(self._run.material)
        self._in_code = True  # from now on: a thread of the code may outlive its block
        result = await call_next(code)
        if result.label is not None:  # of its record
            self._process |= result.label
        return replace(result, label=self._process)

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        """Check the call, make it, and label its result."""
        tool = self._run.tools.get(call.name)
        if tool is None:
            result = await call_next(call)
            return self._labelled(result, self._evidence.long_result(call) | self._read)
        # What is checked is what is run, whatever others do to the arguments meanwhile.
        return await self._checked(tool, call, Opened(copied(call.arguments)), call_next)

    async def _checked(
        self, tool: ToolSpec, call: ToolCall, opened: Opened, call_next: ToolCallHandler
    ) -> ToolResult:
        """Check the call, make it with the arguments that were opened, and label its result."""
        context = self._read | opened.label if opened.labels else self._read
        is_planned = self._is_clean(self._read)
        is_clean = self._is_clean(context) if opened.labels else is_planned
        verdict = self._verdict(tool, opened)
        call = replace(call, arguments=opened.value, origins=verdict.origins, beside=())
        if verdict.reason and (refused := await self._refused_by(call, verdict)):
            return self._labelled(_refusal(call, refused), self._read)
        delegation = self._delegate(call, context, is_clean=is_clean)
        token = DELEGATION.set(delegation)
        try:
            result = await call_next(call)
        finally:
            DELEGATION.reset(token)
        record = self._record(tool, result)
        record.arguments, record.known = call.arguments, verdict.vouched
        record.is_clean, record.is_planned = is_clean, is_planned
        record.own = own = self._label_of_result(tool, result, delegation, record)
        label = result.label or context | own
        self._evidence.add(call, record, result.content, label)
        return self._labelled(result, label)

    def _record(self, tool: ToolSpec, result: ToolResult) -> Record:
        """What the result of a tool may vouch for."""
        value = as_json(result.value, result.content)
        by = self._policy.items_by(tool)
        return Record(tool.name, value, vouches=not result.is_error, by=by)

    def _verdict(self, tool: ToolSpec, opened: Opened) -> Verdict:
        outer = self._outer.sinks.get(tool.name)
        sinks = self._policy.sinks_of(tool) + (() if outer is None else (outer,))
        if not sinks:
            return _ALLOWED
        check = partial(
            judge,
            opened,
            sinks,
            self._evidence,
            self._read,
            tool.json_schema,
            is_trusted=self._is_clean,
        )
        return _attempt(check, Verdict("its arguments cannot be checked", ()))

    def _delegate(self, call: ToolCall, context: Label, *, is_clean: bool) -> Delegation:
        """The delegation for runs that start in the call, also in another thread or task."""
        key = (call.name, context.sources, context.readers)
        if key not in self._callers:
            sources = (
                source if _is_common(source) else f"{OUTER}{source}" for source in context.sources
            )
            task = Label(frozenset(sources), context.readers)
            caller = self._caller(call.name, self._policy, self._run.tools, self._trusts)
            self._callers[key] = (task, caller)
        task, caller = self._callers[key]
        delegation = Delegation(context, task, caller=caller)
        if not is_clean:
            delegation.note(call.arguments.values(), partial(self._evidence.vouches, "user"))
        return delegation

    def clean_answer(self, answer: Any, label: Label | None) -> Any:
        """The answer without links that the policy does not allow."""
        if self._is_clean(label or UNKNOWN):
            return answer
        is_said = partial(self._evidence.vouches, "user")
        return without_links(answer, self._policy.links or (), is_said)

    def marks(self, answer: str) -> tuple[Mark, ...]:
        """The spans of an answer that untrusted sources wrote."""
        return self._evidence.marks(answer)

    @property
    def _read(self) -> Label:
        """All that the model and its code have read so far."""
        return self._context | self._process if self._in_code else self._context

    def label(self, result: ToolResult | None) -> Label:
        """The label of the result of the call that is being made, or of the block (None)."""
        delegation = DELEGATION.get()
        if result is None or delegation is None:
            return self._process
        tool = self._run.tools[result.call.name]
        record = self._record(tool, result)
        return delegation.context | self._label_of_result(tool, result, delegation, record)

    async def _refused_by(self, call: ToolCall, verdict: Verdict) -> str:
        """Why the call is refused; empty if a person approves it.

        A person is asked once for a reply: about all of its calls that break a rule, if the answer
        covers them, and not again after a no.
        """
        if self._run.approve is None or not verdict.can_be_asked:
            return f"{verdict.reason}. Ask the user."
        async with self._asking:
            step = self._run.step
            question = replace(call, doubt=verdict.reason)
            approved = self._approved.pop((step, call.id), None)
            if approved is not None and approved == question and approved.doubt == verdict.reason:
                return ""
            if step == self._refused_at:
                return f"{verdict.reason}; a person refused another call of this step"
            if self._refused[call.name] >= MAX_REFUSED:
                return f"{verdict.reason}; it was refused too often to ask again"
            beside = tuple(self._beside(call))
            decision = await self._run.approve(replace(question, beside=beside))
            if decision.approved:
                if decision.beside:
                    self._approved |= {(step, other.id): other for other in beside}
                return ""
            self._refused_at = step
            self._refused[call.name] += 1
            return f"{verdict.reason}; {decision.reason or 'refused'}"

    def _beside(self, call: ToolCall) -> Iterable[ToolCall]:
        """The calls of the same reply that come after one, and break a rule as well."""
        ids = [other.id for other in self._run.reply]
        start = ids.index(call.id) + 1 if call.id in ids else len(ids)
        for other in self._run.reply[start:]:
            tool = self._run.tools.get(other.name)
            if tool is None or other.fault is not None:
                continue
            opened = Opened(copied(other.arguments))
            verdict = self._verdict(tool, opened)
            if verdict.reason and verdict.can_be_asked:
                yield replace(
                    other, arguments=opened.value, origins=verdict.origins, doubt=verdict.reason
                )

    def _label_of_result(
        self, tool: ToolSpec, result: ToolResult, delegation: Delegation, record: Record
    ) -> Label:
        """The label of a result, without what its arguments were made of."""
        if tool.name in self._labels:
            return self._labels[tool.name]
        outer = self._outer.private.get(tool.name)
        kept = Label() if outer is None else Label(frozenset(), outer)
        if tool.is_agent:
            sources = (_named(source, tool.name) for source in delegation.answer.sources)
            own = Label(frozenset(sources), delegation.answer.readers)
            return own | Label(frozenset(), self._policy.private.get(tool.name)) | kept
        named = record.writers() if record.by and not result.is_error else ()
        own = _attempt(partial(self._policy.label, tool, result.value, named), UNKNOWN) | kept
        if not record.by and not callable(tool.results):
            self._labels[tool.name] = own
        return own

    def _labelled(self, result: ToolResult, label: Label) -> ToolResult:
        if self._in_code:
            self._process |= label
        return replace(result, label=label)

    def _is_clean(self, label: Label) -> bool:
        """Whether all sources of a label are trusted."""
        sources = label.sources  # whose hash is kept with them
        if sources in self._clean:
            return True
        known = len(self._trusted_items)  # more items may become trusted, but not fewer
        if self._tainted.get(sources) == known:
            return False
        if all(map(self._trusts, sources)):
            self._clean.add(sources)
            return True
        if not any(source.startswith(OUTER) for source in sources):  # as these are the caller's
            self._tainted[sources] = known
        return False


def _trusts(
    policy: Policy,
    tools: Mapping[str, ToolSpec],
    items: Collection[str],
    delegation: Delegation | None,
    source: str,
) -> bool:
    """Whether a run trusts a source; those of its caller are the caller's to trust."""
    if source in items:
        return True
    if source.startswith(OUTER):
        return delegation is not None and delegation.trusts(source)
    return policy.trusts(source, tools)


def _is_common(source: str) -> bool:
    """Whether a source means the same in all runs."""
    return source in COMMON or source == "unknown"


def _named(source: str, agent: str) -> str:
    """A source of an agent's answer, as the run names it that called the agent."""
    if source.startswith(OUTER):
        return source.removeprefix(OUTER)
    return source if _is_common(source) else f"{agent}/{source}"


def _refusal(call: ToolCall, reason: str) -> ToolResult:
    text = f"{call.name} was not allowed: {reason}"
    return ToolResult(call, f"Error: {text}", is_error=True, error=PermissionError(text))


def copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that shares nothing that can be changed."""
    return {
        name: value if isinstance(value, str | int | float) else copy.deepcopy(value)
        for name, value in arguments.items()
    }


def _attempt(function: Callable[[], T], otherwise: T) -> T:
    """The result of the function, or `otherwise` if it raises anything."""
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - also what a value's own methods raise
        name = type(error).__name__  # not its text, which may quote a sealed value
        logger.error("a check of provenance failed (%s); the call is treated as untrusted", name)
        return otherwise
