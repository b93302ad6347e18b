"""What wraps a block of code: layers, limits, approval, spans."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.support.coding import block, coder, observed

from tinyagent import (
    Approval,
    Middleware,
    NoProgress,
    ScriptedModel,
    TinyCodeAgent,
    ToolCall,
    ToolResult,
    UsageLimitReached,
    UsageLimits,
    tool,
)
from tinyagent.core import ExecutionResult, RunControl
from tinyagent.middleware.base import CodeRun

if TYPE_CHECKING:
    from tests.tinyagent.middleware.conftest import Traced


@tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


class Layer(Middleware):
    """Logs what goes through it, and puts its mark on code and output."""

    def __init__(self, name: str, log: list[str]) -> None:
        self._name = name
        self._log = log

    async def code_run(self, code: str, call_next: CodeRun) -> ExecutionResult:
        self._log.append(f"{self._name} in")
        result = await call_next(f"{code}\nprint('{self._name}')")
        self._log.append(f"{self._name} out")
        return replace(result, output=result.output + f"[{self._name}]\n")


async def test_code_goes_through_the_layers_from_the_first_to_the_last() -> None:
    log: list[str] = []
    model = coder("print('code')", "final_answer('ok')")
    await TinyCodeAgent(model, middleware=[Layer("a", log), Layer("b", log)]).run("go")
    assert log[:4] == ["a in", "b in", "b out", "a out"]
    assert observed(model) == "code\na\nb\n[b]\n[a]"


async def test_a_layer_may_answer_in_place_of_the_sandbox() -> None:
    class Journal(Middleware):
        """Knows the result of a block."""

        async def code_run(self, code: str, call_next: CodeRun) -> ExecutionResult:
            del call_next
            return ExecutionResult(is_final=True, final_value=f"journalled {len(code)}")

    result = await TinyCodeAgent(coder("1 / 0"), middleware=[Journal()]).run("go")
    assert result.output == "journalled 5"


async def test_a_layer_may_end_the_run() -> None:
    class Never(Middleware):
        """Lets no code run."""

        async def code_run(self, code: str, call_next: CodeRun) -> ExecutionResult:
            del code, call_next
            raise UsageLimitReached("no code today")

    result = await TinyCodeAgent(coder("1"), middleware=[Never()]).run("go", return_result=True)
    assert (result.state, str(result.error)) == ("usage_limit_reached", "no code today")


async def test_blocks_are_compared_by_what_they_gave() -> None:
    meter = UsageLimits(same_results=4).steer(RunControl("go", 1, {}))

    async def run(code: str, **result: object) -> ExecutionResult:
        async def give(_code: str) -> ExecutionResult:
            return ExecutionResult(**result)  # type: ignore[arg-type]

        return await meter.code_run(code, give)

    for number in range(9):
        assert not (await run("a", output=str(number))).note
        assert not (await run("b", error=str(number))).note
        assert not (await run("c", value_text=str(number))).note
        assert not (await run(str(number), output="same")).note
        assert not (await run("final", is_final=True)).note
    for _ in range(2):
        await run("same", output="same")
    assert "given the same result 3 times" in (await run("same", output="same")).note
    with pytest.raises(NoProgress, match="the same block of code gave the same result 4 times"):
        await run("same", output="same")


async def test_calls_of_the_tools_count_again_when_the_block_is_over() -> None:
    meter = UsageLimits().steer(RunControl("go", 1, {}))
    call = ToolCall("1", "look")

    async def look(call: ToolCall) -> ToolResult:
        return ToolResult(call, "nothing")

    async def block_of_calls(_code: str) -> ExecutionResult:
        assert [(await meter.tool_call(call, look)).note for _ in range(9)] == [""] * 9
        raise OSError("the block fails")

    with pytest.raises(OSError, match="the block fails"):
        await meter.code_run("", block_of_calls)
    notes = [(await meter.tool_call(call, look)).note for _ in range(3)]
    assert [bool(note) for note in notes] == [False, False, True]


async def test_a_run_that_waits_for_an_approval_in_its_code_can_be_cancelled() -> None:
    asked = asyncio.Event()

    async def ask(_call: ToolCall) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    agent = TinyCodeAgent(coder("pay(5)"), [pay], middleware=[Approval(ask)])
    run = asyncio.create_task(agent.run("go"))
    await asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_a_refusal_is_not_asked_for_again_and_not_for_ever() -> None:
    asked: list[int] = []

    async def ask(call: ToolCall) -> bool:
        asked.append(call.arguments["amount"])
        return False

    code = """
        for amount in range(100):
            for _ in range(2):
                try:
                    pay(amount)
                except Exception:
                    pass
        final_answer('through')
    """
    agent = TinyCodeAgent(coder(code), [pay], middleware=[Approval(ask)])
    with pytest.raises(UsageLimitReached, match="10 calls were refused"):
        await agent.run("go")
    assert asked == list(range(11))


async def test_the_time_of_the_run_ends_a_tool_within_a_block() -> None:
    async def wait() -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    await TinyCodeAgent(coder("final_answer(1)")).run("warm up")
    agent = TinyCodeAgent(
        coder("try:\n    wait()\nexcept BaseException:\n    final_answer(1)"),
        [wait],
        middleware=[UsageLimits(wall_seconds=2)],
    )
    result = await agent.run("go", return_result=True)
    assert result.state == "usage_limit_reached"
    assert "while waiting for the tool 'wait'" in str(result.error)
    assert 2 <= result.duration_seconds < 30


def look(number: int) -> str:
    """Look."""
    if number == 2:
        raise ValueError("private-reason")
    return f"private-{number}"


async def test_a_block_is_a_span_and_its_calls_lie_within(traced: Traced) -> None:
    code = "print(look(1))\ntry:\n    look(2)\nexcept ValueError:\n    pass"
    model = coder(code, "1 / 0", "final_answer('private-answer')")
    agent = TinyCodeAgent(model, [look], middleware=[traced.tracing(agent="coder")])
    await agent.run("private-task")
    assert traced.tree() == [
        "invoke_agent coder",
        *["invoke_agent coder > chat scripted"] * 3,
        *["invoke_agent coder > execute_code"] * 3,
        *["invoke_agent coder > execute_code > execute_tool look"] * 2,
    ]
    blocks = traced.named("execute_code")
    assert [span.status.is_ok for span in blocks] == [True, False, True]
    assert [dict(span.attributes or {}).get("error.type") for span in blocks] == [
        None,
        "code_error",
        None,
    ]
    assert "private" not in "".join(span.to_json() for span in traced.spans)


async def test_with_content_the_code_and_its_output_are_recorded(traced: Traced) -> None:
    agent = TinyCodeAgent(
        coder("print(look(1))", "final_answer('ok')"),
        [look],
        middleware=[traced.tracing(content=True)],
    )
    await agent.run("go")
    first = dict(traced.named("execute_code")[0].attributes or {})
    assert first["tinyagent.code"] == "print(look(1))"
    assert first["tinyagent.code.output"] == "private-1\n"


async def test_spans_of_runs_side_by_side_stay_with_their_runs(traced: Traced) -> None:
    together = asyncio.Barrier(4)

    async def meet() -> None:
        """Wait for the others."""
        await together.wait()

    model = ScriptedModel(lambda _: block("meet()\nfinal_answer(1)"))
    agent = TinyCodeAgent(model, [meet], middleware=[traced.tracing()])
    await asyncio.gather(*(agent.run("go") for _ in range(4)))
    for span in traced.named("execute_tool meet"):
        assert span.parent is not None
        (parent,) = [s for s in traced.spans if traced.ids(s)[1] == span.parent.span_id]
        assert parent.name == "execute_code"
        assert traced.ids(parent)[0] == traced.ids(span)[0]
    assert len({traced.ids(span)[0] for span in traced.spans}) == 4
