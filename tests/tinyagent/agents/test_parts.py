"""Parts on their way through a run: task, tool results, memory, recordings, journal, traces."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tinyagent import (
    FallbackModel,
    Image,
    Memory,
    Message,
    OpenAIModel,
    ReactAgent,
    Sandbox,
    ScriptedModel,
    Text,
    TextDelta,
    TinyCodeAgent,
    Tool,
    ToolCall,
    ToolResult,
    scripted_call,
)
from tinyagent.core import ModelResponse, Opaque, RawToolCall, Reasoning
from tinyagent.durable.records import (
    response_from_dict,
    response_to_dict,
    tool_result_from_dict,
    tool_result_to_dict,
)
from tinyagent.memory import summarize
from tinyagent.memory.memory import MemoryManager
from tinyagent.middleware.spans import ContentWriter
from tinyagent.models import RecordedModel
from tinyagent.testing import MockServer, Reply, json_reply

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
SIGNATURE = "EqQBCkYIBxgC"
MARK = Opaque("anthropic", "claude", {"signature": SIGNATURE})
THOUGHT = Reasoning("I look.", MARK)
LOOK = RawToolCall("1", "look", "{}", MARK)
THINKS = ModelResponse(None, (LOOK,), parts=(THOUGHT, LOOK, Reasoning("And then?")))
ANSWERS = ModelResponse("A cat.", parts=(THOUGHT, Text("A cat.")))


def look() -> list[str | Image]:
    """Look at the picture."""
    return ["The picture:", Image(PNG)]


def fail() -> str:
    """Fail."""
    raise ValueError("no light")


def test_a_run_remembers_all_parts_in_their_order() -> None:
    model = ScriptedModel([THINKS, ANSWERS])
    result = ReactAgent(model, [look]).run_sync(["What is this?", Image(PNG)])
    assert result.output == "A cat."
    _, task, asked, seen, answer = result.memory.messages
    assert task.content == (Text("What is this?"), Image(PNG))
    assert asked.content == (THOUGHT, ToolCall("1", "look", opaque=MARK), Reasoning("And then?"))
    assert seen.content == (Text("The picture:"), Image(PNG))
    assert answer.content == (THOUGHT, Text("A cat."))
    again = Memory.from_list(json.loads(json.dumps(result.memory.to_list())))
    assert again == result.memory
    assert result.steps[0].results[0].content == f"The picture:\n{Image(PNG).describe()}"
    later = ReactAgent(ScriptedModel(["Yes."]), [look]).run_sync("Sure?", memory=again)
    assert later.output == "Yes."


@pytest.mark.parametrize("make", [ReactAgent, TinyCodeAgent])
async def test_both_agents_take_images_however_they_are_run(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "plan.png"
    path.write_bytes(PNG)
    task = ["What is on this?", Image(str(path))]
    reply = "A cat." if make is ReactAgent else "```python\nfinal_answer('A cat.')\n```"
    model = ScriptedModel([reply] * 3)
    options = {} if make is ReactAgent else {"sandbox": Sandbox("local")}
    agent = make(model, **options)
    assert (await agent.run(task)).output == "A cat."
    assert (await asyncio.to_thread(agent.run_sync, task)).output == "A cat."
    assert [event async for event in agent.stream(task)][-1].result.output == "A cat."
    for request in model.requests:
        seen = [part for each in request.messages for part in each.parts]
        assert Image(PNG) in seen


@pytest.mark.parametrize("make", [ReactAgent, TinyCodeAgent])
async def test_an_agent_as_a_tool_is_asked_in_words_and_answers_in_words(make: Any) -> None:
    reply = "A cat." if make is ReactAgent else "```python\nfinal_answer('A cat.')\n```"
    inner = make(
        ScriptedModel([reply]), **({} if make is ReactAgent else {"sandbox": Sandbox("local")})
    )
    tool = inner.as_tool("looker", "Looks.")
    assert tool.json_schema["properties"]["task"]["type"] == "string"
    outer = ReactAgent(
        ScriptedModel([scripted_call("looker", task="Look"), "It is a cat."]), [tool]
    )
    result = await outer.run(["What is it?", Image(PNG)])
    assert result.steps[0].results[0].content == "A cat."


def test_nothing_of_a_run_shows_opaque_data() -> None:
    result = ReactAgent(ScriptedModel([THINKS, ANSWERS]), [look]).run_sync("What is this?")
    assert SIGNATURE not in repr(result)
    assert SIGNATURE not in repr(result.memory.messages)


def test_a_failed_call_is_marked() -> None:
    model = ScriptedModel([scripted_call("fail", call_id="1"), "Too dark."])
    messages = ReactAgent(model, [fail]).run_sync("Look.").memory.messages
    assert [message.is_error for message in messages] == [False, False, False, True, False]


def test_long_texts_next_to_images_are_cut_and_can_be_read_on() -> None:
    def page() -> list[str | Image]:
        """Show a page."""
        return ["x" * 50_000, Image(PNG)]

    model = ScriptedModel([scripted_call("page", call_id="1"), "Read."])
    result = ReactAgent(model, [page]).run_sync("Read.")
    text, image = result.memory.messages[3].parts
    assert isinstance(text, Text)
    assert len(text.text) < 21_000
    assert "read_result(handle=" in text.text
    assert image == Image(PNG)


@pytest.mark.parametrize("mode", ["structured", "parsed"])
def test_without_function_calls_images_of_results_are_the_users(mode: Any) -> None:
    call = json.dumps({"scratchpad": "", "tool": "look", "arguments": {}})
    answer = json.dumps({"scratchpad": "", "answer": "A cat."})
    model = ScriptedModel([ModelResponse(call, parts=(THOUGHT, Text(call))), answer])
    ReactAgent(model, [look], tool_calling_mode=mode).run_sync("What is this?")
    messages, shown = model.requests[1].messages[-2:]
    assert messages.content == (THOUGHT, Text(call))
    assert shown.role == "user"
    assert [type(part) for part in shown.parts] == [Text, Text, Image]


def test_a_reply_whose_text_a_middleware_changed_keeps_only_the_reasoning() -> None:
    from dataclasses import replace

    changed = replace(ANSWERS, content="A dog.")
    assert changed.parts == (THOUGHT, Text("A dog."))


async def test_reasoning_streams_as_its_own_event_and_tags_are_no_answer() -> None:
    async with MockServer(["<think>Is it? It is.</think>\n\nIt is a cat."]) as server:
        agent = ReactAgent(OpenAIModel("m", base_url=server.base_url))
        events = [event async for event in agent.stream("What is this?")]
    said = {"text": "", "reasoning": ""}
    for event in events:
        if isinstance(event, TextDelta):
            said[event.kind] += event.text
    assert said == {"text": "It is a cat.", "reasoning": "Is it? It is."}
    assert events[-1].result.output == "It is a cat."  # type: ignore[union-attr]


async def test_the_second_step_brings_back_the_reasoning_of_the_first() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    replies = [
        {"reasoning_content": "I look.", "content": "", "tool_calls": [call]},
        {"reasoning_content": "", "content": "A cat."},
    ]

    def answer(body: dict[str, Any]) -> Reply:
        for message in body["messages"]:
            if message["role"] == "assistant" and "reasoning_content" not in message:
                said = "The `reasoning_content` in the thinking mode must be passed back."
                return Reply(json.dumps({"error": {"message": said}}).encode(), status=400)
        done = sum(message["role"] == "assistant" for message in body["messages"])
        return json_reply({"choices": [{"message": replies[done], "finish_reason": "stop"}]})

    async with MockServer(answer) as server:
        model = OpenAIModel("deepseek-v4", base_url=server.base_url, provider="deepseek")
        result = await ReactAgent(model, [Tool.from_function(_blind)]).run("What is this?")
    assert result.output == "A cat."
    assert server.requests[1]["messages"][2]["reasoning_content"] == "I look."


def _blind() -> str:
    """Look without pictures."""
    return "a cat"


async def test_the_wish_for_reasoning_reaches_the_server() -> None:
    async with MockServer(["hi"]) as server:
        agents = [
            ReactAgent(OpenAIModel("m", base_url=server.base_url), reasoning="low"),
            ReactAgent(OpenAIModel("m", base_url=server.base_url, reasoning="high")),
            ReactAgent(
                FallbackModel([OpenAIModel("m", base_url=server.base_url, reasoning="high")]),
                reasoning=100,
            ),
        ]
        for agent in agents:
            await agent.run("hi")
    efforts = [request["reasoning_effort"] for request in server.requests]
    assert efforts == ["low", "high", "low"]


def test_a_recording_keeps_all_parts(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    first = ReactAgent(RecordedModel(path, ScriptedModel([THINKS, ANSWERS])), [look])
    result = first.run_sync(["What is this?", Image(PNG)])
    again = ReactAgent(RecordedModel(path), [look]).run_sync(["What is this?", Image(PNG)])
    assert again.memory == result.memory


@pytest.mark.parametrize("response", [THINKS, ANSWERS, ModelResponse("hi")])
def test_a_journal_keeps_all_parts_of_an_answer(response: ModelResponse) -> None:
    record = json.loads(json.dumps(response_to_dict(response)))
    assert response_from_dict(record) == response


def test_a_journal_keeps_all_parts_of_a_result() -> None:
    call = ToolCall("1", "look")
    result = ToolResult(call, "seen", parts=(Text("seen"), Image(PNG)))
    record = json.loads(json.dumps(tool_result_to_dict(result)))
    assert tool_result_from_dict(record, call) == result


@pytest.mark.parametrize("part", [{}, {"type": "image"}, {"type": "reasoning", "text": 5}])
def test_a_faulty_record_says_so(part: dict[str, Any]) -> None:
    record = response_to_dict(ModelResponse("hi")) | {"parts": [part]}
    with pytest.raises(ValueError, match=r"part|'text'"):
        response_from_dict(record)


def test_a_trace_has_parts_in_words_and_no_opaque_data() -> None:
    writer = ContentWriter(1_000)
    message = Message("user", (Text("What?"), Image(PNG)))
    said = Message("assistant", (THOUGHT, ToolCall("1", "look", opaque=MARK)))
    written = json.loads(writer.messages([message, said]))
    assert [part["type"] for part in written[0]["parts"]] == ["text", "text"]
    assert [part["type"] for part in written[1]["parts"]] == ["reasoning", "tool_call"]
    answer = writer.response(THINKS)
    assert SIGNATURE not in answer + json.dumps(written)
    kinds = [part["type"] for part in json.loads(answer)[0]["parts"]]
    assert kinds == ["reasoning", "tool_call", "reasoning"]


async def test_a_summary_is_made_of_parts_in_words() -> None:
    memory = Memory([Message("user", (Text("What?"), Image(PNG)))])
    for number in range(4):
        memory.add("assistant", (THOUGHT, ToolCall(str(number), "look", opaque=MARK)))
        memory.add("tool", (Image(PNG),), tool_call_id=str(number), is_error=True)
    model = ScriptedModel(["Cats."])
    await memory.prune_async(summarize(model, keep=1, after=2))
    shown = model.requests[0].messages[1].text
    assert "[image image/png, 28 bytes" in shown
    assert "[reasoning: I look.]" in shown
    assert "tool (failed): " in shown
    assert SIGNATURE not in shown


def test_a_code_agent_keeps_what_the_model_thought() -> None:
    code = "```python\nfinal_answer(3)\n```"
    model = ScriptedModel([ModelResponse(code, parts=(THOUGHT, Text(code)))])
    agent: TinyCodeAgent[str] = TinyCodeAgent(model, sandbox=Sandbox(level="local"))
    result = agent.run_sync(["How many?", Image(PNG)])
    assert model.requests[0].messages[1].content == (Text("How many?"), Image(PNG))
    assert result.memory.to_messages()[2].parts[0] == THOUGHT
    again = MemoryManager.from_list(json.loads(json.dumps(result.memory.to_list())))
    assert again == result.memory


def test_side_by_side_runs_share_no_parts() -> None:
    async def both() -> list[str]:
        agent = ReactAgent(ScriptedModel(lambda request: request.messages[-1].text))
        tasks = [agent.run([word, Image(PNG)]) for word in ("one", "two")]
        return [result.output for result in await asyncio.gather(*tasks)]

    assert asyncio.run(both()) == ["one", "two"]
