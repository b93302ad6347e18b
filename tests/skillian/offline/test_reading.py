"""What the clauses of a question say: its names, its conditions, and what is not understood."""

from __future__ import annotations

from datetime import date
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cost import cost_of

from skillian.offline import planner as planner_module
from skillian.offline.calls import PlannedCall
from skillian.offline.earlier import Earlier
from skillian.offline.language.periods import LONGEST_QUESTION
from skillian.offline.language.vocabulary import DimensionWords, SourceWords, Vocabulary
from skillian.offline.planner import OfflinePlanner

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
HALF = DimensionWords((), tuple(f"2024-{month:02d}" for month in range(1, 7)))
DAYS = DimensionWords(is_open=True, is_date=True)


def of_one(**dimensions: DimensionWords) -> Vocabulary:
    """A ledger with these dimensions."""
    return Vocabulary({"ledger": SourceWords({"amount": ()}, dimensions)})


def asked(question: str, vocabulary: Vocabulary = VOCABULARY, today: date | None = None) -> Any:
    """The arguments of the call, or why it is asked back."""
    planned = OfflinePlanner(vocabulary, today).plan(question, Earlier())
    return dict(planned.arguments) if isinstance(planned, PlannedCall) else planned


def filters_of(question: str, vocabulary: Vocabulary, today: date | None = None) -> Any:
    """The filters of the call; None if the question is asked back."""
    call = asked(question, vocabulary, today)
    return None if isinstance(call, str) else call.get("filters", {})


@pytest.mark.parametrize(
    ("question", "arguments"),
    [
        ("FI Reporting, values by cost centre", {"dimensions": ["cost_centre"]}),
        (
            "Amounts of fi_reporting by period and company code and month",
            {"dimensions": ["period", "company"]},
        ),
        ("amount of fi_reporting for 1002", {"filters": {"company": "1002"}}),
        (
            "amount of fi_reporting for company 1001, 1002",
            {"filters": {"company": ["1001", "1002"]}},
        ),
        (
            "amount of fi_reporting, company 1001 or 1002",
            {"filters": {"company": ["1001", "1002"]}},
        ),
        ("Please show me the amounts of fi_reporting", {}),
    ],
)
def test_names_are_found_in_other_case_with_spaces_and_in_plural(
    question: str, arguments: dict[str, Any]
) -> None:
    assert asked(question) == {"source": "fi_reporting", "measures": ["amount"], **arguments}


@pytest.mark.parametrize(
    ("question", "unread"),
    [
        ("show the ammounts of fi_reporting by period", "ammounts"),
        ("show the amounty of fi_reporting", "amounty"),
        ("amount of fi_reportin", "fi_reportin"),
        ("amount of fi_reporting excluding Germany", "Germany"),
        ("Show fi_reporting without company", "Only the last question"),
        ("fi_reporting for periods 2024001 to 2025xx", "2025xx"),
        ("fi_reporting, after lunch", "lunch"),
        ("amount of fi_reporting by region", "region"),
        ("amount of fi_reporting above 500", "above 500"),
        ("My boss does not want the amount of fi_reporting", "boss"),
        ("Compare fi_reporting with bpc_reporting for company ACME", "ACME"),
        ("amount of fi_reporting for company 9999", "9999"),
        ("fi_reporting by month for 2025", "2025 (there is no such period)"),
        ("Compare profit between fi_reporting and bpc_reporting", "profit"),
        ("average amount of fi_reporting", "average"),
        ("amount of fi_reporting since 2024001 since 2024002", "2024002"),
        ("which company is best in fi_reporting", "best"),
        ("cost centre by company", "cost_centre and company of what?"),
        ("1001", "company of what?"),
    ],
)
def test_what_is_not_understood_is_named(question: str, unread: str) -> None:
    assert unread in asked(question)


@given(st.text(max_size=200))
def test_nothing_is_found_that_the_question_does_not_say(question: str) -> None:
    known = {value for words in DIMENSIONS.values() for value in words.values}
    for condition in (filters_of(f"fi_reporting, {question}", VOCABULARY) or {}).values():
        [stated] = condition.values() if isinstance(condition, dict) else [condition]
        values = stated if isinstance(stated, list) else [stated]
        assert all(value in question or value in known for value in values)


def test_what_is_too_long_for_a_question_is_not_read() -> None:
    question = "amount of fi_reporting"
    assert isinstance(asked(question.ljust(LONGEST_QUESTION)), dict)
    assert f"more than {LONGEST_QUESTION} characters" in asked(question.ljust(LONGEST_QUESTION + 1))


@pytest.mark.parametrize(
    "part",
    [
        *("a", "the", "and", "of", "in", "for", "by", "=", "1001", "company", "company of"),
        *("company 1001 and", "first half of", "january of", "by a", "per and", "compare a"),
        *("fi_reporting and", "from to", "ignore all", "within 5", "'x", "which of the", "top 3"),
    ],
)
def test_reading_takes_time_in_the_proportion_of_the_words(part: str) -> None:
    words = LONGEST_QUESTION // (8 * (len(part) + 1))
    some, whole = (" ".join([part] * times) for times in (words, 8 * words))
    asked(some)  # fills what is remembered of the vocabulary
    # Eight times the words: linear is 8, quadratic is 64.
    assert cost_of(lambda: asked(whole)) < 25 * cost_of(lambda: asked(some))


def test_a_common_word_is_not_a_value_unless_it_is_quoted() -> None:
    vocabulary = of_one(k=DimensionWords((), ("in", "all")))
    assert filters_of("Is there an amount of ledger", vocabulary) == {}
    assert filters_of("ledger for 'in'", vocabulary) == {"k": "in"}
    assert filters_of("amount of ledger in all", vocabulary) is None


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("from 2024001 to 2024002", {"period": {"between": ["2024001", "2024002"]}}),
        ("between 2024001 and 2024002", {"period": {"between": ["2024001", "2024002"]}}),
        ("since January 2024", {"period": {"gte": "2024001"}}),
        ("January 2024 onwards", {"period": {"gte": "2024001"}}),
        ("before 2024-02", {"period": {"lt": "2024002"}}),
        ("after 01/2024", {"period": {"gt": "2024001"}}),
        ("up to 2024002", {"period": {"lte": "2024002"}}),
        ("since 2024001 until 2024002", {"period": {"between": ["2024001", "2024002"]}}),
        ("except company 1001 and 1002", {"company": {"ne": ["1001", "1002"]}}),
        ("everything but cc100", {"cost_centre": {"ne": "CC100"}}),
        ("company = 1001", {"company": "1001"}),
        ("where company is not 1001", {"company": {"ne": "1001"}}),
        ("for the first quarter", {"period": {"between": ["2024001", "2024002"]}}),
    ],
)
def test_conditions(text: str, filters: dict[str, object]) -> None:
    assert filters_of(f"amount of fi_reporting {text}", VOCABULARY) == filters


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
    assert filters_of(f"amount of ledger {text}", of_one(day=DAYS)) == {"day": condition}


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        ("amount of ledger by month in 2024", {"month": {"between": ["2024-01", "2024-06"]}}),
        ("amount of ledger on 5 May 2024", {"day": "2024-05-05"}),
        ("doses in May 2024", {"month": "2024-05"}),
        ("amount of ledger in May 2024", None),
    ],
)
def test_of_months_and_days_a_period_is_of_those_that_can_hold_it(
    question: str, filters: dict[str, object] | None
) -> None:
    sources = {
        "ledger": SourceWords({"amount": ()}, {"month": HALF, "day": DAYS}),
        "pharmacy": SourceWords({"doses": ()}, {"month": HALF}),
    }
    assert filters_of(question, Vocabulary(sources)) == filters


@pytest.mark.parametrize(
    ("today", "text", "month"),
    [
        (date(2024, 6, 20), "this month", "2024-06"),
        (date(2024, 7, 10), "last month", "2024-06"),
        (date(2024, 7, 10), "this month", None),
        (date(2024, 8, 10), "this month", "2024-06"),
        (date(2024, 8, 10), "last month", "2024-05"),
        (date(2024, 8, 10), "the last 2 months", {"between": ["2024-04", "2024-05"]}),
        (date(2024, 8, 10), "last 0 months", None),
        (date(2024, 8, 10), "year to date", {"between": ["2024-01", "2024-06"]}),
    ],
)
def test_relative_periods(today: date, text: str, month: object) -> None:
    filters = filters_of(f"amount of ledger {text}", of_one(month=HALF), today)
    assert filters == ({"month": month} if month else None)


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        ("visits in May 2024", {"month": "2024-05"}),
        ("visits for year 2024", {"year": "2024"}),
        ("visits as from May 2024", {"month": {"gte": "2024-05"}}),
        (
            "visits in tiers other than FIRST where the tier is not DO",
            {"tier": {"ne": ["FIRST", "DO"]}},
        ),
        ("visits to FIRST", {"tier": "FIRST"}),
        ("visits for June 2024 and 2023", None),
        ("visits by month only", None),
        ("visits by month in tier FIRST", {"tier": "FIRST"}),
        ("how much time do guests spend", None),
        ("which tier do guests have", {}),
        ("visits in tier DO", {"tier": "DO"}),
        ("visits for all tiers but NO", {"tier": {"ne": "NO"}}),
        ("visits in BOTH", {"tier": "BOTH"}),
        ("NOW", None),
        ("visits of members M-001 and M-002", {"member": ["M-001", "M-002"]}),
        ("visits of member The Lost Boys in tier TOP", None),
        ("visits of member 'The Lost Boys', tier TOP", {"member": "The Lost Boys", "tier": "TOP"}),
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
    assert filters_of(question, Vocabulary({"cinema": words})) == filters


YEARLY = tuple(f"{year}-{month:02d}" for year in (2024, 2025) for month in range(1, 13))
PLACES = ("Nice", "Bath", "Split")
SHOP = SourceWords(
    {"mrr": ()},
    {
        "cohort": DimensionWords((), ("2023", "2024")),
        "month": DimensionWords((), YEARLY, parts=("day",)),
        "day": DAYS,
        "ward": DimensionWords((), ("ER", "ICU", "OR", "General")),
        "carrier": DimensionWords((), ("DHL", "May", "Buy")),
        "origin": DimensionWords((), PLACES),
        "destination": DimensionWords((), PLACES),
        "zone": DimensionWords((), ("1", "2", "3")),
    },
)
SHOPS = Vocabulary({"shop": SHOP, "books": SHOP})
SPRING = {"month": {"between": ["2024-03", "2024-05"]}}
YEAR = {"month": {"between": ["2024-01", "2024-12"]}}


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        ("by ward in general", None),
        ("in general by carrier", None),
        ("by carrier in General", {"ward": "General"}),
        ("by carrier in the general ward", {"ward": "General"}),
        ("by cohort for 2024", None),
        ("by carrier and cohort since 2024", None),
        ("by month in 2024", None),
        ("top 2 cohorts in 2024 by mrr", None),
        ("which cohort in 2024 had the most mrr", None),
        ("for cohort 2024", {"cohort": "2024"}),
        ("for cohort 2024 in month 2024", {"cohort": "2024", **YEAR}),
        ("for cohorts 2023 and 2024, from March to May", None),
        ("for cohorts 2023 and 2024, March 2024", {"cohort": ["2023", "2024"], "month": YEARLY[2]}),
        ("by cohort in 2025", {"month": {"between": ["2025-01", "2025-12"]}}),
        ("from 2024-03 to 2024-05", SPRING),
        ("2024-03..2024-05", SPRING),
        ("from May to July 2024", {"month": {"between": ["2024-05", "2024-07"]}}),
        ("for DHL and May", {"carrier": ["DHL", "May"]}),
        ("for May and June 2024", {"month": {"between": ["2024-05", "2024-06"]}}),
        ("by carrier in May", None),
        ("with destination Split by carrier", {"destination": "Split"}),
        ("by destination split by carrier", {}),
        ("by carrier, ER, ICU and OR excluded", {"ward": {"ne": ["ER", "ICU", "OR"]}}),
        ("by carrier for ER, ICU and OR excluded", None),
        ("by carrier, ER, OR excluded", None),
        ("only ER", {"ward": "ER"}),
        ("only since March 2024", {"month": {"gte": "2024-03"}}),
        ("1-15 March 2024", {"day": {"between": ["2024-03-01", "2024-03-15"]}}),
    ],
)
def test_a_word_with_two_meanings_is_a_value_beside_its_dimension(
    question: str, filters: dict[str, object] | None
) -> None:
    assert filters_of(f"mrr of shop {question}", SHOPS) == filters


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("top 3 zones by mrr in shop", {"dimensions": ["zone"], "order": ["-mrr"], "limit": 3}),
        ("the 3 zones with the least mrr in shop", {"limit": 3, "order": ["mrr"]}),
        ("mrr of shop for 3 zone", {"filters": {"zone": "3"}}),
        ("shop vs books: mrr, tolerance 1.000,5", {"thresholds": {"match": {"absolute": 1000.5}}}),
        ("shop vs books: mrr, tolerance 1,000.5", {"thresholds": {"match": {"absolute": 1000.5}}}),
    ],
)
def test_what_a_number_is(question: str, part: dict[str, Any]) -> None:
    call = asked(question, SHOPS)
    assert {name: call[name] for name in part} == part


@pytest.mark.parametrize(
    ("question", "offers"),
    [
        ("mrr of shop by sort", ["Show mrr of shop"]),
        ("mrr of shop by cariers", ["Show mrr of shop by carrier"]),
        ("the last 3 months of mrr in shop by carrier", []),
        ("ER vs ICU mrr of shop", []),
        ("split mrr of shop by zone", ["Show mrr of shop by zone"]),
    ],
)
def test_an_offer_has_no_condition_that_nobody_stated(question: str, offers: list[str]) -> None:
    made = OfflinePlanner(SHOPS).offers(question, Earlier())
    assert [offer for offer in made if offer.startswith("Show")] == offers


def test_a_thousand_or_one() -> None:
    offers = OfflinePlanner(SHOPS).offers("shop vs books: mrr, tolerance 1,250", Earlier())
    assert [asked(offer, SHOPS)["thresholds"]["match"] for offer in offers] == [
        {"absolute": 1250},
        {"absolute": 1.25},
    ]


@pytest.mark.parametrize(
    ("question", "readings"),
    [
        (
            "mrr of shop by carrier in 2024",
            [{"cohort": "2024"}, YEAR],
        ),
        ("mrr of shop, 2024, cohort 2023", [{"cohort": "2023", **YEAR}]),
        ("mrr of shop without Nice", [{"origin": {"ne": "Nice"}}, {"destination": {"ne": "Nice"}}]),
    ],
)
def test_each_reading_of_a_value_is_offered(question: str, readings: list[Any]) -> None:
    offers = OfflinePlanner(SHOPS).offers(question, Earlier())
    assert [filters_of(offer, SHOPS) for offer in offers] == readings


def test_a_server_that_runs_over_midnight_reads_the_last_month_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    day = date(2024, 2, 29).toordinal()

    class Clock(date):
        @classmethod
        def today(cls) -> Self:
            return cls.fromordinal(day)

    monkeypatch.setattr(planner_module, "date", Clock)
    planner = OfflinePlanner(of_one(month=HALF))
    question = "amount of ledger last month"
    asked = [planner.plan(question, Earlier())]
    day += 1
    asked += [planner.plan(question, Earlier())]
    months = [each.arguments["filters"] for each in asked if isinstance(each, PlannedCall)]
    assert months == [{"month": "2024-01"}, {"month": "2024-02"}]
