"""The examples of docs/asking.md are read as the page says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from skillian.offline.calls import PlannedCall
from skillian.offline.earlier import COMPARE, QUERY, Earlier, PastComparison
from skillian.offline.language.vocabulary import DimensionWords, SourceWords, Vocabulary
from skillian.offline.planner import OfflinePlanner
from tinyagent import Message, ToolCall
from tinyagent.core import ModelRequest

PAGE = (Path(__file__).parents[3] / "docs" / "asking.md").read_text("utf-8")
ROWS: Mapping[str, list[str]] = {
    match[1]: re.findall(r"`([^`]+)`", match[2])
    for match in re.finditer(r"^\| ([a-z ]+) \| (.+) \|$", PAGE, re.MULTILINE)
}
"""The examples of each clause."""
_COUNTRIES = DimensionWords((), ("Germany", "France", "Spain", "Italy", "US"))
_SHOP = {
    "country": _COUNTRIES,
    "channel": DimensionWords((), ("web", "phone", "store")),
    "category": DimensionWords((), ("bikes", "helmets")),
    "company": DimensionWords((), ("1001", "1002")),
    "customer": DimensionWords((), (), is_open=True),
    "payer": DimensionWords((), ("private", "public")),
}
_PARCELS = {
    "ward": DimensionWords((), ("North", "South")),
    "plant": DimensionWords((), ("P01", "P02")),
    "fuel": DimensionWords((), ("coal", "gas")),
    "origin": DimensionWords((), ("Milan", "Nice")),
    "destination": DimensionWords((), ("Milan", "Nice")),
}


def _with(time: str, words: DimensionWords) -> OfflinePlanner:
    shop = SourceWords({"revenue": (), "orders": ()}, {**_SHOP, time: words}, {"revenue": "EUR"})
    hall = SourceWords({"patients": (), "output": (), "parcels": ()}, {**_PARCELS, time: words})
    return OfflinePlanner(
        Vocabulary({"web_shop": shop, "erp": shop, "hall": hall}), date(2024, 12, 15)
    )


MONTHS = _with(
    "month", DimensionWords((), tuple(f"{y}-{m:02d}" for y in (2023, 2024) for m in range(1, 13)))
)
DAYS = _with("day", DimensionWords((), (), is_open=True, is_date=True, last="2024-12-31"))
COMPARED = "Compare revenue between web_shop and erp"
CARRIERS = (
    "",
    f"{COMPARED}, ",
    "Revenue of erp, ",
    "Revenue of erp by country, ",
    "Parcels of hall, ",
)
KEYS = ({"country": "Germany"}, {"country": "France"})
SETS = {
    "compare two sources": {"source_a", "source_b", "measures"},
    "ask one source": {"source", "measures", "dimensions"},
    "groups": {"align_on"},
    "values": {"filters"},
    "values of any name": {"filters"},
    "a value before the measure": {"filters", "source", "measures"},
    "other values than": {"filters"},
    "a route": {"filters", "source", "measures"},
    "periods": {"filters"},
    "relative periods": {"filters"},
    "ranges": {"filters"},
    "limits of a comparison": {"thresholds"},
    "order and number of rows": {"source", "measures", "dimensions", "order", "limit"},
}
"""The arguments that the examples of a clause set, and no others."""
LOOKS = {
    "what there is": {"list_sources", "describe_source"},
    "why": {"explain_difference"},
    "the rows behind a group": {"drill_down"},
    "groups of a class": {"get_comparison_rows"},
}
"""The tools that answer the examples of a clause after a comparison."""
EXPLAINED = {"under 1 euro"}
"""What the table has between its examples to explain them."""


def call(planner: OfflinePlanner, *questions: str) -> tuple[str, dict[str, Any]]:
    """The call of the last of these questions; ("", {}) if it is asked back."""
    earlier, planned = Earlier(), PlannedCall("", {})
    for question in questions:
        made = planner.plan(question, earlier)
        if not isinstance(made, PlannedCall):
            return "", {}
        planned, earlier = made, after(made)
    return planned.tool, dict(planned.arguments)


def after(made: PlannedCall) -> Earlier:
    """The conversation whose last call was this one."""
    sources, is_compared = tuple(map(str, made.arguments.values()))[:2], made.tool == COMPARE
    compared = PastComparison(made.arguments, "cmp", KEYS) if is_compared else None
    last = ToolCall("c1", made.tool, dict(made.arguments))
    return Earlier(last, compared, None, sources if is_compared else sources[:1])


@pytest.mark.parametrize("clause", SETS)
def test_a_clause_sets_its_arguments_alone(clause: str) -> None:
    for example in {*ROWS[clause]} - EXPLAINED:
        read = [
            (call(planner, carrier + example)[1], call(planner, carrier)[1] if carrier else {})
            for planner in (MONTHS, DAYS)
            for carrier in CARRIERS
        ]
        changes = [{n for n in got if got[n] != plain.get(n)} for got, plain in read if got]
        assert any(change <= SETS[clause] for change in changes), (example, changes)


@pytest.mark.parametrize("clause", LOOKS)
def test_a_look_is_read_after_a_comparison(clause: str) -> None:
    tools = {call(MONTHS, f"{COMPARED} by country", example)[0] for example in ROWS[clause]}
    assert tools == LOOKS[clause]


GERMANY, ITALY = {"country": "Germany"}, {"country": "Italy"}
BOTH: dict[str, Any] = {"country": ["Germany", "Italy"]}
FOLLOW_UPS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "and for Italy?": ("for Germany", {"filters": ITALY}),
    "what about orders?": ("for Germany", {"measures": ["orders"], "filters": GERMANY}),
    "by channel": ("by country", {"align_on": ["channel"]}),
    "also Italy": ("for Germany", {"filters": BOTH}),
    "plus Italy": ("for Germany", {"filters": BOTH}),
    "orders too": ("", {"measures": ["revenue", "orders"]}),
    "also by month": ("by country", {"align_on": ["country", "month"]}),
    "add the month": ("by country", {"align_on": ["country", "month"]}),
    "replace channel by month": ("by channel", {"align_on": ["month"]}),
    "orders instead of revenue": ("for Germany", {"measures": ["orders"], "filters": GERMANY}),
    "orders, not revenue": ("for Germany", {"measures": ["orders"], "filters": GERMANY}),
    "channel out": ("by country and channel", {"align_on": ["country"]}),
    "without Italy": ("for Germany and Italy", {"filters": GERMANY}),
    "remove Italy": (
        "by country",
        {"align_on": ["country"], "filters": {"country": {"ne": "Italy"}}},
    ),
    "for all countries": ("for Germany", {}),
    "drop the channel": ("by country and channel", {"align_on": ["country"]}),
    "not by channel": ("by country and channel", {"align_on": ["country"]}),
    "until June 2024": (
        "since March 2024",
        {"filters": {"month": {"between": ["2024-03", "2024-06"]}}},
    ),
    "Germany instead": ("for Italy", {"filters": GERMANY}),
    "not Italy, but France": ("for Italy", {"filters": {"country": "France"}}),
    "the other way round": ("", {"source_a": "erp", "source_b": "web_shop"}),
    "with a tolerance of 2 %": ("", {"thresholds": {"match": {"percentage": 2}}}),
    "make it 3 %": ("within 2 %", {"thresholds": {"match": {"percentage": 3}}}),
    "without tolerance": ("within 2 %", {}),
}
"""What is asked after a comparison, what the comparison has, and what the new one has."""


@pytest.mark.parametrize("question", FOLLOW_UPS)
def test_a_follow_up_question_changes_the_last_call(question: str) -> None:
    before, expected = FOLLOW_UPS[question]
    plain = {"source_a": "web_shop", "source_b": "erp", "measures": ["revenue"]}
    assert f"`{question}`" in PAGE
    assert call(MONTHS, f"{COMPARED} {before}", question) == (COMPARE, {**plain, **expected})


def test_other_follow_up_questions() -> None:
    order = {"dimensions": ["country"], "order": ["revenue"], "limit": 5}
    top = call(MONTHS, "top 3 countries by revenue in erp", "the bottom 5 instead")
    assert top == (QUERY, {"source": "erp", "measures": ["revenue"], **order})
    other = call(MONTHS, "orders of erp by country", "and for web_shop?")
    query = {"source": "web_shop", "measures": ["orders"], "dimensions": ["country"]}
    assert other == (QUERY, query)
    pair = {"source_a": "erp", "source_b": "web_shop", "measures": ["orders"]}
    compared = call(MONTHS, "orders of erp by country", "compare it with web_shop")
    assert compared == (COMPARE, {**pair, "align_on": ["country"]})
    beside = call(MONTHS, "orders of erp by country", "against web_shop, 2 % tolerance")
    limits = {"thresholds": {"match": {"percentage": 2}}}
    assert beside == (COMPARE, {**pair, "align_on": ["country"], **limits})
    same = call(MONTHS, "orders of erp by country", "same in web_shop, 2023")
    year = {"month": {"between": ["2023-01", "2023-12"]}}
    assert same == (QUERY, {**query, "filters": year})
    assert call(MONTHS, "orders of erp by country", "same, web_shop") == (QUERY, query)
    ranked = {**query, "source": "erp", "order": ["-orders"]}
    first = call(MONTHS, "top 5 countries by orders in erp", "make it 3")
    assert first == (QUERY, {**ranked, "limit": 3})
    assert call(MONTHS, "top 5 countries by revenue in erp", "top 3 by orders") == first
    sorted_by = call(MONTHS, "orders of erp by country", "lowest first")
    assert sorted_by == (QUERY, {**query, "source": "erp", "order": ["orders"]})


@pytest.mark.parametrize(
    ("question", "change", "filters"),
    [
        ("Parcels of hall to Nice", "not to Nice", [{}, {"destination": {"ne": "Nice"}}]),
        ("Revenue of erp by channel for web", "without web", [{}, {"channel": {"ne": "web"}}]),
        (
            "Revenue of erp in Q1 2024",
            "and in 2023?",
            [{"month": {"between": ["2023-01", "2023-12"]}}],
        ),
        ("Revenue of erp by country", "stare over", []),
    ],
)
def test_what_a_change_may_mean_is_offered(
    question: str, change: str, filters: list[dict[str, Any]]
) -> None:
    made = MONTHS.plan(question, Earlier())
    assert isinstance(made, PlannedCall)
    assert isinstance(MONTHS.plan(change, after(made)), str)
    offers = MONTHS.offers(change, after(made))
    assert [call(MONTHS, offer)[1].get("filters", {}) for offer in offers] == filters


@pytest.mark.parametrize(
    ("answered", "asked_back"),
    [
        ("Germany or France", "Germany or web"),
        ("without Germany, for bikes", "without bikes from Germany"),
        ("within 5 EUR", "within 5 dollars"),
        ('customer "Acme Corp"', "Acme Corp"),
        ("for Germany, not France", "for Germany, without bikes from France"),
        ("for March 2024", "web_shop in March with erp in April"),
    ],
)
def test_what_the_page_asks_back(answered: str, asked_back: str) -> None:
    assert call(MONTHS, f"{COMPARED}, {answered}")[0] == COMPARE
    assert call(MONTHS, f"{COMPARED}, {asked_back}")[0] == ""


def test_questions_of_their_own_that_the_page_asks_back() -> None:
    assert call(MONTHS, "give us the revenue of erp")[0] == QUERY
    for question in (
        *("give us revenue of erp", "revenue per order in erp", "erp revenue over 1000"),
        *("average revenue of erp", "best 3 countries by revenue in erp"),
        "top 3 countries by revenue in erp, lowest first",
    ):
        assert call(MONTHS, question)[0] == "", question


async def test_the_first_questions_of_the_page() -> None:
    blocks = re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)
    answered, refused = blocks[0].split("\n")
    assert call(MONTHS, answered)[0] == COMPARE
    response = await MONTHS.complete(ModelRequest([Message("user", refused)]))
    assert str(response.content).startswith(blocks[1])
