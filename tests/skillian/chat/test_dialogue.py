"""The mission's dialogue, from the wrong names to the rows behind the gap."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from skillian.chat.agent import Agent, AgentResponse, Conversation
from skillian.chat.answer_check import check_answer
from skillian.chat.opening import open_agent, read_vocabulary
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.demo.ledger import write_demo
from skillian.skills.discovery import load_registry
from tinyagent import ScriptedModel, scripted_call
from tinyagent.core import ModelRequest, RawToolCall

QUESTIONS = (
    "Compare amounts between fi_reports and bpc",
    "Compare amounts between fi_reporting and bpc_reporting for company 1001",
    "why?",
    "show the rows behind company 1001 and period 2024004",
)
BOTH: dict[str, Any] = {
    "source_a": "fi_reporting",
    "source_b": "bpc_reporting",
    "measures": ["amount"],
}
LARGEST = {"company": "1001", "period": "2024004"}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo(tmp_path_factory.mktemp("demo"))


async def talk(agent: Agent, questions: Sequence[str]) -> list[AgentResponse]:
    conversation: Conversation | None = None
    responses: list[AgentResponse] = []
    for question in questions:
        response, conversation = await agent.process(question, conversation)
        responses.append(response)
    return responses


def check(responses: Sequence[AgentResponse]) -> None:
    corrected = responses[0].tool_calls_made
    not_found = json.loads(corrected[0].result)
    assert (corrected[0].arguments["source_a"], corrected[0].arguments["source_b"]) == (
        "fi_reports",
        "bpc",
    )
    assert not_found["type"] == "not_found"
    assert set(not_found["available_sources"]) == {"fi_reporting", "bpc_reporting"}
    assert json.loads(corrected[1].result)["summary"]["groups"] == 36
    check_comparison(responses[1:])


def check_comparison(responses: Sequence[AgentResponse]) -> None:
    compared, explained, drilled = (response.tool_calls_made for response in responses)
    assert json.loads(compared[0].result)["summary"]["by_status"]["major_diff"] == 3
    assert [call.tool for call in explained] == ["explain_difference"]
    assert json.loads(explained[0].result)["grain"] == ["company", "period"]
    assert drilled[0].arguments["key"] == LARGEST
    assert len(json.loads(drilled[0].result)["b"]["rows"]) == 20


async def test_with_the_planner(sources: Path) -> None:
    async with open_agent(sources, None) as agent:
        back, *responses = await talk(agent, QUESTIONS)
    assert "fi_reports" in back.content.split("\n")[0]
    check_comparison(responses)
    assert [len(response.tool_calls_made) for response in responses] == [1, 1, 1]
    for question, response in zip(QUESTIONS[1:], responses, strict=True):
        results = [call.result for call in response.tool_calls_made]
        assert response.finished
        assert check_answer(response.content, results, question).unverified == ()


async def test_with_a_scripted_model(sources: Path) -> None:
    def key(request: ModelRequest) -> str:
        results = [message.text for message in request.messages if message.role == "tool"]
        return str(json.loads(results[1 if len(results) < 3 else 2])["cache_key"])

    def answer(request: ModelRequest) -> str | RawToolCall:
        last = request.messages[-1]
        if last.role == "tool":
            wrong = json.loads(last.text).get("type") == "not_found"
            return scripted_call("compare_sources", **BOTH) if wrong else "Done."
        calls: dict[str, Any] = {
            QUESTIONS[0]: lambda: scripted_call(
                "compare_sources", **{**BOTH, "source_a": "fi_reports", "source_b": "bpc"}
            ),
            QUESTIONS[1]: lambda: scripted_call(
                "compare_sources", **BOTH, filters={"company": "1001"}
            ),
            QUESTIONS[2]: lambda: scripted_call("explain_difference", cache_key=key(request)),
            QUESTIONS[3]: lambda: scripted_call("drill_down", cache_key=key(request), key=LARGEST),
        }
        made: RawToolCall = calls[last.text]()
        return made

    async with DataServices(SourceRegistry.load(sources)) as services:
        skills = load_registry(services)
        agent = Agent(ScriptedModel(answer), skills, await read_vocabulary(services))
        check(await talk(agent, QUESTIONS))


async def test_why_of_a_comparison_that_was_not_made_yet_makes_it_first(sources: Path) -> None:
    questions = ("Why do fi_reporting and bpc_reporting differ in amount?", "Why?")
    async with open_agent(sources, None) as agent:
        responses = await talk(agent, questions)
    tools = [call.tool for response in responses for call in response.tool_calls_made]
    assert tools == ["compare_sources", "explain_difference"]
    assert all(response.finished for response in responses)


async def test_pages_classes_and_changes(sources: Path) -> None:
    questions = (
        "Compare amounts between fi_reporting and bpc_reporting",
        "What is only in fi_reporting?",
        "show the rows behind company 1001 and period 2024007",
        "and for company 1002?",
        "the other way round",
    )
    async with open_agent(sources, None) as agent:
        responses = await talk(agent, questions)
    made = [response.tool_calls_made[-1] for response in responses]
    assert made[1].arguments["status"] == "missing_in_b"
    assert made[2].arguments["key"] == {"company": "1001", "period": "2024007"}
    assert made[3].arguments["filters"] == {"company": "1002"}
    assert made[4].arguments["source_a"] == "bpc_reporting"
    assert all("error" not in json.loads(call.result) for call in made)


async def test_whole_rows_are_looked_into_as_groups_are(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "orders.duckdb") as connection:
        connection.execute(
            "CREATE TABLE shop AS SELECT i AS id, 'Order ' || i AS name FROM range(1, 41) t(i)"
        )
        connection.execute(
            "CREATE TABLE erp AS SELECT * REPLACE (name || ' ' AS name) FROM shop WHERE id < 40"
        )
    (tmp_path / "sources.yaml").write_text(
        "connections: {main: duckdb:///orders.duckdb}\nsources:\n"
        "  shop: {connection: main, table: shop, dimensions: {id: {column: id}}, measures: {}}\n"
        "  erp: {connection: main, table: erp, dimensions: {id: {column: id}}, measures: {}}\n"
    )
    questions = ("Compare shop and erp", "why?", "What is only in shop?", "Which ones differ?")
    async with open_agent(tmp_path / "sources.yaml", None) as agent:
        responses = await talk(agent, questions)
    compared, why, only, rows = (response.tool_calls_made[-1] for response in responses)
    assert json.loads(compared.result)["kind"] == "rows"
    assert "name (trimmed) explains 39 of 39 differences" in responses[1].content
    assert why.tool == "explain_difference"
    assert only.arguments["status"] == "only_in_a"
    assert "- id: 40: only in a" in responses[2].content
    assert (rows.tool, json.loads(rows.result)["total"]) == ("get_comparison_rows", 40)
    for question, response in zip(questions, responses, strict=True):
        results = [call.result for call in response.tool_calls_made]
        assert check_answer(response.content, results, question).unverified == ()
