"""`/ag-ui`: each event is read by the types of the official package."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import aiohttp
import pytest
from ag_ui.core import (
    AssistantMessage,
    CustomEvent,
    Event,
    FunctionCall,
    ImagePart,
    Message,
    ReasoningMessageContentEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    SystemMessage,
    TextMessageContentEvent,
    ToolCall,
    ToolMessage,
    UrlSource,
    UserMessage,
)
from pydantic import TypeAdapter
from tests.skillian.api.conftest import Client, Serve
from tests.skillian.api.models import HeldModel
from tests.support.waits import soon

from skillian.api.protocols.ag_ui import AgUiRun, conversation_of
from skillian.chat.agent import Agent
from skillian.chat.stateless import StatelessTurn
from skillian.skills.registry import SkillRegistry
from skillian.storage import Draft
from tinyagent import ScriptedModel, Usage, scripted_call
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse, ModelServerError

QUESTION = "Compare amounts between fi_reporting and bpc_reporting for company 1001"
EVENT: TypeAdapter[Any] = TypeAdapter(Event)


class Thinking(ScriptedModel):
    """Thinks, begins, begins again, then answers as its script does."""

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        yield ModelDelta("Hm.", "reasoning")
        yield ModelDelta("Fo")
        yield ModelDelta("", "restart")
        yield ModelDelta("Four.")
        yield await self.complete(request)


def asked(*messages: Message) -> dict[str, Any]:
    given = RunAgentInput(
        thread_id="thread",
        run_id="run",
        state={},
        messages=list(messages) or [UserMessage(id="1", content=QUESTION)],
        tools=[],
        context=[],
        forwarded_props={},
    )
    return given.model_dump(by_alias=True, mode="json")


async def events_of(client: Client, *messages: Message) -> list[Any]:
    async with client.post("/ag-ui", json=asked(*messages)) as answer:
        assert answer.status == 200, await answer.text()
        assert answer.content_type == "text/event-stream"
        text = await answer.text()
    return read(text)


def read(text: str) -> list[Any]:
    lines = [block.removeprefix("data: ") for block in text.split("\n\n") if block]
    found = [EVENT.validate_json(line) for line in lines]
    for line, event in zip(lines, found, strict=True):
        assert json.loads(line) == json.loads(event.model_dump_json(by_alias=True))
        assert not event.model_extra  # nothing that the package has no name for
    check(found)
    return found


def check(events: Sequence[Any]) -> None:
    """Each part is opened once, closed, and lies within its run."""
    assert isinstance(events[0], RunStartedEvent)
    assert isinstance(events[-1], RunFinishedEvent | RunErrorEvent)
    unfinished: list[str] = []
    ids: set[str] = set()
    for event in events[1:-1]:
        name = event.type.value
        if name.endswith("_START"):
            part = name.removesuffix("_START")
            ids.add(getattr(event, "message_id", None) or event.tool_call_id)
            unfinished.append(part)
        elif name.endswith("_END"):
            assert unfinished.pop() == name.removesuffix("_END")
        elif name.endswith(("_CONTENT", "_ARGS")):
            assert unfinished[-1] == name.rpartition("_")[0]
            assert event.delta
        elif name == "TOOL_CALL_RESULT":
            assert event.tool_call_id in ids
    assert unfinished == []


def text_of(events: Sequence[Any]) -> str:
    return "".join(event.delta for event in events if isinstance(event, TextMessageContentEvent))


def kinds(events: Sequence[Any]) -> list[str]:
    return [event.type.value for event in events]


async def test_a_question_is_answered_from_the_tools(client: Client) -> None:
    events = await events_of(client)
    assert kinds(events) == [
        "RUN_STARTED",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    started, finished = events[0], events[-1]
    assert (started.thread_id, started.run_id) == ("thread", "run")
    assert (finished.thread_id, finished.run_id) == ("thread", "run")
    assert json.loads(events[2].delta)["source_a"] == "fi_reporting"
    assert json.loads(events[4].content)["summary"]["matched"] == 7
    assert text_of(events).startswith("7 of 12 groups match")
    assert finished.result["unverified"] == []
    assert {each["number"] for each in finished.result["references"]} >= {"7", "12"}
    [scope] = finished.result["scope"]
    assert scope[:3] == ["fi_reporting and bpc_reporting", "amount", "company: 1001"]


async def test_a_follow_up_uses_the_clients_conversation(client: Client) -> None:
    events = await events_of(client)
    start, arguments, _, result = events[1:5]
    call = FunctionCall(name=start.tool_call_name, arguments=arguments.delta)
    again = await events_of(
        client,
        UserMessage(id="1", content=QUESTION),
        AssistantMessage(id="2", tool_calls=[ToolCall(id=start.tool_call_id, function=call)]),
        ToolMessage(id="3", tool_call_id=start.tool_call_id, content=result.content),
        AssistantMessage(id="4", content=text_of(events)),
        UserMessage(id="5", content="why?"),
    )
    assert "of the gross gap" in text_of(again)


async def test_reasoning_and_restarts(serve: Serve) -> None:
    async with serve(lambda _: Thinking(["Four."])) as client:
        events = await events_of(client, UserMessage(id="1", content="Two and two?"))
    assert kinds(events)[1:6] == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
    ]
    assert [each.delta for each in events if isinstance(each, ReasoningMessageContentEvent)] == [
        "Hm."
    ]
    messages = [each for each in events if isinstance(each, TextMessageContentEvent)]
    assert [each.delta for each in messages] == ["Fo", "Four."]
    assert messages[0].message_id != messages[1].message_id


async def test_usage_covers_all_model_calls(serve: Serve) -> None:
    usage = Usage(1, input_tokens=10, output_tokens=3, cached_tokens=2)
    call = ModelResponse("I look.", (scripted_call("list_sources"),), usage)
    async with serve(lambda _: ScriptedModel([call, ModelResponse("Four.", usage=usage)])) as it:
        events = await events_of(it)
    [used] = events[-1].usage
    assert (used.input_tokens, used.output_tokens, used.cached_input_tokens) == (20, 6, 4)
    assert text_of(events) == "I look.Four."


async def test_a_model_that_fails_ends_the_run_with_its_error(serve: Serve) -> None:
    async with serve(lambda _: ScriptedModel([ModelServerError("it is down")])) as client:
        [_, failed] = await events_of(client)
    assert failed.code == "model_failed"
    assert "it is down" in failed.message


async def test_an_unexpected_error_shows_no_details(serve: Serve) -> None:
    async with serve(lambda _: ScriptedModel([LookupError("secret inside")])) as client:
        [_, failed] = await events_of(client)
    assert failed.code == "turn_failed"
    assert "secret" not in failed.message


async def test_lone_surrogates_of_a_model_do_no_harm(serve: Serve) -> None:
    async with serve(lambda _: ScriptedModel(["half \ud83d"])) as client:
        events = await events_of(client, UserMessage(id="1", content="Half of what?"))
    assert text_of(events) == "half ?"


async def test_a_client_that_disconnects_ends_the_run(serve: Serve) -> None:
    model = HeldModel()
    async with serve(lambda _: model) as client:
        leaving = asyncio.create_task(_read_all(client))
        await soon(model.asked.is_set)
        leaving.cancel()
        await soon(model.cancelled.is_set)


async def _read_all(client: Client) -> None:
    async with client.post("/ag-ui", json=asked()) as answer:
        await answer.read()


async def problem(answer: aiohttp.ClientResponse) -> str:
    body = await answer.json()
    assert (answer.status, answer.content_type) == (422, "application/problem+json")
    return str(body["detail"])


@pytest.mark.parametrize(
    "message",
    [
        AssistantMessage(id="1", content="Hi"),
        UserMessage(id="1", content=" "),
        UserMessage(id="1", content="x" * 20_001),
        UserMessage(id="1", content=[ImagePart(source=UrlSource(value="https://x.org/a.png"))]),
    ],
)
async def test_a_question_that_cannot_be_answered_is_refused(
    client: Client, message: Message
) -> None:
    async with client.post("/ag-ui", json=asked(message)) as answer:
        assert (await problem(answer)).startswith("messages: ")


async def test_invalid_ag_ui_input_is_refused(client: Client) -> None:
    async with client.post("/ag-ui", json={"messages": []}) as answer:
        await problem(answer)


def test_other_events_become_custom_events() -> None:
    turn = StatelessTurn(Agent(ScriptedModel([]), SkillRegistry()), "Hello")
    data = {"step": 1, "type": "explore", "message": "two ways"}
    [event] = AgUiRun(turn, "thread", "run").read(Draft("signal", data))
    assert event == CustomEvent(name="signal", value=data)


def test_calls_without_results_and_results_without_calls_are_left_out() -> None:
    def call(name: str, arguments: str = "{}") -> ToolCall:
        return ToolCall(id=name, function=FunctionCall(name=name, arguments=arguments))

    messages: list[Message] = [
        SystemMessage(id="1", content="Be brief."),
        AssistantMessage(id="2", tool_calls=[call("a"), call("b"), call("c", "[")]),
        ToolMessage(id="3", tool_call_id="c", content="C"),
        ToolMessage(id="4", tool_call_id="a", content="A"),
        ToolMessage(id="5", tool_call_id="d", content="D"),
        AssistantMessage(id="6", tool_calls=[call("b")]),
    ]
    said = conversation_of(messages).to_list()
    assert [(each["role"], each["content"]) for each in said] == [
        ("user", "Be brief."),
        ("assistant", ""),
        ("tool", "A"),
    ]
    assert [each["name"] for each in said[1]["tool_calls"]] == ["a"]
