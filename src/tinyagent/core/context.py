"""RunContext: what a run shows to its middleware and tools."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tinyagent.core.cost import ModelUse
from tinyagent.core.events import Event
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ToolSpec, Usage

Question = Callable[[ToolCall], Awaitable[Any]]
"""Asks somebody whether a call may be made."""


def _no_listener(_event: Event) -> None:
    """Nobody listens."""


def _as_it_is(ask: Question) -> Question:
    return ask


@dataclass(slots=True)
class RunContext:
    """The state of one run that others may read.

    A tool with a parameter of this type is given the run's own; the model does not see it.
    `answer_only` keeps the model from calling tools: it is to answer from what it has.
    `asking` wraps what asks for an approval, and `forget_variables` is a code agent's: both are for
    a middleware that remembers more than one process does.
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
    emit: Callable[[Event], None] = _no_listener
    asking: Callable[[Question], Question] = _as_it_is
    forget_variables: Callable[[], Awaitable[None]] | None = None

    @property
    def seconds(self) -> float:
        """How long the run has been working, the time it waited for people left out."""
        now = time.monotonic()
        waiting = 0.0 if self.waiting_since is None else now - self.waiting_since
        return now - self.started - self.waited_seconds - waiting
