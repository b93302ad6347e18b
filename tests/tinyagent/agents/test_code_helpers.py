from __future__ import annotations

from typing import Any

import pytest

from tinyagent import Tool, ToolCall, ToolResult
from tinyagent.agents.code_prompt import HELPERS, code_tool
from tinyagent.core import ToolArgumentsError


def stock(item: str, *, shelf: int = 1) -> int:
    """Look up how many are left.

    Args:
        item: in the plural.
    """
    return len(item) + shelf


TOOL = Tool.from_function(stock)


class Run:
    """Replaces the run: keeps the calls and returns what the test says."""

    def __init__(self, **result: Any) -> None:
        self.calls: list[ToolCall] = []
        self._result = result

    async def call_tool(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        return ToolResult(call, **{"content": "", **self._result})


async def test_the_code_is_given_the_value_and_not_its_text() -> None:
    run = Run(content="7", value=7)
    function = code_tool(TOOL, run.call_tool)
    assert await function("pears", shelf=2) == 7
    assert await function(item="plums") == 7
    assert [dict(call.arguments) for call in run.calls] == [
        {"item": "pears", "shelf": 2},
        {"item": "plums"},
    ]
    assert len({call.id for call in run.calls}) == 2
    assert {call.name for call in run.calls} == {"stock"}


async def test_a_call_that_cannot_be_bound_never_reaches_the_run() -> None:
    run = Run()
    reason = r"(?s)stock was called with wrong arguments: 3 arguments.*def stock\("
    with pytest.raises(TypeError, match=reason):
        await code_tool(TOOL, run.call_tool)(1, 2, 3)
    assert not run.calls


async def test_arguments_that_do_not_fit_show_the_tool() -> None:
    run = Run(is_error=True, error=ToolArgumentsError("item: expected a string"))
    with pytest.raises(TypeError, match=r"(?s)item: expected a string.*in the plural"):
        await code_tool(TOOL, run.call_tool)(item=3)


@pytest.mark.parametrize("error", [KeyError("plums"), PermissionError("not approved")])
async def test_what_the_tool_raised_is_raised(error: Exception) -> None:
    run = Run(is_error=True, content="Error: stock failed", error=error)
    with pytest.raises(type(error)) as caught:
        await code_tool(TOOL, run.call_tool)("plums")
    assert caught.value is error


async def test_an_error_without_an_exception_is_raised_with_its_text() -> None:
    run = Run(is_error=True, content="Error: stock did not finish within 1 s")
    with pytest.raises(RuntimeError, match=r"^stock did not finish within 1 s$"):
        await code_tool(TOOL, run.call_tool)("plums")


def test_the_prompt_describes_each_helper_by_its_name() -> None:
    assert all(text.startswith(f"{name}(") for name, text in HELPERS.items())
