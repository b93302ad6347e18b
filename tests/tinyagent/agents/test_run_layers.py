from __future__ import annotations

from dataclasses import dataclass, field

from tinyagent import Event, Middleware, StepStarted, ToolCall, ToolResult
from tinyagent.agents.run import chain, with_listeners
from tinyagent.core import ModelRequest, ModelResponse
from tinyagent.middleware.base import ModelCall, ToolCallHandler

REQUEST = ModelRequest(())
CALL = ToolCall("1", "t")


@dataclass
class Named(Middleware):
    name: str
    log: list[str] = field(default_factory=list)

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        self.log.append(f"{self.name} before")
        response = await call_next(request)
        self.log.append(f"{self.name} after")
        return response


class Answering(Middleware):
    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        del call_next
        return ToolResult(call, "answered here")


class Twice(Middleware):
    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        await call_next(call)
        return await call_next(call)


async def _model(request: ModelRequest) -> ModelResponse:
    return ModelResponse("hi")


async def test_the_first_layer_is_the_outermost() -> None:
    log: list[str] = []
    handler = chain([Named("a", log), Named("b", log)], "model_call", _model)
    assert (await handler(REQUEST)).content == "hi"
    assert log == ["a before", "b before", "b after", "a after"]


async def test_a_layer_may_answer_in_place_of_the_next() -> None:
    async def never(call: ToolCall) -> ToolResult:
        raise AssertionError("it was called")

    assert (await chain([Answering()], "tool_call", never)(CALL)).content == "answered here"


async def test_a_layer_may_call_the_next_more_than_once() -> None:
    calls: list[ToolCall] = []

    async def innermost(call: ToolCall) -> ToolResult:
        calls.append(call)
        return ToolResult(call, str(len(calls)))

    assert (await chain([Twice()], "tool_call", innermost)(CALL)).content == "2"


async def test_a_layer_that_overrides_nothing_costs_no_call() -> None:
    handler = chain([Middleware(), Answering()], "model_call", _model)
    assert handler is _model
    assert (await handler(REQUEST)).content == "hi"


async def test_the_default_layer_passes_everything_on() -> None:
    layer = Middleware()

    async def tool(call: ToolCall) -> ToolResult:
        return ToolResult(call, "done")

    assert (await layer.model_call(REQUEST, _model)).content == "hi"
    assert (await layer.tool_call(CALL, tool)).content == "done"


class Listening(Middleware):
    def __init__(self, log: list[object]) -> None:
        self._log = log

    def on_event(self, event: Event) -> None:
        self._log.append(("layer", event))


def test_a_layer_hears_each_event_before_the_listener() -> None:
    log: list[object] = []
    emit = with_listeners(
        [Middleware(), Listening(log), Named("a")], lambda event: log.append(("listener", event))
    )
    emit(StepStarted(1))
    assert log == [("layer", StepStarted(1)), ("listener", StepStarted(1))]


def test_layers_that_do_not_listen_cost_nothing() -> None:
    def emit(event: Event) -> None:
        raise AssertionError("not called here")

    assert with_listeners([Middleware(), Named("a")], emit) is emit
    assert Middleware().on_event(StepStarted(1)) is None  # type: ignore[func-returns-value]
