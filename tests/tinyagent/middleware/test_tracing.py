from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from tinyagent import (
    ConfigurationError,
    ModelRateLimited,
    ModelRequest,
    ModelResponse,
    RawToolCall,
    ReactAgent,
    ScriptedModel,
    StepLimitReached,
    TextDelta,
    Tool,
    ToolStarted,
    Usage,
    scripted_call,
)
from tinyagent.middleware import gen_ai
from tinyagent.middleware.tracing import Tracing

PRIVATE = "the-private-text"


class Traced:
    """A tracer provider of the test's own, and what it exported."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.provider.get_tracer("a user's own")

    def tracing(self, **options: Any) -> Tracing:
        return Tracing(tracer_provider=self.provider, **options)

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self._exporter.get_finished_spans()

    def one(self, name: str) -> ReadableSpan:
        (span,) = (span for span in self.spans if span.name == name)
        return span

    def tree(self) -> list[str]:
        """Each span as the path of names down to it."""
        by_id = {_id(span): span for span in self.spans}

        def path(span: ReadableSpan) -> str:
            parent = by_id.get(span.parent.span_id) if span.parent else None
            return span.name if parent is None else f"{path(parent)} > {span.name}"

        return sorted(path(span) for span in self.spans)


def _id(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def _trace(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.trace_id)


@pytest.fixture
def traced() -> Traced:
    return Traced()


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
    tracing = traced.tracing(agent="weather", model="big", provider="openai")
    agent = ReactAgent(
        ScriptedModel([ASK_RAIN, TELL_RAIN]),
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
    first = next(span for span in traced.spans if span.name == "chat big")
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


async def test_with_no_names_given_the_answers_model_names_the_span(traced: Traced) -> None:
    await ReactAgent(ScriptedModel([TELL_RAIN]), middleware=[traced.tracing()]).run("Rain?")
    assert traced.tree() == ["invoke_agent", "invoke_agent > chat big-2026"]
    assert "gen_ai.request.model" not in _facts(traced.one("chat big-2026"))


async def test_a_streamed_answer_says_how_long_the_first_piece_took(traced: Traced) -> None:
    agent = ReactAgent(ScriptedModel(["It rains."]), middleware=[traced.tracing()])
    deltas = [event async for event in agent.stream("Rain?") if isinstance(event, TextDelta)]
    assert len(deltas) == 2
    facts = _facts(traced.one("chat scripted"))
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


async def test_a_failing_model_marks_its_span_and_the_run(traced: Traced) -> None:
    model = ScriptedModel([ModelRateLimited(f"slow down {PRIVATE}")])
    agent = ReactAgent(model, middleware=[traced.tracing(model="big")])
    with pytest.raises(ModelRateLimited):
        await agent.run("Rain?")
    for name in ("chat big", "invoke_agent"):
        span = traced.one(name)
        assert span.status.status_code == StatusCode.ERROR
        assert _facts(span)["error.type"] == "ModelRateLimited"
        assert span.status.description is None
        assert not span.events
    assert _facts(traced.one("invoke_agent"))["tinyagent.run.state"] == "error"


async def test_a_failing_tool_marks_its_span_and_not_the_run(traced: Traced) -> None:
    def fails() -> str:
        """Fail."""
        raise ValueError(PRIVATE)

    model = ScriptedModel([[scripted_call("fails"), scripted_call("nowhere")], "sorry"])
    await ReactAgent(model, [fails], middleware=[traced.tracing()]).run("try")
    for name in ("execute_tool fails", "execute_tool nowhere"):
        assert traced.one(name).status.status_code == StatusCode.ERROR
        assert _facts(traced.one(name))["error.type"] == "tool_error"
    assert traced.one("invoke_agent").status.status_code == StatusCode.UNSET


async def test_a_run_without_an_answer_is_marked(traced: Traced) -> None:
    model = ScriptedModel(lambda _: scripted_call("rain", city="Oslo"))
    agent = ReactAgent(model, [rain], middleware=[traced.tracing()], max_steps=1)
    with pytest.raises(StepLimitReached):
        await agent.run("Rain?")
    span = traced.one("invoke_agent")
    assert _facts(span)["error.type"] == "StepLimitReached"
    assert _facts(span)["tinyagent.run.state"] == "step_limit_reached"


async def test_an_error_that_nobody_foresaw_ends_the_spans_too(traced: Traced) -> None:
    model = ScriptedModel([LookupError("unforeseen")])
    with pytest.raises(LookupError):
        await ReactAgent(model, middleware=[traced.tracing(model="big")]).run("Rain?")
    assert traced.tree() == ["invoke_agent", "invoke_agent > chat big"]
    assert _facts(traced.one("chat big"))["error.type"] == "LookupError"
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
    tools = [span for span in traced.spans if span.name == "execute_tool stuck"]
    assert [_facts(span)["error.type"] for span in tools] == ["CancelledError"] * 2
    assert _facts(traced.one("invoke_agent"))["error.type"] == "cancelled"


async def test_leaving_a_stream_early_ends_all_its_spans(traced: Traced) -> None:
    tool, _ = _stuck()
    agent = ReactAgent(
        ScriptedModel([scripted_call("stuck")]), [tool], middleware=[traced.tracing()]
    )
    async with aclosing(agent.stream("hang")) as events:
        async for event in events:
            if isinstance(event, ToolStarted):
                break
    assert _facts(traced.one("invoke_agent"))["tinyagent.run.state"] == "cancelled"


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
    agent = ReactAgent(model, [fails, echo], middleware=[tracing], system_suffix=PRIVATE)
    await agent.run(PRIVATE)
    with pytest.raises(RuntimeError):
        await agent.run(PRIVATE)


async def test_content_is_left_out_unless_it_is_asked_for(traced: Traced) -> None:
    await _run_with_secrets(traced.tracing())
    assert len(traced.spans) == 7
    assert PRIVATE not in _everything_written(traced)


async def test_content_is_written_in_the_shape_of_the_conventions(traced: Traced) -> None:
    await _run_with_secrets(traced.tracing(content=True))
    tool = _facts(traced.one("execute_tool echo"))
    assert json.loads(tool["gen_ai.tool.call.arguments"]) == {"text": PRIVATE}
    assert tool["gen_ai.tool.call.result"] == PRIVATE
    assert PRIVATE in str(traced.one("execute_tool fails").status.description)
    second = [span for span in traced.spans if span.name == "chat scripted"][1]
    asked = json.loads(_facts(second)["gen_ai.input.messages"])
    assert [message["role"] for message in asked] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    call_id = asked[3]["parts"][0]["id"]
    assert asked[1]["parts"] == [{"type": "text", "content": PRIVATE}]
    assert asked[2]["parts"][0] == {
        "type": "tool_call",
        "id": call_id,
        "name": "echo",
        "arguments": json.dumps({"text": PRIVATE}),
    }
    assert asked[3]["parts"] == [{"type": "tool_call_response", "id": call_id, "response": PRIVATE}]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": f"It is {PRIVATE}."}]}]
    assert json.loads(_facts(second)["gen_ai.output.messages"]) == said
    done = next(span for span in traced.spans if span.name == "invoke_agent")
    assert json.loads(_facts(done)["gen_ai.output.messages"]) == said


async def test_content_is_bounded(traced: Traced) -> None:
    def shout(text: str) -> str:
        """Say it again, longer."""
        return text * 20

    def answer(request: ModelRequest) -> RawToolCall | str:
        so_far = len(request.messages)
        return "x" * 900 if so_far > 60 else scripted_call("shout", text=f"{so_far:0900}")

    tracing = traced.tracing(content=True, max_chars=200)
    agent = ReactAgent(ScriptedModel(answer), [shout], middleware=[tracing], max_steps=40)
    await agent.run("z" * 900)
    last = [span for span in traced.spans if span.name == "chat scripted"][-1]
    asked = json.loads(_facts(last)["gen_ai.input.messages"])
    assert len(asked) == 50
    assert asked[-1]["parts"][0]["response"].endswith("60")
    texts = [value for span in traced.spans for value in _facts(span).values()]
    assert max(len(text) for text in texts if isinstance(text, str)) < 50 * 400
    results = [text for text in texts if "left out here" in str(text) and text[0] not in "[{"]
    assert results
    assert max(map(len, results)) == 200


async def test_runs_side_by_side_do_not_mix(traced: Traced) -> None:
    meeting = asyncio.Barrier(20)

    async def meet(number: int) -> str:
        """Wait for all the others."""
        await meeting.wait()
        return str(number)

    def answer(request: ModelRequest) -> RawToolCall | str:
        if len(request.messages) > 3:
            return request.messages[-1].content
        return scripted_call("meet", call_id=f"of {request.messages[1].content}", number=1)

    agent = ReactAgent(ScriptedModel(answer), [meet], middleware=[traced.tracing(content=True)])
    await asyncio.gather(*(agent.run(f"task {number}") for number in range(20)))
    runs = [span for span in traced.spans if span.name == "invoke_agent"]
    assert len({_trace(span) for span in runs}) == 20
    for run in runs:
        children = [span for span in traced.spans if span.parent and _trace(span) == _trace(run)]
        assert len(children) == 3
        assert {span.parent.span_id for span in children if span.parent} == {_id(run)}
        (tool,) = (span for span in children if span.name == "execute_tool meet")
        task = json.loads(_facts(run)["gen_ai.input.messages"])[0]["parts"][0]["content"]
        assert _facts(tool)["gen_ai.tool.call.id"] == f"of {task}"


async def test_no_attribute_has_a_name_of_its_own(traced: Traced) -> None:
    await _run_with_secrets(traced.tracing(content=True, agent="a", model="m", provider="p"))
    known = {value for name, value in vars(gen_ai).items() if name.isupper()}
    assert {name for span in traced.spans for name in _facts(span)} <= known


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigurationError, match="pip install opentelemetry-api"):
        Tracing()


@pytest.mark.parametrize("make", [Tracing, lambda: Tracing(content=True)])
async def test_without_a_provider_nothing_happens(make: Callable[[], Tracing]) -> None:
    agent = ReactAgent(ScriptedModel(["It rains."]), middleware=[make()])
    assert str(await agent.run("Rain?")) == "It rains."
