"""Tools that are asked for by their phrases, with arguments found by name."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest
from pydantic import BaseModel

from skillian.offline.calls import Plan, PlannedCall
from skillian.offline.language.vocabulary import DimensionWords, SourceWords, ToolWords, Vocabulary
from skillian.offline.planner import OfflinePlanner
from skillian.offline.spoken import plan_spoken
from tinyagent import Memory
from tinyagent.core import ModelRequest


class Rate(StrEnum):
    CLOSING = "closing"
    AVERAGE = "average"


class Nothing(BaseModel):
    pass


class Contact(BaseModel):
    company: str
    year: int | None = None


class Exchange(BaseModel):
    currency: str
    rate: Rate
    days: int = 1


class Kind(BaseModel):
    kind: Rate | None = None


def words(model: type[BaseModel], *phrases: str) -> ToolWords:
    return ToolWords(phrases, model.model_json_schema())


VOCABULARY = Vocabulary(
    {"ledger": SourceWords({"amount": ()}, {"company": DimensionWords((), ("1001",))})},
    {
        "holidays": words(Nothing, "bank holidays"),
        "registered": words(Nothing, "sources are registered"),
        "find_contact": words(Contact, "who answers for", "contact for"),
        "exchange": words(Exchange, "exchange rate"),
        "kinds": words(Kind, "rate kinds", "kinds of exchange rate"),
    },
)


def planned(question: str) -> Plan | None:
    return plan_spoken(question, VOCABULARY)


@pytest.mark.parametrize(
    ("question", "tool", "arguments"),
    [
        ("Which bank holidays are there?", "holidays", {}),
        ("show me the Bank-Holidays, please", "holidays", {}),
        ("Who answers for company 1001?", "find_contact", {"company": "1001"}),
        ("who answers for 1001 ?", "find_contact", {"company": "1001"}),
        ("Who answers for the 'Head Office'?", "find_contact", {"company": "Head Office"}),
        ("contact for Head Office", "find_contact", {"company": "Head Office"}),
        (
            "contact for year 2024 and company = 1001",
            "find_contact",
            {"company": "1001", "year": 2024},
        ),
        (
            "What is the average exchange rate of currency USD for days 30?",
            "exchange",
            {"currency": "USD", "rate": "average", "days": 30},
        ),
        ("which kinds of exchange rate are there", "kinds", {}),
    ],
)
def test_a_phrase_calls_its_tool(question: str, tool: str, arguments: dict[str, Any]) -> None:
    assert planned(question) == PlannedCall(tool, arguments)


@pytest.mark.parametrize(
    "question",
    ["", "the bank has no holidays", "bank", "compare amounts", "who answers", "holidays bank"],
)
def test_no_phrase_no_tool(question: str) -> None:
    assert planned(question) is None


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("who answers for", "company"),
        ("exchange rate", "currency and rate"),
        ("average exchange rate", "currency"),
        ("bank holidays in Norway", "Norway"),
        ("not the bank holidays", "not"),
        ("exchange rate of currency USD, average, days many", "days"),
    ],
)
def test_missing_and_unread_words_are_reported(question: str, reason: str) -> None:
    plan = planned(question)
    assert isinstance(plan, str)
    assert reason in plan


async def answered(question: str) -> str:
    memory = Memory()
    memory.add("user", question)
    response = await OfflinePlanner(VOCABULARY).complete(ModelRequest(memory.messages))
    if response.tool_calls:
        return response.tool_calls[0].name
    return response.content or ""


async def test_the_planner_calls_it_unless_a_source_is_named() -> None:
    assert await answered("Which bank holidays are there?") == "holidays"
    assert await answered("Which sources are there?") == "list_sources"
    assert await answered("Which sources are registered?") == "registered"
    assert await answered("amount of ledger for company 1001") == "query_source"


async def test_the_planner_lists_possible_questions() -> None:
    body = await answered("What is the weather?")
    assert "I did not understand: weather." in body
    assert "- bank holidays …" in body
