"""What a language model leaves out of a call, or adds to it, never becomes an answer."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from skillian.chat.agent import Agent, AgentResponse
from skillian.chat.opening import read_vocabulary
from skillian.chat.scope import scopes_of
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.demo.ledger import write_demo
from skillian.offline.vocabulary import Vocabulary
from skillian.skills.discovery import load_registry
from skillian.skills.registry import SkillRegistry
from tinyagent import ScriptedModel, scripted_call
from tinyagent.core import RawToolCall

Opened = tuple[SkillRegistry, Vocabulary]
BOTH: dict[str, Any] = {
    "source_a": "fi_reporting",
    "source_b": "bpc_reporting",
    "measures": ["amount"],
}
ASK = "compare amounts between fi_reporting and bpc_reporting"
FOR_1001 = {"filters": {"company": "1001"}}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture
async def opened(sources: Path) -> AsyncGenerator[Opened, None]:
    async with DataServices(SourceRegistry.load(sources)) as services:
        yield load_registry(services), await read_vocabulary(services)


def compare(**arguments: Any) -> RawToolCall:
    return scripted_call("compare_sources", **{**BOTH, **arguments})


async def answer(opened: Opened, question: str, *script: Any) -> AgentResponse:
    response, _ = await Agent(ScriptedModel([*script, "The answer."]), *opened).process(question)
    return response


@pytest.mark.parametrize(
    ("question", "call", "named"),
    [
        (f"For company 1001, {ASK}", compare(), "company: 1001"),
        (f"{ASK}, excluding company 1001", compare(**FOR_1001), "company: not 1001"),
        (f"In Q1 2024, {ASK}", compare(), "period: 2024001 to 2024003"),
        (f"Per account, {ASK}", compare(), "by account"),
        (f"With a tolerance of 5 euros, {ASK}", compare(), "a limit of 5"),
        (f"Tolerance 0,5 %: {ASK}", compare(thresholds={"match": {"percentage": 5}}), "0.5 %"),
        (ASK, compare(**FOR_1001), "company: 1001"),
        (ASK, compare(thresholds={"match": {"absolute": 100}}), "a limit of 100; the question"),
        (f"Net of VAT, {ASK}", compare(), "VAT"),
        (f"Net of VAT, {ASK}", compare(**FOR_1001), "VAT"),
        (f"{ASK} for the French branch", compare(), "French"),
        ("documents of fi_reporting by company", compare(), "fi_reporting"),
    ],
)
async def test_a_call_without_a_part_of_the_question_becomes_a_question_back(
    opened: Opened, question: str, call: RawToolCall, named: str
) -> None:
    response = await answer(opened, question, call)
    assert response.content.startswith("I have no answer to exactly this question")
    assert named in response.content
    assert json.loads(response.tool_calls_made[0].result)["type"] == "validation_error"


@pytest.mark.parametrize("how", ["Plot", "Draw a chart of:", "Summarize:"])
async def test_how_to_show_an_answer_is_not_a_condition(opened: Opened, how: str) -> None:
    assert (await answer(opened, f"{how} {ASK}", compare())).content == "The answer."
    response = await answer(opened, f"{how} {ASK}", compare(**FOR_1001))
    assert "company: 1001; the question does not" in response.content


async def test_a_corrected_call_is_answered(opened: Opened) -> None:
    response = await answer(opened, f"For company 1001, {ASK}", compare(), compare(**FOR_1001))
    assert response.content == "The answer."


async def test_two_calls_may_share_a_list(opened: Opened) -> None:
    calls = [
        scripted_call("query_source", source="fi_reporting", measures=["amount"], filters=each)
        for each in ({"company": "1001"}, {"company": "1002"})
    ]
    question = "amount of fi_reporting for companies 1001 and 1002"
    assert (await answer(opened, question, *calls)).content == "The answer."
    assert "1002" in (await answer(opened, question, calls[0])).content


FIGURES = "The total is 2,172,539.90 EUR."


@pytest.mark.parametrize(
    "question",
    ["Why?", "And excluding reversals?", "List the 3 largest differences", f"In Q1 2024, {ASK}"],
)
async def test_figures_without_a_call_for_the_question_are_no_answer(
    opened: Opened, question: str
) -> None:
    agent = Agent(ScriptedModel([compare(), FIGURES, FIGURES]), *opened)
    first, conversation = await agent.process(ASK)
    assert first.content == FIGURES
    second, _ = await agent.process(question, conversation)
    assert second.content.startswith("I have no answer to exactly this question")
    assert "no tool was called" in second.content


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Summarize that", FIGURES),
        ("Thanks!", "You are welcome."),
        ("Why?", "Which of the two differences do you mean?"),
        ("What is special about company 1001?", "I know nothing else about company 1001."),
    ],
)
async def test_talk_without_new_figures_needs_no_call(
    opened: Opened, question: str, answer: str
) -> None:
    agent = Agent(ScriptedModel([compare(), FIGURES, answer]), *opened)
    _, conversation = await agent.process(ASK)
    second, _ = await agent.process(question, conversation)
    assert second.content == answer


async def test_a_misspelt_name_may_be_corrected_by_the_model(opened: Opened) -> None:
    response = await answer(opened, "compare amonts of fi_report and bpc_reporting", compare())
    assert response.content == "The answer."


async def test_an_answer_has_the_scope_of_its_call(opened: Opened) -> None:
    response = await answer(opened, f"For company 1001, {ASK}", compare(**FOR_1001))
    results = [json.loads(call.result) for call in response.tool_calls_made]
    [[*parts, time]] = scopes_of(results)
    assert parts == [
        "fi_reporting and bpc_reporting",
        "amount",
        "company: 1001",
        "all of period",
        "by company, period",
        "match within 0.01 EUR and 0.01 %",
    ]
    assert time.startswith("as of 20")
