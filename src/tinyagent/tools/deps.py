"""What tools need of a run: `RunContext[MyDeps]` among their parameters."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from tinyagent.core.context import RunContext
from tinyagent.core.errors import ToolDefinitionError

if TYPE_CHECKING:
    from tinyagent.tools.tool import Tool


def context_of(hint: Any) -> Any:
    """The `RunContext` or `RunContext[...]` that a hint names, alone or with None; None if none."""
    return next((each for each in _members(hint) if _is_context(each)), None)


def deps_of(context: Any) -> Any:
    """The type of the `deps` that a context must have; None if there need not be any."""
    (deps,) = get_args(context) or (Any,)
    may_be_missing = deps in (Any, object) or type(None) in _members(deps)
    return None if may_be_missing else deps


def needed_deps(tools: Iterable[Tool], given: Any) -> Any:
    """The type of the `deps` that runs with these tools need; None if they need none.

    Args:
        tools: The tools of an agent.
        given: The agent's own `deps_type`, if it has one.

    Raises:
        ToolDefinitionError: The agent's `deps_type` is another class than the one a tool needs.
    """
    needed = given
    for tool in tools:
        if not _fits(given, tool.deps_type):
            raise ToolDefinitionError(
                f"tool {tool.name!r} takes a RunContext[{_name(tool.deps_type)}], but the agent's"
                f" deps_type is {_name(given)}; let both name the same type"
            )
        needed = needed or tool.deps_type
    return needed


def _members(hint: Any) -> tuple[Any, ...]:
    """The types of a union; any other hint alone."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _is_context(hint: Any) -> bool:
    return hint is RunContext or get_origin(hint) is RunContext


def _fits(given: Any, needed: Any) -> bool:
    """Whether one type may stand for another; True where only a type checker knows."""
    try:
        return given is None or needed is None or issubclass(given, needed)
    except TypeError:  # protocols, generic types, unions
        return True


def _name(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))
