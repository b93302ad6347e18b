"""Each follow-up that is offered is answered, without a model, by the call that it promises."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.customers import write_customers

from skillian.chat.agent import AgentResponse
from skillian.chat.direct import direct_message
from skillian.chat.opening import open_agent, read_vocabulary
from skillian.chat.questions import MOST, PastCall, follow_ups
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.demo.ledger import write_demo
from skillian.offline.language.vocabulary import DimensionWords, SourceWords, Vocabulary

PAIR = "fi_reporting and bpc_reporting"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo(tmp_path_factory.mktemp("demo"))


def calls_of(response: AgentResponse) -> list[PastCall]:
    return [
        PastCall(call.tool, call.arguments, json.loads(call.result))
        for call in response.tool_calls_made
    ]


async def offered(sources: Path, question: str, hidden: Sequence[str] = ()) -> list[str]:
    """The labels of the follow-ups, after each was asked and answered."""
    async with DataServices(SourceRegistry.load(sources)) as services:
        vocabulary = await read_vocabulary(services)
    async with open_agent(sources, None) as agent:
        response, conversation = await agent.process(question)
        each = follow_ups(calls_of(response), vocabulary, hidden)
        stored = conversation.to_list()
        for one in each:
            answer, _ = await agent.process(one.question, conversation.from_list(stored))
            [call] = answer.tool_calls_made
            assert one.call is not None
            assert (call.tool, call.arguments) == (one.call.tool, one.call.arguments)
            assert answer.finished
            assert '"error": true' not in call.result
    assert len(each) <= MOST
    return [one.label for one in each]


@pytest.mark.parametrize(
    ("question", "labels"),
    [
        (
            f"Compare amounts between {PAIR} for company 1001",
            ["Why", "Only period 2024004, by account", "Show the rows behind", "By account"],
        ),
        (
            f"Compare amounts between {PAIR}",
            ["Why", "Only company 1001", "Show the rows behind", "By account"],
        ),
        (
            f"Compare amounts between {PAIR} by company",
            ["Why", "Only company 1001, by period", "Show the rows behind", "By period"],
        ),
        (
            f"Why do {PAIR} differ in amount?",
            ["Why", "Only company 1001", "Show the rows behind", "By account"],
        ),
        (
            f"Compare amounts between {PAIR} for company 1002 and period 2024002",
            ["By account", "By cost_centre"],
        ),
        (
            "Show the amount of fi_reporting by company",
            ["Compare with bpc_reporting", "By period", "By account", "By cost_centre"],
        ),
        (
            "top 2 accounts by amount in fi_reporting for companies 1001 and 1002",
            ["Compare with bpc_reporting", "By company", "By period", "By cost_centre"],
        ),
        (
            "amount of fi_reporting since 2024006 by company",
            ["Compare with bpc_reporting", "By period", "By account", "By cost_centre"],
        ),
        ("Show the amount of fi_reporting for company 9999", []),
        ("Which companies are in fi_reporting?", []),
        ("Which sources are there?", []),
    ],
)
async def test_the_demo(demo: Path, question: str, labels: list[str]) -> None:
    assert await offered(demo, question) == labels


async def test_whole_rows(tmp_path: Path) -> None:
    sides = {"source_a": "customers", "source_b": "customers_copy"}
    question = direct_message("Whole rows", "compare_sources", sides)
    labels = await offered(write_customers(tmp_path), question)
    only = ["Only in customers", "Only in customers_copy"]
    assert labels == ["Why", "Show the rows that differ", *only]
    assert await offered(tmp_path / "sources.yaml", question, ["customers"]) == ["Why"]


async def test_rows_that_only_a_person_may_read_are_not_offered(demo: Path, tmp_path: Path) -> None:
    question = f"Compare amounts between {PAIR} by company"
    labels = await offered(demo, question, hidden=["bpc_reporting"])
    assert labels == ["Why", "Only company 1001, by period", "By period", "By account"]


def test_a_question_that_the_planner_does_not_understand_is_not_offered() -> None:
    names = {name: DimensionWords(()) for name in ("unit", "Unit", "day")}
    words = SourceWords({"sum": ()}, names)
    call = PastCall(
        "query_source",
        {"source": "a", "measures": ["sum"]},
        {"measures": ["sum"], "rows": [[1]]},
    )
    labels = [each.label for each in follow_ups([call], Vocabulary({"a": words}))]
    assert labels == ["By day"]
