"""The tree of spans, their names, and what is written into them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from tinyagent import ConfigurationError, ReactAgent, ScriptedModel, TextDelta, Usage, scripted_call
from tinyagent.core import ModelResponse, RawToolCall
from tinyagent.middleware.tracing import Tracing

if TYPE_CHECKING:
    from tests.tinyagent.middleware.conftest import Traced

PRIVATE = "the-private-text"


def _facts(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def rain(city: str) -> str:
    """Say whether it rains."""
    return f"rain in {city}"


ASK_RAIN = ModelResponse(
    None,
    (RawToolCall("call-7", "rain", '{"city": "Oslo"}'),),
    Usage(1, 30, 4, 20),
    "tool_calls",
    "big-2026",
    "resp-1",
)
TELL_RAIN = ModelResponse("It rains.", usage=Usage(1, 50, 6), model="big-2026", id="resp-2")


async def test_a_run_is_a_tree_with_the_current_names(traced: Traced) -> None:
    tracing = traced.tracing(agent="weather", provider="openai")
    agent = ReactAgent(
        ScriptedModel([ASK_RAIN, TELL_RAIN], name="big"),
        [rain],
        middleware=[tracing],
        temperature=0.5,
        max_tokens=99,
    )
    await agent.run("Does it rain in Oslo?")
    assert traced.tree() == [
        "invoke_agent weather",
        "invoke_agent weather > chat big",
        "invoke_agent weather > chat big",
        "invoke_agent weather > execute_tool rain",
    ]
    run = traced.one("invoke_agent weather")
    facts = _facts(run)
    assert len(facts.pop("tinyagent.run.id")) == 32
    assert (run.kind, run.status.status_code) == (SpanKind.INTERNAL, StatusCode.UNSET)
    assert facts == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "weather",
        "gen_ai.request.model": "big",
        "gen_ai.usage.input_tokens": 80,
        "gen_ai.usage.output_tokens": 10,
        "tinyagent.run.state": "completed",
        "tinyagent.run.steps": 2,
    }
    first = traced.named("chat big")[0]
    assert first.kind == SpanKind.CLIENT
    assert _facts(first) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "big",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 99,
        "gen_ai.response.model": "big-2026",
        "gen_ai.response.id": "resp-1",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 20,
    }
    tool = traced.one("execute_tool rain")
    assert (tool.kind, tool.status.status_code) == (SpanKind.INTERNAL, StatusCode.UNSET)
    assert _facts(tool) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "rain",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call-7",
    }


async def test_with_no_names_given_the_runs_model_names_the_span(traced: Traced) -> None:
    await ReactAgent(ScriptedModel([TELL_RAIN]), middleware=[traced.tracing()]).run("Rain?")
    assert traced.tree() == ["invoke_agent", "invoke_agent > chat scripted"]
    facts = traced.facts("chat scripted")
    assert facts["gen_ai.request.model"] == "scripted"
    assert facts["gen_ai.response.model"] == "big-2026"


async def test_a_streamed_answer_says_how_long_the_first_piece_took(traced: Traced) -> None:
    agent = ReactAgent(ScriptedModel(["It rains."]), middleware=[traced.tracing()])
    deltas = [event async for event in agent.stream("Rain?") if isinstance(event, TextDelta)]
    assert len(deltas) == 2
    facts = traced.facts("chat scripted")
    assert facts["gen_ai.request.stream"] is True
    assert 0 <= facts["gen_ai.response.time_to_first_chunk"] < 60


async def test_parallel_tools_stand_side_by_side_and_hold_the_users_spans(traced: Traced) -> None:
    both_run = asyncio.Barrier(2)

    async def on_the_loop() -> str:
        """Work on the loop."""
        await both_run.wait()
        with traced.tracer.start_as_current_span("work on the loop"):
            await both_run.wait()
        return "done"

    def in_a_thread() -> str:
        """Work in a thread."""
        with traced.tracer.start_as_current_span("work in a thread"):
            return "done"

    async def waiting() -> str:
        """Wait for the other one."""
        await both_run.wait()
        await both_run.wait()
        return "done"

    names = ["on_the_loop", "waiting", "in_a_thread"]
    agent = ReactAgent(
        ScriptedModel([[scripted_call(name) for name in names], "done"]),
        [on_the_loop, waiting, in_a_thread],
        middleware=[traced.tracing()],
    )
    await agent.run("work")
    assert [path for path in traced.tree() if "chat" not in path] == [
        "invoke_agent",
        "invoke_agent > execute_tool in_a_thread",
        "invoke_agent > execute_tool in_a_thread > work in a thread",
        "invoke_agent > execute_tool on_the_loop",
        "invoke_agent > execute_tool on_the_loop > work on the loop",
        "invoke_agent > execute_tool waiting",
    ]


async def test_the_run_is_a_child_of_the_callers_span_and_leaves_it_current(
    traced: Traced,
) -> None:
    agent = ReactAgent(ScriptedModel(["yes", "no"]), middleware=[traced.tracing()])
    with traced.tracer.start_as_current_span("request"):
        await agent.run("first")
        async for _ in agent.stream("second"):
            pass
    assert [path for path in traced.tree() if "chat" not in path] == [
        "request",
        "request > invoke_agent",
        "request > invoke_agent",
    ]


async def test_an_agent_inside_a_tool_is_a_tree_under_that_tool(traced: Traced) -> None:
    inner = ReactAgent(ScriptedModel(["42"]), middleware=[traced.tracing(agent="inner")])

    async def ask(question: str) -> str:
        """Ask the other agent."""
        return str(await inner.run(question))

    model = ScriptedModel([scripted_call("ask", question="what?"), "42"])
    await ReactAgent(model, [ask], middleware=[traced.tracing(agent="outer")]).run("what?")
    chats = "invoke_agent outer > chat scripted"
    under_tool = "invoke_agent outer > execute_tool ask > invoke_agent inner"
    assert traced.tree() == [
        "invoke_agent outer",
        chats,
        chats,
        "invoke_agent outer > execute_tool ask",
        under_tool,
        f"{under_tool} > chat scripted",
    ]


def _everything_written(traced: Traced) -> str:
    return json.dumps(
        [
            [
                span.name,
                dict(span.attributes or {}),
                str(span.status.description),
                [str(event.attributes) for event in span.events],
            ]
            for span in traced.spans
        ]
    )


async def _run_with_secrets(tracing: Tracing) -> None:
    def fails(text: str) -> str:
        """Fail."""
        raise ValueError(f"{text} {PRIVATE}")

    def echo(text: str) -> str:
        """Say it again."""
        return text

    calls = [scripted_call(name, text=PRIVATE) for name in ("echo", "fails")]
    model = ScriptedModel([calls, f"It is {PRIVATE}.", RuntimeError(PRIVATE)])
    agent = ReactAgent(model, [fails, echo], middleware=[tracing], instructions=PRIVATE)
    await agent.run(PRIVATE)
    with pytest.raises(RuntimeError):
        await agent.run(PRIVATE)


async def test_content_is_left_out_unless_it_is_asked_for(traced: Traced) -> None:
    await _run_with_secrets(traced.tracing())
    assert len(traced.spans) == 7
    assert PRIVATE not in _everything_written(traced)


async def test_content_is_written_where_it_is_asked_for(traced: Traced) -> None:
    await _run_with_secrets(traced.tracing(content=True))
    tool = traced.facts("execute_tool echo")
    assert json.loads(tool["gen_ai.tool.call.arguments"]) == {"text": PRIVATE}
    assert tool["gen_ai.tool.call.result"] == PRIVATE
    assert PRIVATE in str(traced.one("execute_tool fails").status.description)
    said = [{"role": "assistant", "parts": [{"type": "text", "content": f"It is {PRIVATE}."}]}]
    second, done = traced.named("chat scripted")[1], traced.named("invoke_agent")[0]
    for span in (second, done):
        assert json.loads(_facts(span)["gen_ai.output.messages"]) == said
    asked = [json.loads(_facts(span)["gen_ai.input.messages"]) for span in (second, done)]
    assert [message["role"] for message in asked[0]] == [
        *("system", "user", "assistant", "tool", "tool")
    ]
    task = {"role": "user", "parts": [{"type": "text", "content": PRIVATE}]}
    assert asked[1] == [task] == asked[0][1:2]


async def test_content_is_bounded(traced: Traced) -> None:
    def shout(text: str) -> str:
        """Say it again, longer."""
        return text * 20

    model = ScriptedModel([scripted_call("shout", text="y" * 900), "x" * 900])
    tracing = traced.tracing(content=True, max_chars=200)
    await ReactAgent(model, [shout], middleware=[tracing]).run("z" * 900)
    texts = [str(value) for span in traced.spans for value in dict(span.attributes or {}).values()]
    assert sum("left out here" in text for text in texts) == 8
    assert not any("xyz"[n] * 101 in text for n in range(3) for text in texts)
    assert len(traced.facts("execute_tool shout")["gen_ai.tool.call.result"]) == 200


async def test_no_attribute_has_a_name_outside_the_conventions(traced: Traced) -> None:
    await _run_with_secrets(traced.tracing(content=True, agent="a", provider="p"))
    names = {name for span in traced.spans for name in dict(span.attributes or {})}
    assert all(name.startswith(("gen_ai.", "tinyagent.")) or name == "error.type" for name in names)


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigurationError, match="Tracing needs the extra 'otel'"):
        Tracing()


@pytest.mark.parametrize("make", [Tracing, lambda: Tracing(content=True)])
async def test_without_a_provider_nothing_happens(make: Callable[[], Tracing]) -> None:
    agent = ReactAgent(ScriptedModel(["It rains."]), middleware=[make()])
    assert str(await agent.run("Rain?")) == "It rains."
