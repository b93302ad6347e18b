from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import pytest

from tinyagent import (
    ConfigurationError,
    Message,
    Model,
    ModelError,
    OpenAIModel,
    ReactAgent,
    RunFinished,
    ScriptedModel,
)
from tinyagent.core import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelDelta,
    ModelRateLimited,
    ModelRefused,
    ModelReplyError,
    ModelRequest,
    ModelResponse,
    ModelServerError,
    ModelTimeout,
)
from tinyagent.core.errors import ModelContextTooLong, ModelFormatRefused
from tinyagent.models.fallback import FallbackModel
from tinyagent.testing import MockServer, Reply, StrictServer, error_reply
from tinyagent.testing.apis import completion_sse

REQUEST = ModelRequest((Message("user", "hi"),))
WAYS = pytest.mark.parametrize("way", ["complete", "stream"])


class Halting(ScriptedModel):
    """Streams its deltas, then fails, or just ends."""

    def __init__(self, deltas: Sequence[ModelDelta], error: ModelError | None) -> None:
        super().__init__([], name="halting")
        self._deltas = deltas
        self._error = error

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        self.requests.append(request)
        for delta in self._deltas:
            yield delta
        if self._error is not None:
            raise self._error


def _failing(error: Exception, name: str = "first") -> ScriptedModel:
    return ScriptedModel([error], name=name)


async def _ask(model: Model, way: str) -> str | None:
    if way == "complete":
        return (await model.complete(REQUEST)).content
    items = [item async for item in model.stream(REQUEST)]
    last = items.pop()
    assert isinstance(last, ModelResponse)
    assert not [item for item in items if not isinstance(item, ModelDelta)]
    return last.content


@WAYS
@pytest.mark.parametrize(
    "kind",
    [
        ModelAuthenticationError,
        ModelConnectionError,
        ModelRateLimited,
        ModelRefused,
        ModelReplyError,
        ModelServerError,
        ModelTimeout,
    ],
)
async def test_the_next_one_answers_when_one_fails(kind: type[ModelError], way: str) -> None:
    model = FallbackModel([_failing(kind("no")), ScriptedModel(["here"])])
    assert await _ask(model, way) == "here"


@WAYS
@pytest.mark.parametrize("kind", [ModelContextTooLong, ModelFormatRefused])
async def test_an_error_that_the_run_fixes_is_not_hidden_by_another_model(
    kind: type[ModelError], way: str
) -> None:
    last = ScriptedModel(["never asked"])
    model = FallbackModel([_failing(ModelServerError("down")), _failing(kind("fix it")), last])
    with pytest.raises(kind, match="fix it") as caught:
        await _ask(model, way)
    assert caught.value.__notes__ == ["before that, first failed: ModelServerError: down"]
    assert last.requests == []


@WAYS
async def test_an_error_of_the_caller_is_not_a_failure_of_the_model(way: str) -> None:
    second = ScriptedModel(["never asked"])
    with pytest.raises(ConfigurationError, match="has no more answers"):
        await _ask(FallbackModel([ScriptedModel([]), second]), way)
    assert second.requests == []


@WAYS
async def test_the_last_error_carries_the_earlier_ones(way: str) -> None:
    errors = [ModelServerError("down"), ModelTimeout("late"), ModelRateLimited("slow")]
    models = [_failing(error, f"m{number}") for number, error in enumerate(errors)]
    with pytest.raises(ModelRateLimited, match=r"^slow\n") as caught:
        await _ask(FallbackModel(models), way)
    assert caught.value.__notes__ == [
        "before that, m0 failed: ModelServerError: down",
        "before that, m1 failed: ModelTimeout: late",
    ]


@WAYS
async def test_nothing_is_remembered_between_requests(way: str) -> None:
    first = ScriptedModel([ModelServerError("down"), "up again"])
    second = ScriptedModel(["in its place"])
    model = FallbackModel([first, second])
    assert [await _ask(model, way), await _ask(model, way)] == ["in its place", "up again"]
    assert len(second.requests) == 1


@pytest.mark.parametrize("error", [ModelConnectionError("cut"), None], ids=["fails", "just ends"])
async def test_deltas_before_a_failure_are_void(error: ModelError | None) -> None:
    begun = Halting([ModelDelta("Half"), ModelDelta("hm", "reasoning")], error)
    model = FallbackModel([begun, Halting([], error), ScriptedModel(["All of it"])])
    items = [item async for item in model.stream(REQUEST)]
    assert items[:-1] == [
        ModelDelta("Half"),
        ModelDelta("hm", "reasoning"),
        ModelDelta("", "restart"),
        ModelDelta("All"),
        ModelDelta(" of"),
        ModelDelta(" it"),
    ]


async def test_no_restart_is_reported_if_nothing_follows() -> None:
    model = FallbackModel([Halting([ModelDelta("Half")], ModelTimeout("late"))])
    stream = model.stream(REQUEST)
    assert await anext(stream) == ModelDelta("Half")
    with pytest.raises(ModelTimeout, match="late"):
        await anext(stream)


@WAYS
async def test_it_goes_from_one_server_to_the_other(way: str) -> None:
    half = completion_sse(ModelResponse("lost in the middle"))[:400]
    broken = Reply(half, content_type="text/event-stream", ending="cut")
    replies = [broken] if way == "stream" else [error_reply(503, "down")]
    async with MockServer(replies) as one, MockServer(["It is blue."]) as other:
        model = FallbackModel(
            [
                OpenAIModel("a", base_url=one.base_url, retries=0),
                OpenAIModel("b", base_url=other.base_url),
            ]
        )
        agent = ReactAgent(model)
        if way == "complete":
            assert str(await agent.run("What colour?")) == "It is blue."
        else:
            last = [event async for event in agent.stream("What colour?")][-1]
            assert isinstance(last, RunFinished)
            assert str(last.result) == "It is blue."
    assert len(one.requests) == len(other.requests) == 1


def test_it_is_named_after_its_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    model = FallbackModel(["openai:gpt-4.1", ScriptedModel([], name="spare")])
    assert model.name == "fallback(gpt-4.1, spare)"
    assert repr(model) == (
        "FallbackModel([OpenAIModel('gpt-4.1', 'http://localhost:1/v1/chat/completions'),"
        " ScriptedModel('spare')])"
    )


def test_a_fallback_needs_models() -> None:
    with pytest.raises(ConfigurationError, match="needs at least one model"):
        FallbackModel([])


@pytest.mark.parametrize(
    ("provider", "name"),
    [("openai", "gpt-4.1"), ("openai", "o3"), ("kimi", "kimi-k2.6"), ("minimax", "MiniMax-M2")],
)
async def test_each_model_takes_of_a_request_what_it_can(provider: str, name: str) -> None:
    async with (
        MockServer([error_reply(503, "down")]) as down,
        StrictServer(provider, ["Here."]) as server,
    ):
        first = OpenAIModel("m", base_url=down.base_url, retries=0)
        spare = OpenAIModel(name, base_url=server.base_url, api_key="k", provider=provider)
        asked = ModelRequest(
            (Message("user", "hi"),), temperature=0.2, max_tokens=2_000, reasoning="high"
        )
        assert (await FallbackModel([first, spare]).complete(asked)).content == "Here."
    assert server.refusals == []
