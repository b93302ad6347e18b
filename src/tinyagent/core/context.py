"""The state of a run and its answer, as tools, middleware and the agent see it.

`RunContext` is a read-only view for tools and ordinary middleware. `RunControl` is the state
itself, for middleware that steers a run: limits, approval, durable runs. `Delegation` is what
passes between a call and a run that starts in it. `Finalizer` takes the answer.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Protocol, cast

from tinyagent.core.cost import ModelUse
from tinyagent.core.errors import ConfigurationError, MultipleFinalAnswers
from tinyagent.core.events import Event
from tinyagent.core.messages import ToolCall
from tinyagent.core.provenance import OUTER, UNKNOWN, USER, Label, Mark
from tinyagent.core.results import FinalAnswer
from tinyagent.core.types import ToolResult, ToolSpec, Usage

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Deps_co = TypeVar("Deps_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    Deps_co = TypeVar("Deps_co", covariant=True)

Ask = Callable[[ToolCall], Awaitable[Any]]
"""Asks a person whether a call may be made."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to a request for approval; the model is shown the `reason` of a refusal."""

    approved: bool
    reason: str = ""
    beside: bool = False
    """Whether a yes also holds for the calls `beside` the one that was asked about."""


class Caller(Protocol):
    """The policy of a run that calls a tool, for the runs that start in the call."""

    def trusts(self, source: str) -> bool:
        """Whether the caller trusts one of its own sources."""
        ...

    def guard(self, run: Any) -> Any:
        """A middleware that holds a run without a policy of its own to the caller's."""
        ...


@dataclass(slots=True)
class Delegation:
    """What passes between a call and a run that starts in it: labels both ways, and the policy.

    Attributes:
        context: The label of all that the call was made of.
        task: The same for the run that starts in it, where the caller's sources begin with `../`.
        answer: The label of its answer, as the run names the sources.
        caller: The policy; None where only the label is known.
    """

    context: Label
    task: Label
    answer: Label = UNKNOWN
    caller: Caller | None = None

    def trusts(self, source: str) -> bool:
        """Whether the caller trusts a source that begins with `../`."""
        return self.caller is not None and self.caller.trusts(source.removeprefix(OUTER))

    def guard(self, run: Any) -> Any:
        """The middleware that holds a run without a policy of its own to the caller's.

        Raises:
            ConfigurationError: The caller's policy is not known here.
        """
        if self.caller is None:
            raise ConfigurationError(
                "the task was written by another run, whose policy is not known here: give the"
                " agent a Provenance in middleware=[...]"
            )
        return self.caller.guard(run)

    def note(self, values: Iterable[object], is_said: Callable[[str], bool]) -> None:
        """Remember texts of the call, for runs that start with them in another thread or task.

        Args:
            values: The arguments of the call.
            is_said: Whether a text is the user's.
        """
        texts = (text for text in values if isinstance(text, str) and _has_words(text))
        starts = [text[:_MAX_CHARACTERS] for text in texts if not is_said(text)]
        with _LOCK:
            for start in starts:
                _WRITTEN[start] = self
                _WRITTEN.move_to_end(start)
            while len(_WRITTEN) > _MAX_WRITTEN:
                _WRITTEN.popitem(last=False)


DELEGATION: ContextVar[Delegation | None] = ContextVar("DELEGATION", default=None)
"""Set while a labelled run calls a tool, for the runs that start in it."""


@contextmanager
def delegated(delegation: Delegation | None) -> Generator[None]:
    """Let the runs that start in the block be those of a call."""
    token = DELEGATION.set(delegation)
    try:
        yield
    finally:
        DELEGATION.reset(token)


_LOCK = Lock()
_WRITTEN: OrderedDict[str, Delegation] = OrderedDict()
"""The beginnings of texts that labelled runs passed to tools, the latest last.

A context variable does not reach a thread or a queue that a tool passes a task to; the text of the
task does.
"""
_MAX_WRITTEN = 256
_MAX_CHARACTERS = 2_000
_MIN_WORDS = 2


def _has_words(text: str) -> bool:
    return len(text[:_MAX_CHARACTERS].split(maxsplit=_MIN_WORDS)) >= _MIN_WORDS


def delegation_of(words: str) -> Delegation | None:
    """The call that a run with this task starts in, or that wrote its task; None for a user's."""
    delegation = DELEGATION.get()
    if delegation is not None or not _WRITTEN:
        return delegation
    with _LOCK:
        if words in _WRITTEN:
            return _WRITTEN[words]
        held = (text for text in reversed(_WRITTEN) if text in words and text.count(" ") > 1)
        text = next(held, None)
        return None if text is None else _WRITTEN[text]


def _ignore(_event: Event) -> None:
    """Emit to no listener."""


def _unchanged(ask: Ask) -> Ask:
    return ask


class SealedValues(Protocol):
    """The values behind the stand-ins that sealed code works with."""

    def seal(self, value: Any, kind: Any, label: Label, what: str) -> Any:
        """A stand-in for a value of a type; `what` says where it comes from."""
        ...

    def open(self, value: Any) -> OpenedValue:
        """The value with all stand-ins replaced; raises ValueError for one that is unknown."""
        ...

    def answer(self, value: Any) -> OpenedValue:
        """The value as the user is shown it, with all stand-ins replaced; raises as `open`."""
        ...

    def reveal(self, value: Any) -> tuple[Any, int | None]:
        """The value, for the model, and the bits that were counted; None if it taints the run."""
        ...


class OpenedValue(Protocol):
    """A value without stand-ins, and the labels of what was in it."""

    @property
    def value(self) -> Any:
        """The value."""
        ...

    @property
    def labels(self) -> Mapping[str, Label]:
        """The label of each place that held a stand-in."""
        ...

    @property
    def label(self) -> Label:
        """The join of the labels."""
        ...


@dataclass(slots=True)
class RunControl:
    """The state of one run, which its agent and steering middleware may change.

    Attributes:
        task: The task in words.
        max_steps: The step limit.
        tools: The agent's tools by name.
        model: The model's name.
        run_id: A unique id.
        step: The number of the current step, from 1; 0 before the first.
        usage: Model requests and tokens so far, including those of agents as tools.
        uses: The same for each model request.
        started: When the run started, in seconds of the monotonic clock.
        waited_seconds: How long it has waited for people.
        waiting_since: When the current wait for a person started, on the same clock.
        answer_only: Whether the model must answer from what it has, without calling tools.
        emit: Sends an event to the listeners.
        wrap_ask: Wraps each function that asks for approval, so that answers can be remembered.
        material: The sources that a code agent's code can read without a tool.
        label: The label of the result of the call or the block (None) that is being made, for its
            record; None if the run has no `Provenance`.
        sealed: Whether untrusted values are kept out of the code.
        vault: Where they are then; None if the run has no `Provenance`.
        approve: Asks a person about a call, as the run's `Approval` does; None if it has none.
        clean_answer: Removes from an answer with this label what the policy does not allow in it.
        mark: The spans of the text of an answer that untrusted sources wrote.
        reply: The calls of the reply that are being made.
        delegation: The call of another run in which this one was started; None for a user's.
        forget_variables: Clears the variables of a code agent's sandbox; None for other agents.
        deps: What the caller gave the run for its tools and middleware; never shown or stored.
    """

    task: str
    max_steps: int
    tools: Mapping[str, ToolSpec]
    model: str = ""
    run_id: str = field(default_factory=lambda: os.urandom(16).hex())
    step: int = 0
    usage: Usage = field(default_factory=Usage)
    uses: list[ModelUse] = field(default_factory=list[ModelUse])
    started: float = field(default_factory=time.monotonic)
    waited_seconds: float = 0.0
    waiting_since: float | None = None
    answer_only: bool = False
    emit: Callable[[Event], None] = _ignore
    wrap_ask: Callable[[Ask], Ask] = _unchanged
    material: frozenset[str] = frozenset()
    label: Callable[[ToolResult | None], Label] | None = None
    sealed: bool = False
    vault: SealedValues | None = None
    approve: Callable[[ToolCall], Awaitable[Decision]] | None = None
    clean_answer: Callable[[Any, Label | None], Any] | None = None
    mark: Callable[[str], tuple[Mark, ...]] | None = None
    reply: Sequence[ToolCall] = ()
    delegation: Delegation | None = None
    forget_variables: Callable[[], Awaitable[None]] | None = None
    deps: Any = field(default=None, repr=False)

    @property
    def given(self) -> Label:
        """The label of what came with the task: that of the call that delegates it, if any."""
        return Label() if self.delegation is None else self.delegation.task

    @property
    def task_label(self) -> Label:
        """The label of the task: the user's, or that of the call that delegates it."""
        return USER if self.delegation is None else self.given

    @property
    def seconds(self) -> float:
        """How long the run has worked, without the time that it waited for people."""
        now = time.monotonic()
        waiting = 0.0 if self.waiting_since is None else now - self.waiting_since
        return now - self.started - self.waited_seconds - waiting

    @property
    def context(self) -> RunContext[Any]:
        """The read-only view."""
        return RunContext(self)

    def count(self, usage: Usage, uses: Iterable[ModelUse]) -> None:
        """Add model requests to those of the run."""
        self.usage += usage
        self.uses += uses


class RunContext(Generic[Deps_co]):
    """What a run shows to its tools and middleware; it cannot be changed through this view.

    A tool with a parameter of this type receives the view of its run, and the model does not see
    the parameter; `RunContext[MyDeps]` says what `deps` the tool needs. The only thing that a tool
    may add is what it used itself: see `count`.
    """

    __slots__ = ("_control",)

    def __init__(self, control: RunControl) -> None:
        self._control = control

    @property
    def deps(self) -> Deps_co:
        """What the caller gave the run: `agent.run(task, deps=...)`."""
        return cast("Deps_co", self._control.deps)

    @property
    def task(self) -> str:
        """The task in words."""
        return self._control.task

    @property
    def max_steps(self) -> int:
        """The step limit."""
        return self._control.max_steps

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """The agent's tools by name."""
        return self._control.tools

    @property
    def model(self) -> str:
        """The model's name."""
        return self._control.model

    @property
    def run_id(self) -> str:
        """The run's unique id."""
        return self._control.run_id

    @property
    def step(self) -> int:
        """The number of the current step, from 1; 0 before the first."""
        return self._control.step

    @property
    def is_sealed(self) -> bool:
        """Whether untrusted values are kept out of the code, and out of logs."""
        return self._control.sealed

    @property
    def usage(self) -> Usage:
        """Model requests and tokens so far, including those of agents as tools."""
        return self._control.usage

    @property
    def uses(self) -> Sequence[ModelUse]:
        """The same for each model request."""
        return tuple(self._control.uses)

    @property
    def seconds(self) -> float:
        """How long the run has worked, without the time that it waited for people."""
        return self._control.seconds

    def count(self, usage: Usage, uses: Iterable[ModelUse] = ()) -> None:
        """Count model requests that a tool made as requests of this run, so that limits hold.

        Args:
            usage: What they used, for example `result.usage` of another run.
            uses: The same for each request, for the cost: `result.uses`.
        """
        self._control.count(usage, uses)


class Finalizer:
    """Takes the answer of a run; a second answer is an error and does not replace the first."""

    __slots__ = ("_answer",)

    def __init__(self) -> None:
        self._answer: FinalAnswer | None = None

    @property
    def is_set(self) -> bool:
        """Whether the run has its answer."""
        return self._answer is not None

    @property
    def answer(self) -> FinalAnswer | None:
        """The answer; None until there is one."""
        return self._answer

    def set_answer(
        self, value: Any, source: str = "text", metadata: Mapping[str, Any] | None = None
    ) -> FinalAnswer:
        """Record the answer.

        Raises:
            MultipleFinalAnswers: There is one already, which is kept.
        """
        if self._answer is not None:
            raise MultipleFinalAnswers(
                "the run already has its final answer; the second one was ignored"
            )
        self._answer = FinalAnswer(value, source, datetime.now(UTC), dict(metadata or {}))
        return self._answer
