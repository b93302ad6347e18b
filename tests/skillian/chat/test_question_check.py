"""What a language model leaves out of a call, or adds to it, never becomes an unmarked answer."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from skillian.chat.agent import Agent, AgentResponse
from skillian.chat.check.grounded import offers_of
from skillian.chat.check.question_check import Turn, merged
from skillian.chat.opening import read_vocabulary
from skillian.chat.scope import PLANNED, scopes_of
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.demo.ledger import write_demo
from skillian.offline.earlier import Earlier
from skillian.offline.language.vocabulary import DimensionWords, SourceWords, Vocabulary
from skillian.offline.planner import NOT_UNDERSTOOD, OfflinePlanner
from skillian.skills.discovery import load_registry
from skillian.skills.registry import SkillRegistry
from tinyagent import (
    RunFinished,
    ScriptedModel,
    TextDelta,
    ToolCall,
    ToolFinished,
    scripted_call,
)
from tinyagent.core import RawToolCall

Opened = tuple[SkillRegistry, Vocabulary]
Call = dict[str, Any]
BOTH: Call = {"source_a": "fi_reporting", "source_b": "bpc_reporting", "measures": ["amount"]}
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


def query(**arguments: Any) -> RawToolCall:
    known: Call = {"source": "fi_reporting", "measures": ["amount"], **arguments}
    return scripted_call("query_source", **known)


async def answer(opened: Opened, question: str, *script: Any) -> AgentResponse:
    response, _ = await Agent(ScriptedModel([*script, "The answer."]), *opened).process(question)
    return response


def marks(response: AgentResponse) -> list[str]:
    scopes = scopes_of(json.loads(call.result) for call in response.tool_calls_made)
    return [part for part in chain(*scopes) if part.startswith(("not used", "chosen"))]


@pytest.mark.parametrize(
    ("question", "call", "named"),
    [
        (f"For company 1001, {ASK}", compare(), "For company 1001"),
        (f"{ASK}, excluding company 1001", compare(**FOR_1001), "excluding company 1001"),
        (f"In Q1 2024, {ASK}", compare(), "In Q1 2024"),
        (f"{ASK} without reversals", compare(), "without reversals"),
        (
            f"{ASK} for company 1001 or account 400000",
            compare(**FOR_1001),
            "for company 1001 or account 400000",
        ),
        (
            f"{ASK} for company 1001 or account 400000",
            compare(filters={"company": "1001", "account": "400000"}),
            "for company 1001 or account 400000",
        ),
        ("Top 2 companies of fi_reporting by amount", query(dimensions=["company"]), "Top"),
        ("Top 2 companies of fi_reporting by amount", compare(align_on=["company"]), "Top"),
        (
            "Excluding account 400000, what did company 1001 cost us in fi_reporting",
            query(filters={"account": {"ne": "400000"}, "company": {"ne": "1001"}}),
            "company 1001",
        ),
        (
            "amount of fi_reporting, I mean month 2024002 only",
            query(filters={"period": {"gte": "2024002"}}),
            "month 2024002 only",
        ),
        (
            "amount of fi_reporting when company 1001 is excluded",
            query(**FOR_1001),
            "company 1001 is excluded",
        ),
    ],
)
async def test_a_call_without_a_part_that_changes_numbers_becomes_a_question_back(
    opened: Opened, question: str, call: RawToolCall, named: str
) -> None:
    response = await answer(opened, question, call)
    assert f"\n- {named}" in response.content
    assert len(offers_of(response.content, NOT_UNDERSTOOD)) >= 2
    assert json.loads(response.tool_calls_made[0].result)["type"] == "validation_error"


async def test_the_readings_say_the_part_plainly_and_leave_it_out(opened: Opened) -> None:
    response = await answer(opened, f"For company 1001, {ASK}", compare())
    readings = [f"{ASK}, For company 1001", ASK]
    assert offers_of(response.content, NOT_UNDERSTOOD) == readings
    assert offers_of(response.content, "stop") == []  # a model may write the same lines


@pytest.mark.parametrize(
    ("question", "call", "mark"),
    [
        (f"Per account, {ASK}", compare(), "not used: by account"),
        (f"With a tolerance of 5 euros, {ASK}", compare(), "not used: tolerance 5"),
        (
            f"With a tolerance of 5 dollars, {ASK}",
            compare(thresholds={"match": {"absolute": 5}}),
            "not used: dollars",
        ),
        (
            f"Tolerance 0,5 %: {ASK}",
            compare(thresholds={"match": {"percentage": 5}}),
            "chosen by the model: tolerance 5 %",
        ),
        (ASK, compare(**FOR_1001), "chosen by the model: company: 1001"),
        (
            ASK,
            compare(thresholds={"match": {"absolute": 500}}),
            "chosen by the model: tolerance 500",
        ),
        (ASK, compare(align_on=["account"]), "chosen by the model: by account"),
        ("amount of fi_reporting", query(limit=7), "chosen by the model: the first 7 rows"),
        (f"{ASK}, net of VAT", compare(), "not used: VAT"),
        ("average amount of fi_reporting", query(), "not used: average"),
        ("Median amount of fi_reporting", query(), "not used: Median"),
        ("cumulative amount of fi_reporting", query(), "not used: cumulative"),
        (
            "amount of fi_reporting, ohne 1001",
            query(filters={"company": {"ne": "1001"}}),
            "chosen by the model: company: not 1001",
        ),
        ("documents of fi_reporting", query(), "not used: documents"),
        (
            "the highest amount by company of fi_reporting",
            query(dimensions=["company"]),
            "not used: order -amount",
        ),
        (
            "Best company of fi_reporting by amount",
            query(dimensions=["company"]),
            "not used: order amount, Best",
        ),
        (
            "Which company in fi_reporting had the most, honestly?",
            query(dimensions=["company"], order=["-amount"], limit=1),
            "chosen by the model: amount",
        ),
        (
            f"With a tolerance of 1001 EUR, {ASK}",
            compare(**FOR_1001, thresholds={"match": {"absolute": 1001}}),
            "chosen by the model: company: 1001",
        ),
    ],
)
async def test_other_differences_are_marks_in_the_scope(
    opened: Opened, question: str, call: RawToolCall, mark: str
) -> None:
    response = await answer(opened, question, call)
    assert "The answer." in response.content
    assert mark in marks(response)


async def test_a_change_of_the_last_question_that_is_left_out_is_offered_as_a_question(
    opened: Opened,
) -> None:
    agent = Agent(ScriptedModel([query(**FOR_1001), "Done.", query(), "Done."]), *opened)
    _, conversation = await agent.process("amount of fi_reporting for company 1001")
    response, _ = await agent.process("also 1002", conversation)
    [offer] = offers_of(response.content, NOT_UNDERSTOOD)
    assert offer == "Show amount of fi_reporting, for company 1001 and 1002"


async def test_a_corrected_call_is_answered(opened: Opened) -> None:
    response = await answer(opened, f"For company 1001, {ASK}", compare(), compare(**FOR_1001))
    assert "The answer." in response.content
    assert not marks(response)


async def test_a_negation_that_only_the_model_reads_is_not_lost(opened: Opened) -> None:
    question = "amount of fi_reporting that isn't of company 1001"
    response = await answer(opened, question, query(filters={"company": {"ne": "1001"}}))
    assert response.content.startswith("The answer.")
    assert "1001" in (await answer(opened, question, query(**FOR_1001))).content


async def test_a_condition_that_the_user_drops_is_not_kept_without_a_mark(opened: Opened) -> None:
    question = "Please drop the company condition: all companies"
    made: list[list[str]] = []
    for call in (query(), query(**FOR_1001)):
        agent = Agent(ScriptedModel([query(**FOR_1001), "Done.", call, "The answer."]), *opened)
        _, conversation = await agent.process("amount of fi_reporting for company 1001")
        made.append(marks((await agent.process(question, conversation))[0]))
    assert made == [[], ["chosen by the model: company: 1001"]]


def test_a_measure_that_is_also_a_verb_is_used() -> None:
    customers = DimensionWords(is_open=True)
    words = Vocabulary({"erp": SourceWords({"charge": ("cost",)}, {"customer": customers})})
    call: Call = {"source": "erp", "measures": ["charge"], "dimensions": ["customer"]}
    ranked = merged("query_source", {**call, "order": ["-charge"], "limit": 5}, Earlier())
    question = "Give me the five customers that cost the most in erp"
    assert Turn(question, words, [ranked]).losses() == []


@pytest.mark.parametrize(
    ("question", "filters", "is_lost"),
    [
        ("in 2024", {"month": {"gte": "2024-01", "lte": "2024-12"}}, False),
        ("in 2024", {"cohort": "2024"}, False),
        ("in 2024", {}, True),
        ("in 2024", {"month": "2025-01"}, True),
        ("after 2024", {"month": {"gte": "2025-01"}}, False),
    ],
)
def test_a_year_that_is_also_a_value_may_be_either(
    question: str, filters: Call, *, is_lost: bool
) -> None:
    months = tuple(f"{year}-{month:02d}" for year in (2024, 2025) for month in range(1, 13))
    known = {"month": months, "cohort": ("2023", "2024")}
    words = SourceWords({"fees": ()}, {n: DimensionWords((), of) for n, of in known.items()})
    call: Call = {"source": "ledger", "measures": ["fees"], "filters": filters}
    made = [merged("query_source", call, Earlier())]
    losses = Turn(f"fees of ledger {question}", Vocabulary({"ledger": words}), made).losses()
    assert any(each.readings for each in losses) == is_lost


def test_a_measure_that_the_user_denies_is_not_lost() -> None:
    words = SourceWords({"fees": (), "tax": ()}, {"plant": DimensionWords(is_open=True)})
    vocabulary = Vocabulary({"ledger": words})
    call: Call = {"source": "ledger", "measures": ["fees"], "dimensions": ["plant"]}
    made = [merged("query_source", call, Earlier())]
    question = "Sorry, I meant fees, not tax: ledger by plant"
    assert Turn(question, vocabulary, made).losses() == []


@pytest.mark.parametrize("limit", [None, 3])
@pytest.mark.parametrize("question", ["drop fees: by kind", "tax and rent by kind"])
def test_a_change_of_an_ordered_answer_that_the_planner_would_ask_back_holds_nothing_up(
    question: str, limit: int | None
) -> None:
    known = DimensionWords((), ("A1", "B2"))
    words = SourceWords({"fees": (), "tax": (), "rent": ()}, {"plant": known, "kind": known})
    order = {"order": ["-fees"]} | ({"limit": limit} if limit else {})
    call: Call = {"source": "ledger", "measures": ["fees"], "dimensions": ["plant"], **order}
    earlier = Earlier(ToolCall("1", "query_source", call), sources=("ledger",))
    answer: Call = {"source": "ledger", "measures": ["tax", "rent"], "dimensions": ["kind"]}
    made = [merged("query_source", answer, earlier)]
    turn = Turn(question, Vocabulary({"ledger": words}), made, earlier)
    assert [each.text for each in turn.losses() if each.readings] == []


async def test_two_calls_may_share_a_list(opened: Opened) -> None:
    calls = [query(filters=each) for each in ({"company": "1001"}, {"company": "1002"})]
    question = "amount of fi_reporting for companies 1001 and 1002"
    assert (await answer(opened, question, *calls)).content.startswith("The answer.")
    assert "1002" in (await answer(opened, question, calls[0])).content


async def test_only_the_last_call_says_what_the_turn_did_not_use(opened: Opened) -> None:
    question = "amount and documents of fi_reporting and fi_reporting by company"
    first = query(dimensions=["company"])
    both = await answer(opened, question, first, query(measures=["documents"]))
    assert not marks(both)
    assert marks(await answer(opened, question, first)) == ["not used: documents"]


FIGURES = "The total is 123,456.78 EUR."


async def test_figures_without_a_call_for_the_question_are_no_answer(opened: Opened) -> None:
    agent = Agent(ScriptedModel([compare(), "Done.", FIGURES]), *opened)
    _, conversation = await agent.process(ASK)
    second, _ = await agent.process("And excluding reversals?", conversation)
    assert "no tool was called" in second.content


@pytest.mark.parametrize(
    "question",
    [
        "Why?",
        "List the 3 largest differences",
        f"In Q1 2024, {ASK}",
        "Amount of fi_reporting by company",
        "Why do the amounts of fi_reporting and bpc_reporting differ for company 1001?",
    ],
)
@pytest.mark.parametrize(
    "replies",
    [
        [FIGURES],
        ["I need to call a function to find the amount."],
        [query(source="sales"), "There is no source sales."],
    ],
    ids=["figures", "words", "an unknown source"],
)
async def test_the_planner_answers_if_a_model_makes_no_valid_call_and_asks_nothing(
    opened: Opened, question: str, replies: list[Any]
) -> None:
    agent = Agent(ScriptedModel([compare(), "Done.", *replies]), *opened)
    _, conversation = await agent.process(ASK)
    expected, _ = await Agent(OfflinePlanner(opened[1]), *opened).process(question, conversation)
    events = [each async for each in agent.stream(question, conversation)]
    finished = [each.result for each in events if isinstance(each, ToolFinished)]
    planned = [(each.tool, each.arguments) for each in expected.tool_calls_made]
    made = [(each.call.name, each.call.arguments) for each in finished]
    assert made[-len(planned) :] == planned
    assert isinstance(events[-1], RunFinished)
    assert events[-1].result.output == expected.content
    deltas = [each for each in events if isinstance(each, TextDelta)]
    assert deltas[-1].kind == "restart"


async def test_the_planner_answers_if_a_model_repeats_an_unreadable_call(
    opened: Opened,
) -> None:
    reply = '{{"name": "query_source", "arguments": {}}}'
    model = ScriptedModel([reply, reply], name="a-model-1.5b")
    response, _ = await Agent(model, *opened).process("Amount of fi_reporting by company")
    assert [each.tool for each in response.tool_calls_made] == ["query_source"]
    assert response.content.startswith("fi_reporting:")
    assert json.loads(response.tool_calls_made[0].result)["scope"][-1] == PLANNED


async def test_figures_of_an_earlier_answer_are_no_answer_to_a_new_question(
    opened: Opened,
) -> None:
    said = "The difference is 192,258.87 EUR."
    agent = Agent(ScriptedModel([compare(), "Done.", said, said]), *opened)
    _, conversation = await agent.process(ASK)
    again, conversation = await agent.process("Summarize that", conversation)
    assert again.content == said
    other, _ = await agent.process(f"In the year that Anna means, {ASK}", conversation)
    assert "no tool was called" in other.content


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Thanks!", "You are welcome."),
        ("Why?", "Which of the two differences do you mean?"),
        ("What is special about company 1001?", "I know nothing else about company 1001."),
    ],
)
async def test_talk_without_new_figures_needs_no_call(
    opened: Opened, question: str, answer: str
) -> None:
    agent = Agent(ScriptedModel([compare(), "Done.", answer]), *opened)
    _, conversation = await agent.process(ASK)
    second, _ = await agent.process(question, conversation)
    assert second.content == answer


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
