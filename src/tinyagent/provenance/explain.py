"""explain: each call of a run with its labels, and the rule that allowed or refused it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tinyagent.core.messages import ArgumentOrigin
from tinyagent.core.results import ReactStep, RunResult
from tinyagent.core.types import ToolResult
from tinyagent.core.untrusted import cut_middle

_VALUE_CHARS = 200


def explain(result: RunResult[Any]) -> str:
    """Each call of a run: where its arguments come from, and what it made of the conversation.

    Args:
        result: the result of a run with a `Provenance`.
    """
    lines = [line for step in result.steps for line in _step(step)]
    label = "unknown" if result.label is None else ", ".join(sorted(result.label.sources))
    return "\n".join([*lines, f"answer: from {label}"])


def _step(step: object) -> Iterator[str]:
    if not isinstance(step, ReactStep):
        return
    for called in step.results:
        yield from _call(step.number, called)


def _call(number: int, called: ToolResult) -> Iterator[str]:
    refused = " (refused)" if any(origin.fault for origin in called.call.origins) else ""
    yield f"step {number}: {called.call.name}{refused}"
    for origin in called.call.origins:
        yield f"  {origin.path} = {_shown(origin.value)}: {_reason(origin)}"
    sources = "unknown" if called.label is None else ", ".join(sorted(called.label.sources))
    yield f"  result: from {sources}"


def _reason(origin: ArgumentOrigin) -> str:
    if origin.fault:
        return origin.fault
    return f"vouched for by {origin.vouched_by}" if origin.vouched_by else "allowed by its rule"


def _shown(value: object) -> str:
    """The value in one printable line."""
    return ascii(cut_middle(str(value), _VALUE_CHARS)) if isinstance(value, str) else repr(value)
