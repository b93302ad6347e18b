"""explain: each call of a run with its labels, and the rule that allowed or refused it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tinyagent.core.provenance import UNKNOWN, Label
from tinyagent.core.results import RunResult
from tinyagent.core.types import ToolResult


def explain(result: RunResult[Any]) -> str:
    """Each call of a run: where its arguments come from, and what it made of the conversation.

    Args:
        result: The result of a run with a `Provenance`.
    """
    lines = [line for number, each in enumerate(result.calls, 1) for line in _call(number, each)]
    return "\n".join([*lines, f"answer: from {_sources(result.label)}"])


def _call(number: int, called: ToolResult) -> Iterator[str]:
    refused = " (refused)" if isinstance(called.error, PermissionError) else ""
    yield f"{number}. {called.call.name}{refused}"
    for origin in called.call.origins:
        yield f"   {origin.describe()}"
    yield f"   result: from {_sources(called.label)}"


def _sources(label: Label | None) -> str:
    return ", ".join(sorted((label or UNKNOWN).sources))
