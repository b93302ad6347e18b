from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tinyagent import (
    ConfigurationError,
    Event,
    Message,
    Model,
    ModelError,
    OpenAIModel,
    ReactAgent,
    RunFinished,
    RunStarted,
    ScriptedModel,
    Tool,
    ToolFinished,
    Usage,
)
from tinyagent.core import ModelDelta, ModelRateLimited, ModelRequest, ModelResponse, RawToolCall
from tinyagent.core.errors import RecordingMismatch
from tinyagent.models.recorded import RecordedModel
from tinyagent.testing import MockServer, Reply, error_reply
from tinyagent.testing.apis import completion_sse

REQUEST = ModelRequest((Message("user", "hi"),))
WAYS = pytest.mark.parametrize("way", ["complete", "stream"])


class Spoken(ScriptedModel):
    """Streams the items that it is given; an error among them is raised."""

    def __init__(self, items: Sequence[ModelDelta | ModelResponse | ModelError]) -> None:
        super().__init__([], name="spoken")
        self._items = items

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        self.requests.append(request)
        for item in self._items:
            if isinstance(item, ModelError):
                raise item
            yield item


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.json"


def asking(text: str) -> ModelRequest:
    return ModelRequest((Message("user", text),))


async def _ask(model: Model, way: str, request: ModelRequest = REQUEST) -> ModelResponse:
    if way == "complete":
        return await model.complete(request)
    last = (await _items(model, request))[-1]
    assert isinstance(last, ModelResponse)
    return last


def _written(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


async def _items(model: Model, request: ModelRequest = REQUEST) -> list[ModelDelta | ModelResponse]:
    return [item async for item in model.stream(request)]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def _script(first: str, second: str) -> list[ModelResponse]:
    calls = (
        RawToolCall(first, "add", '{"a": 1, "b": 2}'),
        RawToolCall(second, "add", '{"a": 3, "b": 4}'),
    )
    return [
        ModelResponse("Let me add.", calls, Usage(1, 20, 9, 4), id="c1"),
        ModelResponse(None, (RawToolCall(first, "add", '{"a": 3, "b": 7}'),), Usage(1, 40, 5)),
        ModelResponse("The sum is 10, grüß Gott.", (), Usage(1, 50, 8)),
    ]


async def _run(agent: ReactAgent[str], task: str, way: str) -> list[Any]:
    """The events and the result of a run, without its id, its times and made-up call ids."""
    if way == "complete":
        events: list[Event] = [RunFinished(await agent.run(task, return_result=True))]
    else:
        events = [event async for event in agent.stream(task)]
    ids: dict[str, str] = {}
    outcomes: list[Any] = []
    for event in events:
        if isinstance(event, ToolFinished):
            ids[event.result.call.id] = f"call {len(ids) + 1}"
            outcomes.append((event.step, event.result.call.arguments, event.result.content))
        elif isinstance(event, RunFinished):
            result = event.result
            memory = json.dumps(result.memory.to_list())
            for call_id, number in ids.items():
                memory = memory.replace(call_id, number)
            outcomes.append((result.output, result.state, result.steps_taken, result.usage, memory))
        elif not isinstance(event, RunStarted):
            outcomes.append(event)
    return outcomes


@WAYS
async def test_a_run_with_tools_is_replayed_when_its_server_is_gone(path: Path, way: str) -> None:
    async with MockServer(_script("call_1", "call_2")) as server:
        model = OpenAIModel("m", base_url=server.base_url, api_key="sk-secret-key")
        recorded = await _run(ReactAgent(RecordedModel(path, model), [add]), "Add up", way)
    assert len(server.requests) == 3
    assert "grüß Gott" in _written(path)
    assert "sk-secret-key" not in _written(path)
    replay = RecordedModel(path)
    assert await _run(ReactAgent(replay, [add]), "Add up", way) == recorded
    assert replay.name == "m"
    assert recorded[-1][:3] == ("The sum is 10, grüß Gott.", "completed", 3)
    assert (len(recorded) > 10) == (way == "stream")


async def test_call_ids_that_the_adapter_makes_up_do_not_matter(path: Path) -> None:
    async with MockServer(_script("", "")) as server:
        model = RecordedModel(path, OpenAIModel("m", base_url=server.base_url))
        result = await ReactAgent(model, [add]).run("Add up")
    replayed = await ReactAgent(RecordedModel(path), [add]).run("Add up")
    ids = [
        {message.tool_call_id for message in each.memory.messages if message.tool_call_id}
        for each in (result, replayed)
    ]
    assert len(ids[0]) == len(ids[1]) == 3
    assert not ids[0] & ids[1]
    assert str(replayed) == str(result)


@WAYS
async def test_another_word_in_the_prompt_shows_the_difference(path: Path, way: str) -> None:
    async with MockServer(_script("1", "2")) as server:
        model = RecordedModel(path, OpenAIModel("m", base_url=server.base_url))
        await ReactAgent(model, [add]).run("Add the numbers of May")
    agent = ReactAgent(RecordedModel(path), [add])
    task = "Add the numbers of June"
    run = agent.run(task) if way == "complete" else _items(RecordedModel(path), asking(task))
    with pytest.raises(RecordingMismatch) as caught:
        await run
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(
        f"{path}: the request differs from the recorded one; undo the change, or"
    )
    assert "-  Add the numbers of May" in lines
    assert "+  Add the numbers of June" in lines
    assert len(lines) < 26


async def test_a_mismatch_ends_a_run_like_any_error_of_the_caller(path: Path) -> None:
    await RecordedModel(path, ScriptedModel(["x"])).complete(REQUEST)
    events = [event async for event in ReactAgent(RecordedModel(path)).stream("hi")]
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.result.state == "error"
    assert isinstance(last.result.error, RecordingMismatch)


async def test_a_change_in_mid_conversation_is_shown_against_its_own_step(path: Path) -> None:
    async with MockServer(_script("1", "2")) as server:
        model = RecordedModel(path, OpenAIModel("m", base_url=server.base_url))
        await ReactAgent(model, [add]).run("Add up")

    def wrong(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b + 1

    tool = Tool.from_function(wrong, name="add")
    with pytest.raises(RecordingMismatch) as caught:
        await ReactAgent(RecordedModel(path), [tool]).run("Add up")
    changed = [line for line in str(caught.value).splitlines() if line[0] in "+-"]
    assert changed[2:] == ["-  3", "+  4", "-  7", "+  8"]


@WAYS
async def test_a_request_too_many_says_so(path: Path, way: str) -> None:
    recorder = RecordedModel(path, ScriptedModel(["a", "b"]))
    await recorder.complete(asking("one"))
    await recorder.complete(asking("two"))
    model = RecordedModel(path)
    await model.complete(asking("one"))
    with pytest.raises(RecordingMismatch, match="was recorded once, and is made once more"):
        await _ask(model, way, asking("one"))
    await model.complete(asking("two"))
    with pytest.raises(RecordingMismatch, match="all 2 answers of the recording are used"):
        await _ask(model, way, asking("three"))


async def test_the_same_request_gets_its_answers_in_their_order(path: Path) -> None:
    recorder = RecordedModel(path, ScriptedModel(["first", "second"]))
    said = [(await recorder.complete(REQUEST)).content for _ in range(2)]
    model = RecordedModel(path)
    assert [(await model.complete(REQUEST)).content for _ in range(2)] == said
    with pytest.raises(RecordingMismatch, match="was recorded 2 times, and is made once more"):
        await model.complete(REQUEST)


async def test_runs_side_by_side_find_their_answers_in_any_order(path: Path) -> None:
    def answer(request: ModelRequest) -> ModelResponse:
        task, number = request.messages[1].content, len(request.messages)
        call = RawToolCall("", "add", f'{{"a": {task}, "b": {number}}}')
        return ModelResponse(None, (call,)) if number < 6 else ModelResponse(f"done {task}")

    tasks = [str(number) for number in range(20)]
    agent = ReactAgent(RecordedModel(path, ScriptedModel(answer)), [add])
    recorded = await asyncio.gather(*(agent.run(task) for task in tasks))
    assert str(recorded[3]) == "done 3"
    replay = ReactAgent(RecordedModel(path), [add])
    replayed = await asyncio.gather(*(replay.run(task) for task in reversed(tasks)))
    assert [str(result) for result in reversed(replayed)] == [str(result) for result in recorded]


STREAMED: list[ModelDelta | ModelResponse] = [
    ModelDelta("Half"),
    ModelDelta("", "restart"),
    ModelDelta("hm", "reasoning"),
    ModelDelta("All "),
    ModelDelta("of it"),
    ModelResponse(
        "All of it", (RawToolCall("i", "f", "{"),), Usage(1, 2, 3, 4), "length", "m", "i"
    ),
]


async def test_deltas_come_again_with_their_kinds_in_their_order(path: Path) -> None:
    assert await _items(RecordedModel(path, Spoken(STREAMED))) == STREAMED
    assert await _items(RecordedModel(path)) == STREAMED


async def test_a_streamed_answer_can_be_replayed_whole_and_a_whole_one_streamed(path: Path) -> None:
    await _items(RecordedModel(path, Spoken(STREAMED)))
    assert await RecordedModel(path).complete(REQUEST) == STREAMED[-1]
    whole = await RecordedModel(path, ScriptedModel(["It is blue."]), mode="record").complete(
        REQUEST
    )
    assert await _items(RecordedModel(path)) == [ModelDelta("It is blue."), whole]


async def test_a_whole_answer_without_text_has_no_deltas(path: Path) -> None:
    response = ModelResponse(None, (RawToolCall("1", "f", "{}"),))
    await RecordedModel(path, ScriptedModel([response])).complete(REQUEST)
    assert await _items(RecordedModel(path)) == [response]


@WAYS
async def test_failures_are_recorded_and_come_again(path: Path, way: str) -> None:
    async with MockServer([error_reply(429, "slow down", Retry_After="99")]) as server:
        model = OpenAIModel("m", base_url=server.base_url, retries=0)
        with pytest.raises(ModelRateLimited) as recorded:
            await _ask(RecordedModel(path, model), way)
    with pytest.raises(ModelRateLimited) as replayed:
        await _ask(RecordedModel(path), way)
    assert str(replayed.value) == str(recorded.value)
    assert replayed.value.retry_after == 99


async def test_a_failure_in_mid_stream_comes_after_its_deltas(path: Path) -> None:
    broken = Spoken([ModelDelta("Half"), ModelRateLimited("slow")])
    with pytest.raises(ModelRateLimited, match="slow"):
        await _items(RecordedModel(path, broken))
    stream = RecordedModel(path).stream(REQUEST)
    assert await anext(stream) == ModelDelta("Half")
    with pytest.raises(ModelRateLimited, match="slow"):
        await anext(stream)


async def test_a_connection_made_again_is_recorded_as_the_run_saw_it(path: Path) -> None:
    response = ModelResponse("It is blue.")
    cut = Reply(completion_sse(response)[:300], content_type="text/event-stream", ending="cut")
    async with MockServer([cut, response]) as server:
        model = OpenAIModel("m", base_url=server.base_url)
        recorded = await _items(RecordedModel(path, model))
    assert ModelDelta("", "restart") in recorded
    assert await _items(RecordedModel(path)) == recorded


async def test_an_error_of_the_caller_is_not_recorded(path: Path) -> None:
    with pytest.raises(ConfigurationError, match="script of the ScriptedModel has no more answers"):
        await RecordedModel(path, ScriptedModel([])).complete(REQUEST)
    assert not _written(path)


async def test_a_stream_that_is_left_early_is_not_recorded(path: Path) -> None:
    model = RecordedModel(path, Spoken(STREAMED))
    async with aclosing(model.stream(REQUEST)) as stream:
        assert await anext(stream) == STREAMED[0]
    assert not _written(path)
    async with aclosing(model.stream(REQUEST)) as stream:  # an agent leaves at the whole answer
        async for item in stream:
            if isinstance(item, ModelResponse):
                break
    assert await _items(RecordedModel(path)) == STREAMED


async def test_the_file_is_whole_after_each_answer(path: Path) -> None:
    model = RecordedModel(path, ScriptedModel(["a", "b", "c"]))
    for count in (1, 2, 3):
        await model.complete(asking(str(count)))
        assert len(json.loads(_written(path))["exchanges"]) == count
        await RecordedModel(path).complete(asking(str(count)))


async def test_the_modes(path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no model to record into .*run\.json"):
        RecordedModel(path)
    with pytest.raises(ConfigurationError, match=r"run\.json cannot be read: .*No such file"):
        RecordedModel(path, ScriptedModel(["x"]), mode="replay")
    with pytest.raises(ConfigurationError, match="unknown mode 'play'; use one of: auto"):
        RecordedModel(path, mode="play")  # type: ignore[arg-type]
    await RecordedModel(path, ScriptedModel(["old"])).complete(REQUEST)
    unasked = ScriptedModel(["never"])
    assert (await RecordedModel(path, unasked).complete(REQUEST)).content == "old"
    assert unasked.requests == []
    with pytest.raises(ConfigurationError, match="there is no model to record"):
        RecordedModel(path, mode="record")
    again = RecordedModel(path, ScriptedModel(["new"]), mode="record")
    assert "old" in _written(path)
    await again.complete(REQUEST)
    assert (await RecordedModel(path).complete(REQUEST)).content == "new"


async def test_a_name_is_made_a_model_only_to_record(path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no API key: set OPENAI_API_KEY"):
        RecordedModel(path, "openai:gpt-4.1")
    await RecordedModel(path, ScriptedModel(["old"], name="gpt-4.1")).complete(REQUEST)
    model = RecordedModel(path, "openai:gpt-4.1")
    assert repr(model) == f"RecordedModel('{path}', 'gpt-4.1')"


def test_a_faulty_file_is_refused_when_the_model_is_made(path: Path) -> None:
    path.write_text("{}")
    with pytest.raises(ConfigurationError, match="is not a recording"):
        RecordedModel(path, ScriptedModel(["x"]))


OFFLINE = """
import asyncio, socket, sys
from tinyagent import Message
from tinyagent.core import ModelRequest
from tinyagent.models.recorded import RecordedModel
class Refused(socket.socket):
    def connect(self, *_): raise AssertionError("a connection was made")
socket.socket = Refused
model = RecordedModel(sys.argv[1], "anthropic:claude-sonnet-5")
request = ModelRequest((Message("user", "hi"),))
print(asyncio.run(model.complete(request)).content)
loaded = {"aiohttp", "openai", "anthropic", "httpx", "httpx2", "stamina"} & set(sys.modules)
assert not loaded, loaded
"""


def test_a_replay_needs_no_network_no_key_and_no_provider(path: Path) -> None:
    asyncio.run(RecordedModel(path, ScriptedModel(["from the file"])).complete(REQUEST))
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(path)], check=True, capture_output=True, text=True
    )
    assert done.stdout == "from the file\n"
