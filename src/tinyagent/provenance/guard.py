"""Provenance: labels on all that a run reads, and a policy at each call that could do harm."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

from tinyagent.core.context import RunControl
from tinyagent.core.errors import UsageLimitReached
from tinyagent.core.execution import ExecutionResult
from tinyagent.core.logs import logger
from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.provenance import DELEGATION, OPERATOR, UNKNOWN, Delegation, Label, Sink, join
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult, ToolSpec
from tinyagent.middleware.base import (
    CodeRun,
    Middleware,
    ModelCall,
    SteeringMiddleware,
    ToolCallHandler,
)
from tinyagent.provenance.evidence import Evidence
from tinyagent.provenance.judge import Verdict, judge
from tinyagent.provenance.policy import Policy, policy_from_dict
from tinyagent.provenance.vouching import as_json, echoes_of

_MAX_REFUSED = 10

T = TypeVar("T")


class Provenance(SteeringMiddleware):
    """Labels all that a run reads, and checks each call against a policy.

    Once the model has read something untrusted, all that it writes is influenced by it. From then
    on each argument of a call that changes something or carries data out must be vouched for, or a
    person must approve the call; see `Sink`.

    Args:
        trusted: tools whose results are trusted, or fields of them (`"contacts.email"`).
        private: who may read the results of a tool, by its name; others are for everybody.
        free: tools that may always be called: they change nothing, and no argument leaves the
            machine.
        sinks: the rules of the other tools, by name. What is declared nowhere may only be called
            while the model has read nothing untrusted, or with a person's approval.

    A call that breaks a rule is put to the agent's `Approval`, if it has one, and refused
    otherwise; after 10 refused calls the run ends.

    Raises:
        ConfigurationError: a rule is none; when a run starts, also if it names an unknown tool or
            argument.
    """

    def __init__(
        self,
        *,
        trusted: Iterable[str] = (),
        private: Mapping[str, Iterable[str]] = MappingProxyType({}),
        free: Iterable[str] = (),
        sinks: Mapping[str, Sink] = MappingProxyType({}),
    ) -> None:
        self.policy = Policy(
            frozenset(trusted),
            {name: frozenset(readers) for name, readers in private.items()},
            frozenset(free),
            dict(sinks),
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Provenance:
        """Read a policy from the contents of a YAML or JSON file.

        Raises:
            ConfigurationError: a key or a value is none that a policy has.
        """
        provenance = cls()
        provenance.policy = policy_from_dict(data)
        return provenance

    def steer(self, run: RunControl) -> Middleware:
        """Guard one run.

        Raises:
            ConfigurationError: the policy names a tool or an argument that the agent does not have.
        """
        self.policy.check(run.tools)
        guard = _Guard(self.policy, run)
        run.label = guard.label
        return guard


class _Guard(Middleware):
    """The labels of one run, and its check of calls."""

    def __init__(self, policy: Policy, run: RunControl) -> None:
        self._policy = policy
        self._run = run
        self._evidence = Evidence()
        self._context = OPERATOR
        self._process = Label()
        self._in_code = False
        self._refused = 0

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        """Label the answer with all that the request contains."""
        labels = {id(label): label for label in map(_label_of, request.messages)}
        self._context = join(labels.values()) | self._process
        self._evidence.read(request.messages)
        return replace(await call_next(request), label=self._context)

    async def code_run(self, code: str, call_next: CodeRun) -> ExecutionResult:
        """Label the result with all that has ever entered the process."""
        self._process |= self._context | Label(self._run.material)
        self._in_code = True
        try:
            result = await call_next(code)
        finally:
            self._in_code = False
        if result.label is not None:  # of its record
            self._process |= result.label
        return replace(result, label=self._process)

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        """Check the call, make it, and label its result."""
        context = self._context | self._process if self._in_code else self._context
        tool = self._run.tools.get(call.name)
        if tool is None or call.fault is not None:
            result = await call_next(call)
            return self._labelled(result, self._evidence.long_result(call) | context)
        # What is checked is what is run, whatever others do to the arguments meanwhile.
        call = replace(call, arguments=copy.deepcopy(dict(call.arguments)))
        verdict = self._judge(tool, call, context)
        call = replace(call, origins=verdict.origins)
        if verdict.reason and (refused := await self._refused_by(call, verdict)):
            return self._labelled(self._refusal(call, refused), context)
        delegation = Delegation(context)
        token = DELEGATION.set(delegation)
        try:
            result = await call_next(call)
        finally:
            DELEGATION.reset(token)
        label = result.label or context | self._label_of_result(tool, result, delegation)
        self._learn(call, result, label, verdict)
        return self._labelled(result, label)

    def label(self, result: ToolResult | None) -> Label:
        """The label of the result of the call that is being made, or of the block (None)."""
        delegation = DELEGATION.get()
        if result is None or delegation is None:
            return self._process
        tool = self._run.tools[result.call.name]
        return delegation.task | self._label_of_result(tool, result, delegation)

    def _judge(self, tool: ToolSpec, call: ToolCall, context: Label) -> Verdict:
        """The verdict on a call; whatever fails in a check refuses it."""
        sinks = self._policy.sinks_of(tool)
        tainted = not self._is_clean(context)
        check = partial(judge, call, sinks, self._evidence, context, tainted=tainted)
        return _attempt(check, Verdict("its arguments cannot be checked", ()))

    async def _refused_by(self, call: ToolCall, verdict: Verdict) -> str:
        """Why the call is refused; empty if a person approves it."""
        if self._run.approve is None:
            return f"{verdict.reason}. Ask the user."
        decision = await self._run.approve(replace(call, doubt=verdict.reason))
        return "" if decision.approved else f"{verdict.reason}; {decision.reason or 'refused'}"

    def _refusal(self, call: ToolCall, reason: str) -> ToolResult:
        self._refused += 1
        if self._refused > _MAX_REFUSED:
            raise UsageLimitReached(
                f"{_MAX_REFUSED} calls broke the provenance policy; the run does not go on"
            )
        text = f"{call.name} was not allowed: {reason}"
        return ToolResult(call, f"Error: {text}", is_error=True, error=PermissionError(text))

    def _label_of_result(self, tool: ToolSpec, result: ToolResult, delegation: Delegation) -> Label:
        if tool.is_agent:
            return delegation.answer
        return _attempt(partial(self._policy.label, tool, result.value), UNKNOWN)

    def _learn(self, call: ToolCall, result: ToolResult, label: Label, verdict: Verdict) -> None:
        if result.is_error:
            return
        clean = self._is_clean(self._context)
        echoes = frozenset[str]() if clean else echoes_of(call.arguments, verdict.vouched)
        value = as_json(result.value, result.content)
        self._evidence.add(call, value, result.content, label, echoes)

    def _labelled(self, result: ToolResult, label: Label) -> ToolResult:
        if self._in_code:
            self._process |= label
        return replace(result, label=label)

    def _is_clean(self, label: Label) -> bool:
        return self._policy.trusts(label, self._run.tools)


def _label_of(message: Message) -> Label | None:
    return OPERATOR if message.role == "system" else message.label


def _attempt(function: Callable[[], T], otherwise: T) -> T:
    """What the function returns, or `otherwise` if it raises anything."""
    try:
        return function()
    except Exception:  # noqa: BLE001 - also what a value's own methods raise
        logger.exception("a check of provenance failed; the call is treated as untrusted")
        return otherwise
