"""The grounding step that every model goes through."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from skillian.chat.agent import Agent, Conversation, respond
from skillian.chat.check.grounded import Grounded
from skillian.chat.opening import read_vocabulary
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.demo.ledger import write_demo
from skillian.offline.language.vocabulary import Vocabulary
from skillian.skills.discovery import load_registry
from skillian.skills.registry import SkillRegistry
from tinyagent import (
    Message,
    RunFinished,
    ScriptedModel,
    TextDelta,
    ToolCall,
    Usage,
    scripted_call,
)
from tinyagent.core import ModelRequest, ModelResponse, RawToolCall
from tinyagent.core.context import RunControl

Opened = tuple[SkillRegistry, Vocabulary]
BOTH: dict[str, Any] = {
    "source_a": "fi_reporting",
    "source_b": "bpc_reporting",
    "measures": ["amount"],
}
ASK = "Compare amounts between fi_reporting and bpc_reporting"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture
async def opened(sources: Path) -> AsyncGenerator[Opened, None]:
    async with DataServices(SourceRegistry.load(sources)) as services:
        skills = load_registry(services)
        yield skills, await read_vocabulary(services)


async def result_of(
    opened: Opened, question: str, call: RawToolCall, before: Conversation | None = None
) -> dict[str, Any]:
    agent = Agent(ScriptedModel([call, "Done."]), *opened)
    response, _ = await agent.process(question, before)
    result: dict[str, Any] = json.loads(response.tool_calls_made[0].result)
    return result


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        (f"{ASK} for company 9999", {"company": "9999"}),
        (f"{ASK} for company 1001", {"company": "1001"}),
        (f"{ASK} for companies 1001 and 1002", {"company": ["1002", 1001]}),
        (f"{ASK} from 2024001 to 2024003", {"period": {"gte": "2024001", "lte": "2024003"}}),
        (ASK, {"company": None}),
        (ASK, {"period": {"between": ["2024001", "2025012"]}}),  # the data may end before
    ],
)
async def test_a_value_of_the_question_or_the_catalogue_is_allowed(
    opened: Opened, question: str, filters: dict[str, Any]
) -> None:
    result = await result_of(
        opened, question, scripted_call("compare_sources", **BOTH, filters=filters)
    )
    assert "summary" in result


@pytest.mark.parametrize(
    "filters",
    [
        {"company": "9999"},
        {"company": ["1001", "100"]},
        {"period": {"gte": "2023-01-01"}},
        {"period": {"ne": ["2024001", "2030001"]}},
    ],
)
async def test_an_invented_value_is_refused_with_the_reason(
    opened: Opened, filters: dict[str, Any]
) -> None:
    call = scripted_call("compare_sources", **BOTH, filters=filters)
    result = await result_of(opened, f"{ASK} for company 1001", call)
    assert result["type"] == "validation_error"
    assert "neither the user's questions nor the catalogue" in result["message"]


QUERY = scripted_call(
    "query_source", source="fi_reporting", measures=["amount"], dimensions=["account"], limit=1
)
BOTH_SIDES = scripted_call("compare_sources", **BOTH)
OF_1001 = scripted_call("compare_sources", **BOTH, align_on=["period"], filters={"company": "1001"})


@pytest.mark.parametrize(
    ("call", "reply", "first", "added"),
    [
        (QUERY, "Here it is.", "", "account: 400000"),
        (QUERY, "", "", "account: 400000"),
        (QUERY, "It is 77.", "", ""),  # which is marked as unverified
        (QUERY, "Account 400000 is the first.", "", ""),
        (QUERY, "Do you mean the first account?", "", ""),
        (BOTH_SIDES, "They agree.", "difference -140,305.79 EUR\n\n", "- company 1001"),
        (BOTH_SIDES, "bpc is higher by 140,305.79.", "difference -140,305.79 EUR\n\n", ""),
        (BOTH_SIDES, "All 77 match. What else?", "difference -140,305.79 EUR\n\n", ""),
        (OF_1001, "Here it is for company 1001.", "7 of 12 groups match", "period 2024004"),
        (OF_1001, "Most of company 1001 is in 2024004.", "7 of 12 groups match", ""),
    ],
)
async def test_an_answer_has_the_verdict_before_it_and_the_result_below_if_it_says_nothing(
    opened: Opened, call: RawToolCall, reply: str, first: str, added: str
) -> None:
    question = "The first account of fi_reporting by amount" if call is QUERY else ASK
    question += " for company 1001" if call is OF_1001 else ""
    agent = Agent(ScriptedModel([call, reply]), *opened)
    events = [event async for event in agent.stream(question)]
    [finished] = [event for event in events if isinstance(event, RunFinished)]
    answer = respond(finished.result).content
    before, _, after = answer.partition(reply) if reply else ("", "", answer)
    assert (first in before) if first else (before == "")
    assert (added in after) if added else (after == "")
    streamed = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert streamed.strip() == answer


async def test_the_verdicts_of_several_comparisons_name_their_questions(opened: Opened) -> None:
    calls = [
        scripted_call("compare_sources", **BOTH, filters={"company": company})
        for company in ("1001", "1002")
    ]
    agent = Agent(ScriptedModel([*calls, "They agree."]), *opened)
    response, _ = await agent.process("Do fi_reporting and bpc_reporting agree for 1001, 1002?")
    for company in ("1001", "1002"):
        assert f"for company {company}: " in response.content


@pytest.mark.parametrize(
    ("question", "replies", "expected"),
    [
        (f"{ASK} for company 1001", [scripted_call("compare_sources", **BOTH)], "- for company 1"),
        (ASK, [scripted_call("nothing", a=1)], "difference -140,305.79 EUR"),
        (ASK, [scripted_call("list_sources")], "difference -140,305.79 EUR"),
        (ASK, [scripted_call("compare_sources", **BOTH)], "Computed: "),
        (ASK, ['I would call compare_sources(filters={"a": 1}).'], "difference -140,305.79 EUR"),
        (ASK, ['```json\n{"tool": "compare_sources"}\n```'], "difference -140,305.79 EUR"),
        ("Is the revenue of fi_reporting ok", ["I would call query_source."], "no tool was called"),
    ],
)
async def test_a_model_that_never_ends_or_only_describes_a_call_is_answered_for(
    opened: Opened, question: str, replies: list[RawToolCall | str], expected: str
) -> None:
    response, _ = await Agent(ScriptedModel(replies * 10), *opened).process(question)
    assert response.finished
    assert expected in response.content


@pytest.mark.parametrize(
    "changed",
    [
        {"source_b": {"company": ["1001"]}},
        {"source_a": [1], "measures": [["amount"]]},
        {"measures": {"a": 1}, "align_on": [{"a": 1}]},
        {"thresholds": {"match": {"absolute": [1]}}, "filters": [[1]]},
        {"thresholds": {"match": 5}, "limit": {"a": []}, "order": [{}]},
    ],
)
async def test_arguments_of_any_form_are_refused_by_the_tool(
    opened: Opened, changed: dict[str, Any]
) -> None:
    result = await result_of(
        opened, f"{ASK} for company 1001", scripted_call("compare_sources", **(BOTH | changed))
    )
    assert result["type"] == "validation_error"


async def test_a_value_of_the_conversation_is_known_and_a_refused_one_is_not(
    opened: Opened,
) -> None:
    wrong = scripted_call("query_source", source="fi_reporting", filters={"account": "9999"})
    agent = Agent(ScriptedModel([wrong, wrong, "None.", "Yes."]), *opened)
    response, conversation = await agent.process("What is on the accounts?")
    results = [json.loads(call.result)["type"] for call in response.tool_calls_made]
    assert results == ["validation_error", "validation_error"]
    _, conversation = await agent.process("I mean account 9999", conversation)
    right = scripted_call(
        "query_source", source="fi_reporting", measures=["amount"], filters={"account": "9999"}
    )
    assert "rows" in await result_of(opened, "Now show it", right, conversation)


async def test_the_request_is_the_same_for_each_question_and_owner(opened: Opened) -> None:
    requests: list[str] = []
    for question in (f"{ASK} by company", "Hello", f"{ASK} in Atlantis"):
        model = ScriptedModel(["Which do you mean?"])
        await Agent(model, *opened).process(question)
        [request] = model.requests
        requests.append(json.dumps([request.messages[0].to_dict(), list(request.format.tools)]))
    assert len({*requests}) == 1


async def test_an_answer_that_was_cut_off_is_not_shown(opened: Opened) -> None:
    cut = ModelResponse("The total is 2,172,5", (), Usage(), "length", "m")
    agent = Agent(ScriptedModel([BOTH_SIDES, cut]), *opened)
    response, _ = await agent.process(ASK)
    assert "The total is" not in response.content
    assert "cut off" in response.content
    assert "difference -140,305.79 EUR" in response.content


async def test_figures_are_not_invented_if_any_tool_of_the_turn_has_answered(
    opened: Opened,
) -> None:
    question = "How many amounts?"
    invented, _ = await Agent(ScriptedModel(["There are 4,711."]), *opened).process(question)
    assert "no tool was called" in invented.content
    listed = scripted_call("list_sources")
    response, _ = await Agent(ScriptedModel([listed, "There are 2."]), *opened).process(question)
    assert response.content == "There are 2."
    refused = scripted_call("list_sources", source="none")
    response, _ = await Agent(ScriptedModel([refused, "There are 2."]), *opened).process(question)
    assert "no tool was called" in response.content


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"total_in_a": 4711, "interpretation": ["All match."]}, "All match.\n\nIt is 4,711."),
        ({"error": True, "type": "validation_error"}, "- for company 1001"),
    ],
)
async def test_a_turn_that_another_process_began_knows_its_calls(
    opened: Opened, result: dict[str, Any], expected: str
) -> None:
    question = f"{ASK} for company 1001"
    filters = {} if "error" in result else {"filters": {"company": "1001"}}
    call = ToolCall("a", "compare_sources", {**BOTH, **filters})
    before = (
        Message("user", question),
        Message("assistant", "", (call,)),
        Message("tool", json.dumps(result), tool_call_id="a"),
    )

    async def ask(_: ModelRequest) -> ModelResponse:
        return ModelResponse("It is 4,711.")

    run = RunControl(question, 1, {}, started=0)
    response = await Grounded(opened[1]).steer(run).model_call(ModelRequest(before), ask)
    assert expected in (response.content or "")
