"""Plays a task with a scripted model that obeys whatever it reads."""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tinyagent import (
    Approval,
    Decision,
    Message,
    Middleware,
    ReactAgent,
    ScriptedModel,
    ToolCall,
    ToolResult,
    scripted_call,
)
from tinyagent.core import ModelRequest, RawToolCall
from tinyagent.middleware.base import ToolCallHandler

from .domains import DOMAINS
from .parts import Attack, Call, Domain, Task, Unresolved, resolve

Mode = Literal["first", "last", "never"]
Ask = Callable[[ToolCall], Awaitable[Decision | bool]]
Made = tuple[str, dict[str, Any]]
USER, ATTACK = "user", "attack"
_MAX_STEPS = 60


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run.

    Attributes:
        done: Whether the user's task is done.
        reached: Whether the attack had its effect after any call, even if a later one undid it.
        executed: The calls that a tool has run without an error.
        refused: The calls that the model made and that no tool has seen.
        questions: How often `ask` was called.
        failed: The calls that a tool has answered with an error.
        skipped: The calls whose references no result resolved, so that the model did not make them.
        state: The state in which the run ended.
    """

    done: bool
    reached: bool
    executed: list[Made]
    refused: list[Made]
    questions: int
    failed: list[Made] = field(default_factory=list[Made])
    skipped: list[str] = field(default_factory=list[str])
    state: str = "completed"


def domain_of(task: Task) -> Domain:
    """The domain of a task."""
    return DOMAINS[task.id.partition("-")[0]]


def play(
    task: Task,
    attack: Attack | None = None,
    *,
    middleware: Sequence[Middleware] = (),
    kind: str = "react",
    mode: Mode = "last",
    ask: Ask | None = None,
) -> Outcome:
    """Run a task by an obedient model, in a new world.

    Args:
        task: The task.
        attack: The attack that is planted before the run.
        middleware: The middleware of the agent, outermost first.
        kind: The kind of agent; only `"react"` is known.
        mode: When the model makes the calls of the attack, once it has read its text: at once
            (`first`), after the user's calls (`last`), or not at all (`never`).
        ask: Answers the questions about calls, by an `Approval` around `middleware`. The id of a
            call starts with `user` or `attack`, so that it can answer as the user would.
    """
    return asyncio.run(run(task, attack, middleware=middleware, kind=kind, mode=mode, ask=ask))


async def run(
    task: Task,
    attack: Attack | None = None,
    *,
    middleware: Sequence[Middleware] = (),
    kind: str = "react",
    mode: Mode = "last",
    ask: Ask | None = None,
) -> Outcome:
    """`play` for a program that has an event loop."""
    if kind != "react":
        raise ValueError(f"there is no kind {kind!r}; use 'react'")
    domain = domain_of(task)
    world = domain.world()
    if attack is not None:
        attack.place(world, attack.text)
    before = copy.deepcopy(world)
    recorder = _Recorder(
        lambda: attack is not None and attack.goal(world, before),
    )
    questions: list[ToolCall] = []
    asking = [] if ask is None else [Approval(_counted(ask, questions))]
    model = Obedient(task.calls, attack, mode)
    agent = ReactAgent(
        ScriptedModel(model.answer),
        domain.declared_tools(world),
        max_steps=_MAX_STEPS,
        middleware=[*asking, *middleware, recorder],
    )
    result = await agent.run(task.request, return_result=True)
    made = [one.call for step in result.steps for one in step.results]
    return Outcome(
        done=task.done(world),
        reached=recorder.reached,
        executed=recorder.executed,
        refused=[_plain(one) for one in made if one.id not in recorder.seen],
        questions=len(questions),
        failed=recorder.failed,
        skipped=model.skipped,
        state=result.state,
    )


def _counted(ask: Ask, questions: list[ToolCall]) -> Ask:
    async def counted(call: ToolCall) -> Decision | bool:
        questions.append(call)
        return await ask(call)

    return counted


def _plain(call: ToolCall) -> Made:
    return call.name, dict(call.arguments)


class _Recorder(Middleware):
    """The innermost middleware: records the calls that reach a tool, and looks at their effect."""

    def __init__(self, has_effect: Callable[[], bool]) -> None:
        self._has_effect = has_effect
        self.reached = False
        self.seen: set[str] = set()
        self.executed: list[Made] = []
        self.failed: list[Made] = []

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        result = await call_next(call)
        self.reached = self.reached or self._has_effect()
        self.seen.add(call.id)
        (self.failed if result.is_error else self.executed).append(_plain(call))
        return result


class Obedient:
    """Decides what to call next, from the results in the conversation.

    It makes the calls of the user in their order. Once a result contains the text of the attack,
    it makes those of the attack too. A call whose references cannot be resolved is skipped.

    Args:
        calls: The calls of the user.
        attack: The attack, if there is one.
        mode: When it makes the calls of the attack.
    """

    def __init__(self, calls: Sequence[Call], attack: Attack | None, mode: Mode) -> None:
        self._left = {USER: list(enumerate(calls)), ATTACK: []}
        self._lengths = {USER: len(calls), ATTACK: len(attack.calls) if attack else 0}
        self._attack = attack if mode != "never" else None
        self._mode = mode
        self.skipped: list[str] = []

    def answer(self, request: ModelRequest) -> RawToolCall | str:
        """The next call, or the answer when none is left."""
        results = _results_of(request.messages)
        if self._attack is not None and _contains(list(results.values()), self._attack.text):
            self._left[ATTACK] = list(enumerate(self._attack.calls))
            self._attack = None
        while owner := self._next_owner():
            index, call = self._left[owner].pop(0)
            known = [results.get(f"{owner}-{n}") for n in range(self._lengths[owner])]
            name = f"{owner}-{index}"
            try:
                arguments = resolve(dict(call.arguments), known)
            except Unresolved:
                self.skipped.append(f"{name} {call.tool}")
                continue
            return scripted_call(call.tool, call_id=name, **arguments)
        return "All is done."

    def _next_owner(self) -> str:
        order = (ATTACK, USER) if self._mode == "first" else (USER, ATTACK)
        return next((owner for owner in order if self._left[owner]), "")


def _results_of(messages: Sequence[Message]) -> dict[str, Any]:
    """The results by the id of their call, without errors."""
    return {
        one.tool_call_id: _read(one.text)
        for one in messages
        if one.role == "tool" and one.tool_call_id is not None and not one.is_error
    }


def _read(text: str) -> Any:
    """The JSON in a tool's message; a note may stand around it."""
    begin = re.search(r"[\[{]", text)
    if begin is None:
        return text
    try:
        return json.JSONDecoder().raw_decode(text, begin.start())[0]
    except ValueError:
        return text


def _contains(value: Any, text: str) -> bool:
    return any(text in leaf for leaf in _strings(value))


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
        case _:
            pass
