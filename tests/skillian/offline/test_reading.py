from __future__ import annotations

from datetime import date
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cost import cost_of

from skillian.offline.language import reading as reading_module
from skillian.offline.language.reading import MOST_TOKENS, read
from skillian.offline.language.vocabulary import DimensionWords, SourceWords, Vocabulary

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
    reading = read(
        "Compare amounts between fi_reporting and bpc_reporting for company 1001", VOCABULARY
    )
    assert reading.sources == ["fi_reporting", "bpc_reporting"]
    assert reading.measures == ["amount"]
    assert reading.filters == {"company": "1001"}
    assert reading.breakdown == []


def test_names_are_found_with_spaces_other_case_and_plural() -> None:
    reading = read("FI Reporting against 'BPC reporting', values by cost centre", VOCABULARY)
    assert reading.sources == ["fi_reporting", "bpc_reporting"]
    assert reading.measures == ["amount"]
    assert reading.breakdown == ["cost_centre"]


@pytest.mark.parametrize("word", ["ammounts", "amuonts", "amont", "amounty", "fi_reportin"])
def test_a_word_that_is_like_a_name_is_not_that_name(word: str) -> None:
    assert read(f"show the {word} by period", VOCABULARY).unread == [word]


def test_a_list_of_breakdowns() -> None:
    reading = read("by period and company code and month", VOCABULARY)
    assert reading.breakdown == ["period", "company"]


def test_a_mentioned_dimension_is_not_a_breakdown() -> None:
    assert read("which company is best", VOCABULARY).breakdown == []


def test_a_value_that_one_dimension_has_is_a_filter_without_its_name() -> None:
    assert read("and for 1002?", VOCABULARY).filters == {"company": "1002"}


def test_a_value_that_no_dimension_has_is_kept_only_behind_its_dimension() -> None:
    assert read("company 9999", VOCABULARY).filters == {"company": "9999"}
    assert read("9999", VOCABULARY).filters == {}


@given(st.text(max_size=200))
def test_nothing_is_found_that_the_question_does_not_say(question: str) -> None:
    reading = read(question, VOCABULARY)
    known = {value for words in DIMENSIONS.values() for value in words.values}
    for condition in reading.filters.values():
        [stated] = condition.values() if isinstance(condition, dict) else [condition]
        values = stated if isinstance(stated, list) else [stated]
        assert all(value in question or value in known for value in values)


def test_what_is_too_long_for_a_question_is_not_read() -> None:
    assert read("what is " * 1000, VOCABULARY).unread == ["a question of more than 2000 characters"]


def test_what_has_too_many_words_for_a_question_is_not_read() -> None:
    assert read("=" * (MOST_TOKENS + 1), VOCABULARY).unread == [
        f"a question of more than {MOST_TOKENS} words"
    ]


@pytest.mark.parametrize(
    "part",
    [
        *("a", "the", "and", "of", "in", "for", "by", "=", "1001", "company", "company of"),
        *("company 1001 and", "first half of", "january of", "by a", "per and", "compare a"),
        *("fi_reporting and", "from to", "ignore all", "within 5", "'x", "which of the"),
    ],
)
def test_reading_takes_time_in_the_proportion_of_the_words(part: str) -> None:
    words = MOST_TOKENS // (8 * len(part.split()))
    some, whole = (" ".join([part] * times) for times in (words, 8 * words))
    read(some, VOCABULARY)  # fills what is remembered of the vocabulary
    # Eight times the words: linear is 8, quadratic is 64.
    assert cost_of(lambda: read(whole, VOCABULARY)) < 25 * cost_of(lambda: read(some, VOCABULARY))


def test_several_values_of_a_dimension() -> None:
    for question in ("companies 1001 and 1002", "company 1001, 1002", "company 1001 or 1002"):
        assert read(question, VOCABULARY).filters == {"company": ["1001", "1002"]}


def test_a_common_word_is_not_a_value_unless_it_is_quoted() -> None:
    words = SourceWords({"v": ()}, {"k": DimensionWords((), ("in", "all"))})
    vocabulary = Vocabulary({"ta": words})
    assert read("Is there a gap in all of ta", vocabulary).filters == {}
    assert read("ta for 'in'", vocabulary).filters == {"k": "in"}


@pytest.mark.parametrize(
    ("question", "unread"),
    [
        ("amount of fi_reporting excluding Germany", ["Germany"]),
        ("Show fi_reporting without company", ["without company"]),
        ("fi_reporting for periods 2024001 to 2025xx", ["2025xx"]),
        ("fi_reporting, after lunch", ["after lunch"]),
        ("amount of fi_reporting by region", ["by region"]),
        ("amount of fi_reporting above 500", ["above 500"]),
        ("Could you take a look at our fi_reporting, please?", []),
        ("My boss does not want the amount of fi_reporting", ["boss"]),
        ("Compare fi_reporting with bpc_reporting for company ACME", ["ACME"]),
        ("fi_reporting by month for 2025", ["2025 (there is no such period)"]),
        ("Compare profit between fi_reporting and bpc_reporting", ["profit"]),
        ("average amount of fi_reporting", ["average"]),
        ("Please show me the amounts of fi_reporting by company", []),
    ],
)
def test_what_says_something_that_is_not_understood_is_kept(
    question: str, unread: list[str]
) -> None:
    assert read(question, VOCABULARY).unread == unread


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("from 2024001 to 2024002", {"period": {"between": ["2024001", "2024002"]}}),
        ("between 2024001 and 2024002", {"period": {"between": ["2024001", "2024002"]}}),
        ("since January 2024", {"period": {"gte": "2024001"}}),
        ("January 2024 onwards", {"period": {"gte": "2024001"}}),
        ("before 2024-02", {"period": {"lt": "2024002"}}),
        ("after 01/2024", {"period": {"gt": "2024001"}}),
        ("up to period 2024002", {"period": {"lte": "2024002"}}),
        ("since 2024001 until 2024002", {"period": {"between": ["2024001", "2024002"]}}),
        ("except company 1001 and 1002", {"company": {"ne": ["1001", "1002"]}}),
        ("everything but cc100", {"cost_centre": {"ne": "CC100"}}),
        ("company = 1001", {"company": "1001"}),
        ("where company is not 1001", {"company": {"ne": "1001"}}),
        ("for the first quarter", {"period": {"between": ["2024001", "2024002"]}}),
    ],
)
def test_conditions(text: str, filters: dict[str, object]) -> None:
    reading = read(f"amount of fi_reporting {text}", VOCABULARY)
    assert (reading.filters, reading.unread) == (filters, [])


def test_conditions_that_exclude_each_other_are_not_understood() -> None:
    reading = read("amount since 2024001 since 2024002", VOCABULARY)
    assert reading.unread


def test_a_cue_that_is_a_name_of_the_catalogue_is_a_name() -> None:
    words = SourceWords({"documents": ()}, {"material": DimensionWords()})
    reading = read("documents of stock by material", Vocabulary({"stock": words}))
    assert (reading.measures, reading.breakdown) == (["documents"], ["material"])
    assert "major" not in reading.says


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("in February 2024", {"between": ["2024-02-01", "2024-02-29"]}),
        ("since February 2024", {"gte": "2024-02-01"}),
        ("after 2023", {"gt": "2023-12-31"}),
        ("from January 2024 to March 2024", {"between": ["2024-01-01", "2024-03-31"]}),
        ("on day 2024-02-05", "2024-02-05"),
    ],
)
def test_months_of_a_dimension_of_many_dates(text: str, condition: object) -> None:
    words = SourceWords({"amount": ()}, {"day": DimensionWords(is_open=True, is_date=True)})
    reading = read(f"amount of ledger {text}", Vocabulary({"ledger": words}))
    assert (reading.filters, reading.unread) == ({"day": condition}, [])


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        ("amount of ledger by month in 2024", {"month": {"between": ["2024-01", "2024-06"]}}),
        ("amount of ledger on 5 May 2024", {"day": "2024-05-05"}),
        ("doses in May 2024", {"month": "2024-05"}),
        ("amount of ledger in May 2024", {}),
    ],
)
def test_of_months_and_days_a_period_is_of_those_that_can_hold_it(
    question: str, filters: dict[str, object]
) -> None:
    months = DimensionWords((), tuple(f"2024-{month:02d}" for month in range(1, 7)))
    days = DimensionWords(is_open=True, is_date=True)
    sources = {
        "ledger": SourceWords({"amount": ()}, {"month": months, "day": days}),
        "pharmacy": SourceWords({"doses": ()}, {"month": months}),
    }
    assert read(question, Vocabulary(sources)).filters == filters


@pytest.mark.parametrize(
    ("today", "text", "month"),
    [
        (date(2024, 6, 20), "this month", "2024-06"),
        (date(2024, 7, 10), "last month", "2024-06"),
        (date(2024, 7, 10), "latest month", "2024-06"),
        (date(2024, 7, 10), "this month", None),
        (date(2024, 8, 10), "this month", "2024-06"),
        (date(2024, 8, 10), "last month", "2024-05"),
        (date(2024, 8, 10), "two months ago", "2024-06"),
        (date(2024, 8, 10), "a month ago", None),
        (date(2024, 8, 10), "0 months ago", None),
        (date(2024, 8, 10), "year to date", {"between": ["2024-01", "2024-06"]}),
    ],
)
def test_relative_periods(today: date, text: str, month: object) -> None:
    months = DimensionWords((), tuple(f"2024-{month:02d}" for month in range(1, 7)))
    vocabulary = Vocabulary({"ledger": SourceWords({"amount": ()}, {"month": months})})
    reading = read(f"amount of ledger {text}", vocabulary, today=today)
    assert reading.filters == ({"month": month} if month else {})


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        ("visits in May 2024", {"month": "2024-05"}),
        ("visits for year 2024", {"year": "2024"}),
        ("visits from May to July 2024", {"month": {"between": ["2024-05", "2024-07"]}}),
        ("visits for all of 2024", {"year": "2024"}),
        ("visits from the month of May 2024 on, by tier", {"month": {"gte": "2024-05"}}),
        ("visits as from May 2024", {"month": {"gte": "2024-05"}}),
        (
            "visits in tiers other than FIRST where the tier is not DO",
            {"tier": {"ne": ["FIRST", "DO"]}},
        ),
        ("visits to FIRST", {"tier": "FIRST"}),
        ("visits for June 2024 and 2023", None),
        ("visits by month only", None),
        ("visits by month, latest month first", None),
        ("visits by month in tier FIRST", {"tier": "FIRST"}),
        ("how much time do guests spend", None),
        ("visits in 2023, ignore 2023", None),
        ("visits by tier, top 2", {}),
        ("which tier do guests have", {}),
        ("visits in tier DO", {"tier": "DO"}),
        ("visits, it's for tier TOP", {"tier": "TOP"}),
        ("visits for all tiers but NO", {"tier": {"ne": "NO"}}),
        ("visits in both", None),
        ("visits in BOTH", {"tier": "BOTH"}),
        ("NOW", None),
        ("now visits by month", {}),
        ("visits of members M-001 and M-002", {"member": ["M-001", "M-002"]}),
        ("visits of members M01-M03", None),
        ("visits of member The Lost Boys in tier TOP", {"member": "The Lost Boys", "tier": "TOP"}),
        ("visits by member. The ONLY tier", {"tier": "ONLY"}),
    ],
)
def test_months_years_and_values_that_are_english_words(
    question: str, filters: dict[str, object] | None
) -> None:
    months = tuple(f"{year}-{month:02d}" for year in (2023, 2024) for month in range(1, 13))
    words = SourceWords(
        {"visits": ("guests",)},
        {
            "month": DimensionWords((), months),
            "year": DimensionWords((), ("2023", "2024")),
            "tier": DimensionWords(
                ("to",), ("FIRST", "ONLY", "LAST", "TOP", "DO", "IT", "NO", "NOW", "BOTH")
            ),
            "member": DimensionWords(is_open=True),
        },
    )
    reading = read(question, Vocabulary({"cinema": words}))
    assert (reading.filters if not reading.unread else None) == filters


@pytest.mark.parametrize(
    ("text", "day"), [("yesterday", "2024-07-09"), ("3 days ago", "2024-07-07")]
)
def test_days_are_counted_from_today(text: str, day: str) -> None:
    days = DimensionWords(is_open=True, is_date=True, last="2024-06-30")
    vocabulary = Vocabulary({"ledger": SourceWords({"amount": ()}, {"day": days})})
    reading = read(f"amount of ledger {text}", vocabulary, today=date(2024, 7, 10))
    assert reading.filters == {"day": day}


def test_a_server_that_runs_over_midnight_reads_yesterday_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = SourceWords({"amount": ()}, {"day": DimensionWords(is_open=True, is_date=True)})
    vocabulary = Vocabulary({"ledger": words})
    day = date(2024, 2, 5).toordinal()

    class Clock(date):
        @classmethod
        def today(cls) -> Self:
            return cls.fromordinal(day)

    monkeypatch.setattr(reading_module, "date", Clock)
    assert read("amount of yesterday", vocabulary).filters == {"day": "2024-02-04"}
    day += 1
    assert read("amount of yesterday", vocabulary).filters == {"day": "2024-02-05"}
