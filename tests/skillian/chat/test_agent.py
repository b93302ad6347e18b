from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from skillian.chat.agent import MAX_ROUNDS, Agent, Conversation
from skillian.chat.answer_check import check_answer
from skillian.chat.opening import open_agent
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.demo.ledger import write_demo
from skillian.skills.loader import BUNDLED, load_skill
from skillian.skills.registry import SkillRegistry
from tinyagent import ScriptedModel, ToolCall, Usage, scripted_call
from tinyagent.core import ModelResponse, ModelServerError

QUESTION = "Compare amounts between fi_reporting and bpc_reporting for company 1001"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture
async def skills(sources: Path) -> AsyncGenerator[SkillRegistry, None]:
    async with DataServices(SourceRegistry.load(sources)) as services:
        yield SkillRegistry([load_skill(BUNDLED / "data-analyst", services)])


async def test_every_number_of_the_planners_answer_is_in_the_tools_result(sources: Path) -> None:
    async with open_agent(sources, None) as agent:
        response, _ = await agent.process(QUESTION)
    assert response.finished
    assert [call.tool for call in response.tool_calls_made] == ["compare_sources"]
    result = response.tool_calls_made[0].result
    checked = check_answer(response.content, [result])
    assert {"2,172,539.90", "-131,674.49", "+192,258.87"} <= {
        each.number for each in checked.references
    }
    assert checked.unverified == ()


async def test_the_planted_faults_are_found(sources: Path) -> None:
    async with open_agent(sources, None) as agent:
        response, _ = await agent.process(QUESTION)
    result = json.loads(response.tool_calls_made[0].result)
    assert result["summary"]["by_status"] == {
        "match": 7,
        "minor_diff": 1,
        "major_diff": 3,
        "missing_in_a": 0,
        "missing_in_b": 1,
    }
    first = result["top_differences"][0]
    assert (first["key"]["period"], first["rows_a"], first["rows_b"]) == ("2024004", 40, 80)


async def test_a_wrong_name_is_corrected(skills: SkillRegistry) -> None:
    wrong: dict[str, Any] = {
        "source_a": "fi_reports",
        "source_b": "bpc_reporting",
        "measures": ["amount"],
    }
    right = {**wrong, "source_a": "fi_reporting"}
    model = ScriptedModel(
        [
            scripted_call("compare_sources", **wrong),
            scripted_call("compare_sources", **right),
            "Done.",
        ]
    )
    response, _ = await Agent(model, skills).process("Compare amounts of fi_reports and bpc")
    first, second = (json.loads(call.result) for call in response.tool_calls_made)
    assert first["type"] == "not_found"
    assert first["available_sources"][0] == "fi_reporting"
    assert second["summary"]["groups"] == 36


async def test_a_conversation_continues(skills: SkillRegistry) -> None:
    model = ScriptedModel(["One.", "Two."])
    agent = Agent(model, skills)
    _, conversation = await agent.process("First?")
    _, conversation = await agent.process("Second?", conversation)
    contents = [message.content for message in conversation.messages if message.role != "system"]
    assert contents == ["First?", "One.", "Second?", "Two."]


async def test_at_the_last_round_the_turn_is_not_finished_and_says_what_was_found(
    skills: SkillRegistry,
) -> None:
    model = ScriptedModel(
        lambda request: scripted_call(
            "query_source",
            source="fi_reporting",
            measures=["amount"],
            limit=len(request.messages),
        )
    )
    response, _ = await Agent(model, skills).process("Go on")
    assert not response.finished
    assert len(response.tool_calls_made) == MAX_ROUNDS
    assert "too many calls" in response.content
    assert response.content.endswith("fi_reporting:\n- amount: 6,586,678.06")


@pytest.mark.parametrize(
    "end",
    [
        ModelServerError("http://host answered 500 Error: a text of the provider"),
        ModelResponse("The am", (), Usage(), "content_filter", "m"),
    ],
)
async def test_a_model_that_fails_after_a_call_leaves_its_result_in_words(
    skills: SkillRegistry, end: ModelServerError | ModelResponse
) -> None:
    call = scripted_call("query_source", source="fi_reporting", measures=["amount"])
    response, _ = await Agent(ScriptedModel([call, end]), skills).process("Go on")
    assert not response.finished
    assert response.content.endswith("fi_reporting:\n- amount: 6,586,678.06")
    assert "provider:" not in response.content
    assert "The am" not in response.content
    assert "{" not in response.content


async def test_a_failing_model_is_an_unfinished_answer(skills: SkillRegistry) -> None:
    model = ScriptedModel([ModelServerError("the server is down")])
    response, _ = await Agent(model, skills).process("Hello")
    assert not response.finished
    assert "the server is down" in response.content


def test_a_conversation_survives_json() -> None:
    conversation = Conversation()
    conversation.add_user("Compare")
    conversation.add_assistant("", [ToolCall("1", "compare_sources", {"source_a": "a"})])
    conversation.add_tool_result('{"summary": {}}', "1")
    conversation.add_assistant("Done.")
    again = Conversation.from_list(json.loads(json.dumps(conversation.to_list())))
    assert again.messages == conversation.messages
    assert [message.role for message in again.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
