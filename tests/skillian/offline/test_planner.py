from __future__ import annotations

import json
from typing import Any

import pytest

from skillian.offline.calls import PlannedCall
from skillian.offline.earlier import Earlier
from skillian.offline.language.vocabulary import DimensionWords, SourceWords, Vocabulary
from skillian.offline.planner import NAME, OfflinePlanner
from tinyagent import Memory, ToolCall
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse

WORDS = SourceWords(
    {"amount": (), "documents": ()},
    {
        "company": DimensionWords((), ("1001", "1002")),
        "period": DimensionWords((), ("2024001", "2024002")),
    },
)
PLANNER = OfflinePlanner(Vocabulary({"fi_reporting": WORDS, "bpc_reporting": WORDS}))


def asked(question: str) -> ModelRequest:
    memory = Memory()
    memory.add("system", "...")
    memory.add("user", question)
    return ModelRequest(memory.messages)


def answered(question: str, call: ToolCall, *results: dict[str, Any]) -> ModelRequest:
    memory = Memory(asked(question).messages)
    for result in results:
        memory.add("assistant", "", tool_calls=[call])
        memory.add("tool", json.dumps(result), tool_call_id=call.id)
    return ModelRequest(memory.messages)


async def plan(question: str) -> tuple[str, dict[str, Any]]:
    response = await PLANNER.complete(asked(question))
    assert len(response.tool_calls) == 1, response.content
    return response.tool_calls[0].name, json.loads(response.tool_calls[0].arguments)


async def test_a_comparison() -> None:
    name, arguments = await plan(
        "Compare amounts between fi_reporting and bpc_reporting for company 1001 by period"
    )
    assert name == "compare_sources"
    assert arguments == {
        "source_a": "fi_reporting",
        "source_b": "bpc_reporting",
        "measures": ["amount"],
        "align_on": ["period"],
        "filters": {"company": "1001"},
    }


async def test_a_comparison_without_a_measure_takes_those_both_sources_have() -> None:
    _, arguments = await plan("difference between bpc_reporting and fi_reporting")
    assert arguments["measures"] == ["amount", "documents"]
    assert arguments["source_a"] == "bpc_reporting"


async def test_a_question_about_one_source() -> None:
    assert await plan("documents of fi_reporting by company for 2024001") == (
        "query_source",
        {
            "source": "fi_reporting",
            "measures": ["documents"],
            "dimensions": ["company"],
            "filters": {"period": "2024001"},
        },
    )


@pytest.mark.parametrize("question", ["Which sources are there?", "list the available sources"])
async def test_what_there_is(question: str) -> None:
    assert await plan(question) == ("list_sources", {})


@pytest.mark.parametrize("question", ["What is the weather?", "compare", "", "amount"])
async def test_an_unread_question_is_answered_with_possible_ones(question: str) -> None:
    response = await PLANNER.complete(asked(question))
    assert not response.tool_calls
    assert response.content is not None
    assert "You can ask" in response.content
    assert "fi_reporting" in response.content


@pytest.mark.parametrize("words", [("fi_reports",), ("sales", "inventory")])
async def test_a_source_that_there_is_not_is_named_and_not_guessed(words: tuple[str, ...]) -> None:
    sources = " and ".join(words if len(words) > 1 else (*words, "bpc_reporting"))
    response = await PLANNER.complete(asked(f"Compare amounts between {sources}"))
    assert not response.tool_calls
    assert response.content is not None
    reason, *others = response.content.split("\n")
    assert all(word in reason for word in words)
    assert "fi_reporting" in "".join(others)


@pytest.mark.parametrize(
    "question",
    [
        "Compare amounts between fi_reporting and bpc_reporting excluding Germany",
        "Compare profit between fi_reporting and bpc_reporting",
        "average amount of fi_reporting",
        "amount of fi_reporting for periods 2024001 to 9x",
        "Compare amounts by company and period with Berlin",
        "limit differences",
        "show first difference",
    ],
)
async def test_only_the_actual_question_is_answered(question: str) -> None:
    response = await PLANNER.complete(asked(question))
    assert not response.tool_calls
    assert response.content is not None
    assert "did not understand" in response.content


async def test_several_values_become_a_list() -> None:
    _, arguments = await plan("amount of fi_reporting for companies 1001 and 1002")
    assert arguments["filters"] == {"company": ["1001", "1002"]}


async def test_a_result_that_was_cut_is_not_shown_as_broken_json() -> None:
    memory = Memory(asked("Compare fi_reporting with bpc_reporting").messages)
    memory.add("assistant", "", tool_calls=[ToolCall("1", "compare_sources", {})])
    memory.add("tool", '{"summary": {"gro [... left out ...] }}', tool_call_id="1")
    response = await PLANNER.complete(ModelRequest(memory.messages))
    assert response.content is not None
    assert "too long to put in words" in response.content


async def test_correcting_sources_ends() -> None:
    not_found = {
        "error": True,
        "type": "not_found",
        "message": "there is no source 'x'",
        "available_sources": ["fi_reporting"],
    }
    call = ToolCall("1", "compare_sources", {"source_a": "x", "source_b": "y", "measures": []})
    request = answered("compare x with y", call, not_found, not_found, not_found)
    response = await PLANNER.complete(request)
    assert not response.tool_calls
    assert response.content is not None
    assert "there is no source 'x'" in response.content
    assert "fi_reporting" in response.content


async def test_the_planner_says_what_it_is() -> None:
    assert PLANNER.name == NAME == "offline planner, no language model"
    assert (await PLANNER.complete(asked("hello"))).model == NAME


async def test_streaming_ends_with_the_whole_answer() -> None:
    items = [item async for item in PLANNER.stream(asked("hello"))]
    assert isinstance(items[-1], ModelResponse)
    deltas = [item.text for item in items if isinstance(item, ModelDelta)]
    assert "".join(deltas) == items[-1].content


UNITS = Vocabulary(
    {
        name: SourceWords(
            {"val_eur": (), "liveKg": (), "rows": (), "amount": ()},
            {"port": DimensionWords((), ("Cork", "Bergen"))},
        )
        for name in ("landings", "notes")
    }
)


@pytest.mark.parametrize(
    ("question", "is_read"),
    [
        ("val eur of landings in euros", True),
        ("val eur of landings in dollars", False),
        ("live kg of landings by port in $", False),
        ("compare val eur between landings and notes, tolerance 5 euros", True),
        ("compare val eur between landings and notes, tolerance 5 dollars", False),
        ("compare live kg between landings and notes, ignore cents", False),
        ("compare rows between landings and notes, under 5 euros is fine", False),
        ("compare amounts between landings and notes, tolerance 5 euros", True),
    ],
)
async def test_a_unit_may_be_in_the_name_of_a_measure(question: str, *, is_read: bool) -> None:
    response = await OfflinePlanner(UNITS).complete(asked(question))
    assert bool(response.tool_calls) == is_read, response.content


def test_a_source_without_measures_is_not_offered_a_query_of_nothing() -> None:
    rows = SourceWords({}, {"flag": DimensionWords((), ("True", "False"))})
    planner = OfflinePlanner(Vocabulary({"ra": rows, "rb": rows}))
    for question in (
        "how many rows does ra have?",
        "show ra",
        "Show ra by flag",
        "ra for flag True",
    ):
        assert isinstance(planner.plan(question, Earlier()), str)
        assert planner.offers(question, Earlier()) == ()
    assert planner.plan("Show flag of ra", Earlier()) == PlannedCall(
        "query_source", {"source": "ra", "dimensions": ["flag"]}
    )
