"""How spans end: with errors, when a run is cancelled, and with runs side by side."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest
from opentelemetry.trace import StatusCode

from tinyagent import ReactAgent, ScriptedModel, StepLimitReached, Tool, ToolStarted, scripted_call
from tinyagent.core import ModelRateLimited, ModelRequest, RawToolCall

if TYPE_CHECKING:
    from tests.tinyagent.middleware.conftest import Traced

PRIVATE = "the-private-text"


def rain(city: str) -> str:
    """Say whether it rains."""
    return f"rain in {city}"


async def test_a_failing_model_marks_its_span_and_the_run(traced: Traced) -> None:
    model = ScriptedModel([ModelRateLimited(f"slow down {PRIVATE}")])
    agent = ReactAgent(model, middleware=[traced.tracing()])
    with pytest.raises(ModelRateLimited):
        await agent.run("Rain?")
    for name in ("chat scripted", "invoke_agent"):
        span = traced.one(name)
        assert span.status.status_code == StatusCode.ERROR
        assert traced.facts(name)["error.type"] == "ModelRateLimited"
        assert span.status.description is None
        assert not span.events
    assert traced.facts("invoke_agent")["tinyagent.run.state"] == "error"


async def test_a_failing_tool_marks_its_span_and_not_the_run(traced: Traced) -> None:
    def fails() -> str:
        """Fail."""
        raise ValueError(PRIVATE)

    model = ScriptedModel([[scripted_call("fails"), scripted_call("nowhere")], "sorry"])
    await ReactAgent(model, [fails], middleware=[traced.tracing()]).run("try")
    for name in ("execute_tool fails", "execute_tool nowhere"):
        assert traced.one(name).status.status_code == StatusCode.ERROR
        assert traced.facts(name)["error.type"] == "tool_error"
    assert traced.one("invoke_agent").status.status_code == StatusCode.UNSET


async def test_a_run_without_an_answer_is_marked(traced: Traced) -> None:
    model = ScriptedModel(lambda _: scripted_call("rain", city="Oslo"))
    agent = ReactAgent(model, [rain], middleware=[traced.tracing()], max_steps=1)
    with pytest.raises(StepLimitReached):
        await agent.run("Rain?")
    facts = traced.facts("invoke_agent")
    assert facts["error.type"] == "StepLimitReached"
    assert facts["tinyagent.run.state"] == "step_limit_reached"


async def test_an_error_that_nobody_foresaw_ends_the_spans_too(traced: Traced) -> None:
    model = ScriptedModel([LookupError("unforeseen")])
    with pytest.raises(LookupError):
        await ReactAgent(model, middleware=[traced.tracing()]).run("Rain?")
    assert traced.tree() == ["invoke_agent", "invoke_agent > chat scripted"]
    assert traced.facts("chat scripted")["error.type"] == "LookupError"
    assert traced.one("invoke_agent").status.status_code == StatusCode.ERROR


def _stuck() -> tuple[Tool, asyncio.Event]:
    started = asyncio.Event()

    async def stuck() -> str:
        """Never end."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    return Tool.from_function(stuck), started


async def test_a_cancelled_run_ends_all_its_spans(traced: Traced) -> None:
    tool, started = _stuck()
    model = ScriptedModel([[scripted_call("stuck"), scripted_call("stuck")]])
    agent = ReactAgent(model, [tool], middleware=[traced.tracing()])
    run = asyncio.create_task(agent.run("hang"))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert traced.tree() == [
        "invoke_agent",
        "invoke_agent > chat scripted",
        "invoke_agent > execute_tool stuck",
        "invoke_agent > execute_tool stuck",
    ]
    ends = [(span.attributes or {})["error.type"] for span in traced.named("execute_tool stuck")]
    assert ends == ["CancelledError"] * 2
    assert traced.facts("invoke_agent")["error.type"] == "cancelled"


async def test_leaving_a_stream_early_ends_all_its_spans(traced: Traced) -> None:
    tool, _ = _stuck()
    agent = ReactAgent(
        ScriptedModel([scripted_call("stuck")]), [tool], middleware=[traced.tracing()]
    )
    async with aclosing(agent.stream("hang")) as events:
        async for event in events:
            if isinstance(event, ToolStarted):
                break
    assert traced.facts("invoke_agent")["tinyagent.run.state"] == "cancelled"


async def test_runs_side_by_side_do_not_mix(traced: Traced) -> None:
    meeting = asyncio.Barrier(20)

    async def meet(number: int) -> str:
        """Wait for all the others."""
        await meeting.wait()
        return str(number)

    def answer(request: ModelRequest) -> RawToolCall | str:
        if len(request.messages) > 3:
            return request.messages[-1].text
        return scripted_call("meet", call_id=f"of {request.messages[1].content}", number=1)

    agent = ReactAgent(ScriptedModel(answer), [meet], middleware=[traced.tracing(content=True)])
    await asyncio.gather(*(agent.run(f"task {number}") for number in range(20)))
    runs = traced.named("invoke_agent")
    assert len({traced.ids(span)[0] for span in runs}) == 20
    for run in runs:
        trace, own = traced.ids(run)
        children = [span for span in traced.spans if span.parent and traced.ids(span)[0] == trace]
        assert len(children) == 3
        assert {span.parent.span_id for span in children if span.parent} == {own}
        (tool,) = (span for span in children if span.name == "execute_tool meet")
        asked = json.loads(str((run.attributes or {})["gen_ai.input.messages"]))
        task = asked[0]["parts"][0]["content"]
        assert (tool.attributes or {})["gen_ai.tool.call.id"] == f"of {task}"
