from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tinyagent import RunContext, Tool, ToolDefinitionError, tool
from tinyagent.core import RunControl, ToolArgumentsError


def double(number: int) -> int:
    """Double a number.

    Args:
        number: what to double.
    """
    return 2 * number


def test_a_tool_describes_its_function() -> None:
    made = Tool.from_function(double)
    assert (made.name, made.doc, made.description) == (
        "double",
        "Double a number.",
        "Double a number.",
    )
    assert made.json_schema["properties"]["number"]["description"] == "what to double."
    assert not made.is_async


async def test_a_tool_validates_then_calls() -> None:
    made = Tool.from_function(double)
    assert await made.run({"number": "4"}) == 8
    with pytest.raises(ToolArgumentsError, match="number: required, but missing"):
        await made.run({})


async def test_an_async_function_is_awaited_on_the_loop() -> None:
    @tool
    async def where() -> int:
        """Say where it runs."""
        return threading.get_ident()

    assert where.is_async
    assert await where.run({}) == threading.get_ident()


async def test_a_sync_function_runs_in_a_thread() -> None:
    @tool
    def where_else() -> int:
        """Say where it runs."""
        return threading.get_ident()

    assert await where_else.run({}) != threading.get_ident()


async def test_a_callable_object_may_be_async() -> None:
    class Echo:
        """Say it again."""

        async def __call__(self, text: str) -> str:
            return text

    made = Tool.from_function(Echo())
    assert made.name == "Echo"
    assert await made.run({"text": "hi"}) == "hi"


async def test_a_method_keeps_its_object() -> None:
    class Counter:
        count = 0

        def add(self, by: int) -> int:
            """Count on."""
            self.count += by
            return self.count

    counter = Counter()
    made = Tool.from_function(counter.add)
    await made.run({"by": 2})
    assert counter.count == 2
    assert list(made.json_schema["properties"]) == ["by"]


async def test_a_tool_receives_the_context_of_the_run() -> None:
    @tool
    def task_of(run: RunContext) -> str:
        """Say the task."""
        return run.task

    assert await task_of.run({}, RunControl("the task", 1, {}).context) == "the task"


def test_a_decorated_function_can_still_be_called() -> None:
    made = tool(double)
    assert made(number=3) == made(3) == 6


def test_the_decorator_takes_a_name_and_a_timeout() -> None:
    made = tool(name="twice", timeout=2.5)(double)
    assert (made.name, made.timeout) == ("twice", 2.5)


def _undocumented(a: int) -> int:
    return a


def _untyped(a: int):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """Do it."""


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (_undocumented, "tool '_undocumented' has no docstring; the model needs one line"),
        (_untyped, "tool '_untyped' has no return type hint; write `-> str`"),
    ],
)
def test_a_missing_part_is_reported_with_the_fix(fn: Callable[..., Any], message: str) -> None:
    with pytest.raises(ToolDefinitionError, match=message):
        tool(fn)


@pytest.mark.parametrize("name", ["", "a b", "1st", "naïve", "x" * 65, "a-b", "a\n"])
def test_a_name_that_servers_refuse_is_refused_here(name: str) -> None:
    made = Tool.from_function(double)
    with pytest.raises(ToolDefinitionError, match="letters, digits and underscores"):
        Tool(name, double, "doc", {}, made.validate)
