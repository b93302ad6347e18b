from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillian.llm.grounding import ground, named_sources
from skillian.llm.vocabulary import DimensionWords, SourceWords, Vocabulary

DIMENSIONS = {
    "company": DimensionWords(("company code",), ("1001", "1002")),
    "period": DimensionWords(("month",), ("2024001", "2024002")),
    "cost_centre": DimensionWords((), ("CC100",)),
}
VOCABULARY = Vocabulary(
    {
        "fi_reporting": SourceWords({"amount": ("value",), "documents": ()}, DIMENSIONS),
        "bpc_reporting": SourceWords({"amount": ("plan amount",)}, DIMENSIONS),
    }
)


def test_sources_measure_and_filter_of_the_mission_question() -> None:
    found = ground(
        "Compare amounts between fi_reporting and bpc_reporting for company 1001", VOCABULARY
    )
    assert found.sources == ["fi_reporting", "bpc_reporting"]
    assert found.measures == ["amount"]
    assert found.filters == {"company": ["1001"]}
    assert found.breakdown == []


def test_names_are_found_with_spaces_other_case_and_plural() -> None:
    found = ground("FI Reporting against 'BPC reporting', values by cost centre", VOCABULARY)
    assert found.sources == ["fi_reporting", "bpc_reporting"]
    assert found.measures == ["amount"]
    assert found.breakdown == ["cost_centre"]


def test_a_small_misspelling_of_a_name_is_forgiven() -> None:
    assert ground("show fi_reportin", VOCABULARY).sources == ["fi_reporting"]


def test_a_list_of_breakdowns() -> None:
    found = ground("by period and company code and month", VOCABULARY)
    assert found.breakdown == ["period", "company"]


def test_a_dimension_that_is_only_mentioned_is_no_breakdown() -> None:
    assert ground("which company is best", VOCABULARY).breakdown == []


def test_a_value_that_one_dimension_has_is_a_filter_without_its_name() -> None:
    assert ground("and for 1002?", VOCABULARY).filters == {"company": ["1002"]}


def test_a_value_that_no_dimension_has_is_kept_only_behind_its_dimension() -> None:
    assert ground("company 9999", VOCABULARY).filters == {"company": ["9999"]}
    assert ground("9999", VOCABULARY).filters == {}


@pytest.mark.parametrize(
    ("question", "pair"),
    [
        ("Compare amounts between fi_reports and bpc", ["fi_reports", "bpc"]),
        ("compare ledger with plan", ["ledger", "plan"]),
        ("fi vs. bpc?", ["fi", "bpc"]),
        ("what is the weather", []),
        ("amounts by company and period", []),
        ("from 2024001 to 2024002", []),
    ],
)
def test_the_form_of_a_question_names_sources(question: str, pair: list[str]) -> None:
    assert named_sources(question) == pair


@given(st.text(max_size=200))
def test_nothing_is_found_that_the_question_does_not_say(question: str) -> None:
    found = ground(question, VOCABULARY)
    for values in found.filters.values():
        assert all(value in question for value in values)


def test_several_values_of_a_dimension() -> None:
    for question in ("companies 1001 and 1002", "company 1001, 1002", "company 1001 or 1002"):
        assert ground(question, VOCABULARY).filters == {"company": ["1001", "1002"]}


def test_an_everyday_word_is_no_value_unless_it_is_quoted() -> None:
    words = SourceWords({"v": ()}, {"k": DimensionWords((), ("in", "all"))})
    vocabulary = Vocabulary({"ta": words})
    assert ground("Is there a gap in all of ta", vocabulary).filters == {}
    assert ground("ta for 'in'", vocabulary).filters == {"k": ["in"]}


@pytest.mark.parametrize(
    ("question", "unread"),
    [
        ("amount of fi_reporting excluding company 1001", ["excluding"]),
        ("Show fi_reporting without company 1001", ["without"]),
        ("fi_reporting for periods 2024001 to 2024002", ["to"]),
        ("fi_reporting, period after 2024001", ["after"]),
        ("Compare fi_reporting with bpc_reporting for company ACME", ["ACME"]),
        ("fi_reporting by month for 2024", ["2024"]),
        ("Compare profit between fi_reporting and bpc_reporting", ["profit"]),
        ("average amount of fi_reporting", ["average"]),
        ("Please show me the amounts of fi_reporting by company", []),
    ],
)
def test_what_says_something_that_is_not_understood_is_kept(
    question: str, unread: list[str]
) -> None:
    assert ground(question, VOCABULARY).unread == unread
