"""Clauses in any order: a question has the effects of all of them, or is asked back."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from skillian.offline.calls import PlannedCall
from skillian.offline.earlier import Earlier
from skillian.offline.language.vocabulary import DimensionWords, SourceWords, Vocabulary
from skillian.offline.planner import OfflinePlanner

# Many of the values are English words too.
VALUES = {
    "country": ("IS", "NO", "US", "OR", "DE"),
    "service": ("data", "sms", "voice"),
    "tariff": ("TOP", "ALL", "Flat S", "Flat L"),
    "carrier": ("Blue Star", "Norline", "Swift"),
}
PLURALS = {
    "country": "countries",
    "service": "services",
    "tariff": "tariffs",
    "carrier": "carriers",
}
WORDS = SourceWords(
    {"calls": (), "minutes": ()},
    {name: DimensionWords((), values) for name, values in VALUES.items()}
    | {"month": DimensionWords((), tuple(f"2024-{month:02d}" for month in range(1, 13)))},
)
PLANNER = OfflinePlanner(Vocabulary({"switch": WORDS, "rating": WORDS}))
HEADS = ("minutes of switch", "show minutes in switch", "what are the minutes in switch")
COMPARISONS = (
    "compare minutes between switch and rating",
    "switch versus rating: minutes",
    "do minutes agree between switch and rating",
)
CONDITIONS = {
    "for {a}": "eq",
    "in {d} {a}": "eq",
    "{d}: {a}": "eq",
    "{d} is {a}": "eq",
    "{a} only": "eq",
    "for {a} and {b}": "in",
    "either {a} or {b}": "in",
    "{d} in {a}, {b}": "in",
    "without {a}": "ne",
    "excluding {a} and {b}": "nin",
    "where {d} is not {a}": "ne",
    "for {ds} other than {a}": "ne",
    "{d} not {a}": "ne",
    "all {ds} but {a}": "ne",
    "{a} excluded": "ne",
    "neither {a} nor {b}": "nin",
}
GROUPS = ("by {d}", "for each {d}", "split by {d}", "across {ds}", "{d} by {d}")
PERIODS = {
    "since March 2024": {"gte": "2024-03"},
    "before June 2024": {"lt": "2024-06"},
    "in Q1 2024": {"between": ["2024-01", "2024-03"]},
}


@st.composite
def asked(draw: st.DrawFn) -> tuple[str, dict[str, Any], list[str]]:
    """A question, its filters and its groups."""
    filters: dict[str, Any] = {}
    groups: list[str] = []
    clauses: list[str] = []
    for name in draw(st.permutations(sorted(VALUES)))[: draw(st.integers(2, 4))]:
        a, b = draw(st.permutations(VALUES[name]))[:2]
        form = draw(st.sampled_from([*CONDITIONS, *GROUPS]))
        clauses.append(form.format(a=a, b=b, d=name, ds=PLURALS[name]))
        several = sorted((a, b))
        meant = {"eq": a, "in": several, "ne": {"ne": a}, "nin": {"ne": several}}
        if form in CONDITIONS:
            filters[name] = meant[CONDITIONS[form]]
        else:
            groups.append(name)
    for period in draw(st.lists(st.sampled_from(sorted(PERIODS)), max_size=1)):
        clauses.insert(draw(st.integers(0, len(clauses))), period)
        filters["month"] = PERIODS[period]
    clauses.insert(draw(st.integers(0, 1)), draw(st.sampled_from(HEADS + COMPARISONS)))
    marks = [draw(st.sampled_from([" ", ", "])) for _ in clauses]
    question = "".join(mark + clause for mark, clause in zip(marks, clauses, strict=True))
    return question.lstrip(", "), filters, sorted(groups)


def without_order(value: Any) -> Any:
    """A condition with its alternatives sorted."""
    if isinstance(value, dict):
        return {name: without_order(each) for name, each in value.items()}
    return sorted(value) if isinstance(value, list) else value


@settings(deadline=None, max_examples=400)
@given(asked())
def test_no_clause_is_lost_or_turned(asked: tuple[str, dict[str, Any], list[str]]) -> None:
    question, filters, groups = asked
    planned = PLANNER.plan(question, Earlier())
    if isinstance(planned, PlannedCall):
        arguments = planned.arguments
        assert arguments["measures"] == ["minutes"], question
        assert without_order(arguments.get("filters", {})) == filters, question
        found = arguments.get("dimensions", arguments.get("align_on", []))
        assert sorted(found) == groups, question


def test_most_of_them_are_answered() -> None:
    forms = [
        form
        for form in CONDITIONS
        if form not in {"{d}: {a}", "{d} in {a}, {b}", "either {a} or {b}"}
    ]
    names = {"a": "Swift", "b": "Norline", "d": "carrier", "ds": "carriers"}
    asked = [f"minutes of switch, {form.format(**names)}, by country" for form in forms]
    planned = [PLANNER.plan(question, Earlier()) for question in asked]
    assert [q for q, p in zip(asked, planned, strict=True) if not isinstance(p, PlannedCall)] == []
