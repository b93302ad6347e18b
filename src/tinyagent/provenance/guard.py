"""Provenance: labels on all that a run reads, and a policy at each call that could do harm."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

from tinyagent.core.context import RunControl
from tinyagent.core.errors import ToolArgumentsError, UsageLimitReached
from tinyagent.core.execution import ExecutionResult
from tinyagent.core.logs import logger
from tinyagent.core.messages import ArgumentOrigin, Message, ToolCall
from tinyagent.core.provenance import DELEGATION, OPERATOR, UNKNOWN, Delegation, Label, Sink, join
from tinyagent.core.types import ModelRequest, ModelResponse, ToolResult, ToolSpec
from tinyagent.middleware.base import (
    CodeRun,
    Middleware,
    ModelCall,
    SteeringMiddleware,
    ToolCallHandler,
)
from tinyagent.options import checks_options
from tinyagent.provenance.evidence import Evidence
from tinyagent.provenance.judge import Verdict, judge
from tinyagent.provenance.links import without_links
from tinyagent.provenance.policy import Policy, names_of, policy_from_dict
from tinyagent.provenance.vault import Opened, Vault
from tinyagent.provenance.vouching import as_json, echoes_of

_MAX_REFUSED = 10

T = TypeVar("T")


@checks_options()
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
        reveal_bits: how much a sealed code agent may learn of narrow untrusted values (bool, int,
            float, dates, `Literal`) in one run without being influenced by them, in bits.

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
        reveal_bits: int = 0,
        links: Iterable[str] | None = None,
    ) -> None:
        self.policy = Policy(
            names_of(trusted, "trusted"),
            {name: names_of(given, f"private.{name}") for name, given in private.items()},
            names_of(free, "free"),
            dict(sinks),
            reveal_bits,
            None if links is None else names_of(links, "links"),
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Provenance:
        """Read a policy from the contents of a YAML or JSON file.

        Raises:
            ConfigurationError: a policy does not have this key or value.
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
        guard = _SealedGuard(self.policy, run) if run.sealed else _Guard(self.policy, run)
        run.label = guard.label
        if self.policy.links is not None:
            run.clean_answer = guard.clean_answer
        return guard


class _Guard(Middleware):
    """The labels of one run, and its check of calls."""

    def __init__(self, policy: Policy, run: RunControl) -> None:
        self._policy = policy
        self._run = run
        self._evidence = Evidence(run.task)
        self._messages: list[Message] = []  # of the request before
        self._of_request = self._context = OPERATOR
        self._process = Label()
        self._in_code = False
        self._refused = 0

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
        self._of_request = self._of_request | labels if goes_on else OPERATOR | labels
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
        opened = Opened(_copied(call.arguments))
        return await self._checked(tool, call, opened, call_next)

    async def _checked(
        self, tool: ToolSpec, call: ToolCall, opened: Opened, call_next: ToolCallHandler
    ) -> ToolResult:
        """Check the call, make it with the arguments that were opened, and label its result."""
        context = self._read | opened.label if opened.labels else self._read
        check = partial(
            judge,
            opened,
            self._policy.sinks_of(tool),
            self._evidence,
            self._read,
            is_trusted=self._is_clean,
        )
        verdict = _attempt(check, Verdict("its arguments cannot be checked", ()))
        call = replace(call, arguments=opened.value, origins=verdict.origins)
        if verdict.reason and (refused := await self._refused_by(call, verdict)):
            return self._labelled(self._refusal(call, refused), self._read)
        delegation = Delegation(context)
        token = DELEGATION.set(delegation)
        try:
            result = await call_next(call)
        finally:
            DELEGATION.reset(token)
        label = result.label or context | self._label_of_result(tool, result, delegation)
        echoes = frozenset[str]()
        if not self._is_clean(context):
            echoes = echoes_of(call.arguments, verdict.vouched)
        self._learn(call, result, label, echoes)
        return self._labelled(result, label)

    def clean_answer(self, answer: Any, label: Label | None) -> Any:
        """The answer without links that the policy does not allow."""
        if self._is_clean(label or UNKNOWN):
            return answer
        is_said = partial(self._evidence.vouches, "user")
        return without_links(answer, self._policy.links or (), is_said)

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
        return delegation.task | self._label_of_result(tool, result, delegation)

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

    def _learn(
        self, call: ToolCall, result: ToolResult, label: Label, echoes: frozenset[str]
    ) -> None:
        if not result.is_error:
            value = as_json(result.value, result.content)
            self._evidence.add(call, value, result.content, label, echoes)

    def _labelled(self, result: ToolResult, label: Label) -> ToolResult:
        if self._in_code:
            self._process |= label
        return replace(result, label=label)

    def _is_clean(self, label: Label) -> bool:
        return self._policy.trusts(label, self._run.tools)


class _SealedGuard(_Guard):
    """The guard of a code agent whose code sees no untrusted value, only stand-ins."""

    def __init__(self, policy: Policy, run: RunControl) -> None:
        super().__init__(policy, run)
        run.vault = self._vault = Vault(policy.reveal_bits, self._taint)

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        """Label the answer; tokens that the code has printed are shown as stand-ins."""
        messages = tuple(map(self._vault.scrub, request.messages))
        return await super().model_call(replace(request, messages=messages), call_next)

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        """Open the arguments, check and make the call, and seal its result."""
        tool = self._run.tools.get(call.name)
        if tool is None:
            return await super().tool_call(call, call_next)
        try:
            opened = self._open(call.arguments)
        except (ValueError, TypeError) as fault:
            result = ToolResult(
                call, f"Error: {fault}", is_error=True, error=ValueError(str(fault))
            )
            return replace(result, label=self._read)
        # A copy: a tool must not change what is kept here, nor what was checked.
        opened = replace(opened, value=_copied(opened.value))
        if opened.labels and (refused := _refused(tool, call, opened)):
            return replace(refused, label=self._read)
        result = await self._checked(tool, call, opened, call_next)
        return self._sealed(tool, call, opened, result)

    def _open(self, arguments: Mapping[str, Any]) -> Opened:
        """The arguments without stand-ins; a label's path begins with the argument's name."""
        labels: dict[str, Label] = {}
        values: dict[str, Any] = {}
        for name, argument in arguments.items():
            opened = self._vault.open(argument, name)
            values[name] = opened.value
            labels |= opened.labels
        return Opened(values, labels)

    def _sealed(
        self, tool: ToolSpec, call: ToolCall, opened: Opened, result: ToolResult
    ) -> ToolResult:
        """The result as the code may see it."""
        label = result.label or UNKNOWN
        call = replace(call, origins=tuple(_closed(each, opened) for each in result.call.origins))
        result = replace(result, call=call)
        if self._is_public(label) or self._read | label == self._read:
            self._process |= label
            return result
        if result.is_error:
            return _without_words(tool, opened, result)
        value = as_json(result.value, result.content) if result.parts else result.value
        own, base = self._policy.source(tool.name), self._read | opened.label

        def part(value: Any, kind: Any, name: str) -> Any:
            field = Label(frozenset({f"{own}.{name}"}), label.readers) | base
            if name and self._is_public(field):
                self._process |= field
                return value
            where = f"{tool.name}.{name}" if name else tool.name
            return self._vault.seal(value, kind, label, where)

        value = self._vault.seal_parts(value, tool.returns, tool.name, part)
        content = f"(the result of {tool.name} is sealed)"
        return replace(result, value=value, content=content, parts=(), note="")

    def _labelled(self, result: ToolResult, label: Label) -> ToolResult:
        return replace(result, label=label)

    def _is_public(self, label: Label) -> bool:
        """Whether the code may see it."""
        return label.readers is None and self._is_clean(label)

    def _taint(self, label: Label) -> None:
        self._process |= label


def _refused(tool: ToolSpec, call: ToolCall, opened: Opened) -> ToolResult | None:
    """The result of a call whose values do not fit the tool, so that nobody is asked about it."""
    try:
        tool.validate(_copied(opened.value))
    except ToolArgumentsError as error:
        result = ToolResult(call, "", is_error=True, error=error)
        return _without_words(tool, opened, result)
    return None


def _without_words(tool: ToolSpec, opened: Opened, result: ToolResult) -> ToolResult:
    """The error of a tool without its text, which others may have written."""
    if not opened.labels and isinstance(result.error, ToolArgumentsError):
        try:  # this text is made of the code's own arguments
            tool.validate(result.call.arguments)
        except ToolArgumentsError:
            return result
    kind = "wrong arguments" if isinstance(result.error, ToolArgumentsError) else "an error"
    text = f"{tool.name} failed ({kind}); the message is not shown, as others may have written it"
    return replace(result, content=f"Error: {text}", error=RuntimeError(text), parts=(), note="")


def _closed(origin: ArgumentOrigin, opened: Opened) -> ArgumentOrigin:
    """The origin of a value; of one that was sealed, without the value."""
    if not opened.labels or not opened.label_at(origin.path).sources:
        return origin
    argument = origin.path.partition(".")[0].partition("[")[0].partition(":")[0]
    return replace(origin, path=argument, value="<sealed>")


def _copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that shares nothing that can be changed."""
    return {
        name: value if isinstance(value, str | int | float) else copy.deepcopy(value)
        for name, value in arguments.items()
    }


def _attempt(function: Callable[[], T], otherwise: T) -> T:
    """What the function returns, or `otherwise` if it raises anything."""
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - also what a value's own methods raise
        name = type(error).__name__  # not its text, which may quote a sealed value
        logger.error("a check of provenance failed (%s); the call is treated as untrusted", name)
        return otherwise
