"""A perfect model, and models that are wrong in one thing, over the questions of all domains."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
from tests.skillian.llm.asking import ask
from tests.skillian.llm.domains import DOMAINS, Asked, expected_call, questions, vocabulary_of

from skillian.chat.check.grounded import Grounded
from skillian.chat.check.question_check import CHECKED, Turn, merged
from skillian.offline.earlier import COMPARE, QUERY, Earlier, with_result
from skillian.offline.language.filters import admits, values_of
from skillian.offline.language.periods import spelt_out
from skillian.offline.language.vocabulary import Vocabulary
from tinyagent import Message, ScriptedModel, ToolCall, ToolResult, scripted_call
from tinyagent.core import ModelRequest
from tinyagent.core.context import RunControl

Call = dict[str, Any]
AT_MOST = 0.02
"""The share of right calls that may be held up, and of wrong ones that may be shown unmarked."""
MARKED = 0.05
"""The share of right calls of which something may be stated as the model's choice."""


def _turn(asked: Asked, call: tuple[str, Call], before: Earlier, vocabulary: Vocabulary) -> Turn:
    calls = [merged(*call, before)]
    return Turn(spelt_out(asked.question), vocabulary, calls, before)


def _right(domain: str, words: Vocabulary) -> Iterator[tuple[Asked, tuple[str, Call], Earlier]]:
    """Yield each question with its right call, after what the question before it called."""
    for asked in questions(domain):
        call = None if "refused" in asked.expected else expected_call(asked.expected)
        if call is None or call[0] not in CHECKED:
            continue
        before = Earlier()
        if asked.after:
            *first, last = asked.after
            said = Asked(domain, last, {}, tuple(first))
            name, arguments, _ = asyncio.run(ask(said, words))
            result: Call = {"cache_key": "cmp", "top_differences": []}
            past = ToolCall("c", name, arguments)
            before = with_result(Earlier(), past, json.dumps(result), result) if name else before
        yield asked, call, before


def _wrong(call: Call, tool: str, part: Vocabulary) -> Iterator[tuple[str, Call]]:
    """Yield calls that differ from a right one in one thing, with what is wrong."""
    yield from _wrong_filters(call, part)
    filters: Call = call.get("filters") or {}
    groups = "dimensions" if tool == QUERY else "align_on"
    by: list[str] = call.get(groups) or []
    others = [each for each in part.dimensions if each not in by and each not in filters]
    yield from (("group dropped", {**call, groups: [n for n in by if n != name]}) for name in by)
    yield from (("group added", {**call, groups: [*by, name]}) for name in others[-1:])
    if tool == QUERY:
        for column in call.get("order", ()):
            turned = column[1:] if column.startswith("-") else f"-{column}"
            yield "order turned", {**call, "order": [turned]}
            yield "order dropped", {**call, "order": []}
        yield "limit", {**call, "limit": call.get("limit", 6) + 1}
    elif limits := call.get("thresholds"):
        kind, limit = next(iter(limits["match"].items()))
        other = {"absolute": "percentage", "percentage": "absolute"}[kind]
        yield "tolerance dropped", {**call, "thresholds": None}
        yield "tolerance changed", {**call, "thresholds": {"match": {kind: limit * 7 + 1}}}
        yield "tolerance changed", {**call, "thresholds": {"match": {other: limit}}}
    else:
        yield "tolerance invented", {**call, "thresholds": {"match": {"absolute": 500}}}


def _wrong_look(call: Call, tool: str) -> Iterator[tuple[str, Call]]:
    """Yield looks into a comparison that differ from a right one in one thing."""
    if tool == "drill_down":
        key: Call = call["key"]
        yield from (("look: key", {**call, "key": {**key, name: "another"}}) for name in key)
    elif tool == "get_comparison_rows":
        other = "minor_diff" if call.get("status") == "match" else "match"
        yield "look: class", {**call, "status": other}
        yield "look: limit", {**call, "limit": call.get("limit", 6) + 1}
    else:
        yield "look: groups", {**call, "dimensions": [*call.get("dimensions", ()), "another"]}


def _wrong_filters(call: Call, part: Vocabulary) -> Iterator[tuple[str, Call]]:
    filters: Call = call.get("filters") or {}
    for name, condition in filters.items():
        rest = {each: value for each, value in filters.items() if each != name}
        stated = [*values_of(condition)]
        others = [each for each in part.values(name) if each not in stated]
        wrong: list[Any] = [(), *others[:1], *([[*stated, others[-1]]] if others else [])]
        if not isinstance(condition, dict):
            wrong += [{"ne": condition}, *([stated[1:]] if stated[1:] else [])]
        elif "ne" in condition:
            wrong.append(condition["ne"])
        elif "between" in condition:
            wrong += [{"gte": stated[0]}, {"lte": stated[1]}]
        else:
            operator, bound = next(iter(cast("Call", condition).items()))
            turned = {"gte": "gt", "gt": "gte", "lte": "lt", "lt": "lte"}[operator]
            wrong += [{turned: bound}, {"lte" if operator[0] == "g" else "gte": bound}, bound]
        for each in wrong:
            values = part.values(name)
            same = [value for value in values if admits(condition, value)]
            if not values or same != [v for v in values if each == () or admits(each, v)]:
                changed = rest if each == () else {**rest, name: each}
                yield "condition", {**call, "filters": changed}
    for name in [n for n in part.dimensions if n not in filters and part.values(n)][:1]:
        value = part.values(name)[0]
        yield "condition added", {**call, "filters": {**filters, name: value}}


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Vocabulary]:
    folders = {name: tmp_path_factory.mktemp(name) for name in DOMAINS}
    return {name: asyncio.run(vocabulary_of(name, folder)) for name, folder in folders.items()}


def test_right_calls_are_not_held_up(vocabularies: dict[str, Vocabulary]) -> None:
    held: list[str] = []
    marked: list[str] = []
    count = 0
    for domain, vocabulary in vocabularies.items():
        for asked, call, before in _right(domain, vocabulary):
            turn = _turn(asked, call, before, vocabulary)
            losses, count = turn.losses(), count + 1
            held += [f"{asked.question}: {each.text}" for each in losses if each.readings]
            if marks := [*(each.text for each in losses), *turn.choices()]:
                marked.append(f"{asked.question}: {', '.join(marks)}")
    assert len(held) <= AT_MOST * count, "\n".join(held)
    assert len(marked) <= MARKED * count, "\n".join(marked)


@pytest.mark.parametrize(
    ("question", "by", "filters"),
    [
        (
            "Revenue of erp for Germany and France, not Spain",
            [],
            {"country": ["Germany", "France"]},
        ),
        ("Per month is not what I need: revenue of erp by channel", ["channel"], {}),
        ("I keep hearing about Spain: revenue of erp in Spain", [], {"country": "Spain"}),
        ("Leave out whatever is web: revenue of erp", [], {"channel": {"ne": "web"}}),
        (
            "I'd like the revenue per country from erp, unless it came through the web channel",
            ["country"],
            {"channel": {"ne": "web"}},
        ),
        (
            "Spain had a strike, so please keep it out of this: revenue of erp by channel",
            ["channel"],
            {"country": {"ne": "Spain"}},
        ),
        (
            "Revenue of erp by country, but going no further back than March 2024",
            ["country"],
            {"month": {"gte": "2024-03"}},
        ),
        (
            "Revenue of erp, and stop at the end of May 2024, would you?",
            [],
            {"month": {"lte": "2024-05"}},
        ),
    ],
)
def test_what_no_clause_reads_is_left_to_the_model(
    vocabularies: dict[str, Vocabulary], question: str, by: list[str], filters: Call
) -> None:
    call: Call = {"source": "erp", "measures": ["revenue"], "dimensions": by, "filters": filters}
    asked, words = Asked("shop", question, {}), vocabularies["shop"]
    turn = _turn(asked, (QUERY, call), Earlier(), words)
    assert [each.text for each in turn.losses() if each.readings] == []
    for kind, wrong in _wrong(call, QUERY, words.within(["erp"])):
        turn = _turn(asked, (QUERY, wrong), Earlier(), words)
        assert len(turn.losses()) + len([*turn.choices()]) > 0, (kind, wrong)


@pytest.mark.parametrize("part", ["not Germany and web", "without Germany or web"])
def test_an_exclusion_over_two_dimensions_is_a_part_that_a_call_leaves_out(
    vocabularies: dict[str, Vocabulary], part: str
) -> None:
    call = {"source": "erp", "measures": ["revenue"]}
    asked = Asked("shop", f"Revenue of erp {part}", {})
    turn = _turn(asked, (QUERY, call), Earlier(), vocabularies["shop"])
    assert [each.text for each in turn.losses() if each.readings] == [part]


def test_wrong_calls_are_held_up_or_marked(vocabularies: dict[str, Vocabulary]) -> None:
    unmarked: list[str] = []
    count = 0
    for domain, vocabulary in vocabularies.items():
        for asked, (tool, call), before in _right(domain, vocabulary):
            part = vocabulary.within(str(call.get(n)) for n in ("source", "source_a", "source_b"))
            is_look = tool not in {COMPARE, QUERY}
            for kind, wrong in _wrong_look(call, tool) if is_look else _wrong(call, tool, part):
                turn, count = _turn(asked, (tool, wrong), before, vocabulary), count + 1
                if not turn.losses() and next(turn.choices(), None) is None:
                    unmarked.append(f"{kind}: {asked.question}: {wrong}")
    assert len(unmarked) <= AT_MOST * count, "\n".join(unmarked)
    assert [each for each in unmarked if each.startswith(("condition", "look"))] == []


@pytest.mark.parametrize(
    ("question", "look"),
    [
        ("Which countries match between web_shop and erp in revenue?", {"status": "match"}),
        ("web_shop vs erp, revenue by country, list the 3 largest differences", {"limit": 3}),
    ],
)
def test_a_look_into_the_comparison_of_a_question_is_stated(
    vocabularies: dict[str, Vocabulary], question: str, look: Call
) -> None:
    call = {"source_a": "web_shop", "source_b": "erp", "measures": ["revenue"]}
    compared = merged(COMPARE, {**call, "align_on": ["country"]}, Earlier())
    calls = [compared, merged("get_comparison_rows", {"cache_key": "cmp", **look}, Earlier())]
    turn = Turn(question, vocabularies["shop"], calls)
    assert (turn.losses(), [*turn.choices()]) == ([], [])


async def test_no_value_of_a_right_call_is_refused(vocabularies: dict[str, Vocabulary]) -> None:
    refused: list[str] = []
    count = 0

    async def made(call: ToolCall) -> ToolResult:
        return ToolResult(call, "{}")

    for domain, vocabulary in vocabularies.items():
        known = {v.lower() for name in vocabulary.dimensions for v in vocabulary.values(name)}
        for asked, (tool, arguments), _ in await asyncio.to_thread(
            list, _right(domain, vocabulary)
        ):
            if all(value.lower() in known for value in values_of(arguments.get("filters"))):
                continue
            run, count = RunControl(asked.question, 10, {}), count + 1
            turn = Grounded(vocabulary).steer(run)
            said = [Message("user", each) for each in (*asked.after, asked.question)]
            call, model = ToolCall("c", tool, arguments), ScriptedModel([scripted_call(tool)])
            await turn.model_call(ModelRequest(said), model.complete)
            text = (await turn.tool_call(call, made)).content
            refused += [f"{asked.question}: {text}"] if "nor the catalogue" in text else []
    assert count >= 40
    assert refused == []
