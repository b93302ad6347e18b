"""Questions of fourteen domains: each has its call, or a question back that names what is unclear.

They were written before the planner. A wrong call, which answers another question, is never
accepted; a question back to a plain question offers sentences that are understood.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.skillian.llm.asking import ask
from tests.skillian.llm.domains import (
    DOMAINS,
    Asked,
    asked_back,
    expected_call,
    questions,
    vocabulary_of,
)

from skillian.chat.check.grounded import offers_of
from skillian.offline.calls import PlannedCall, sentence_of
from skillian.offline.earlier import Earlier
from skillian.offline.language.vocabulary import DimensionWords, SourceWords, Vocabulary
from skillian.offline.planner import NOT_UNDERSTOOD, OfflinePlanner
from skillian.offline.wording import OFFERS

ALL = [each for domain in DOMAINS for each in questions(domain)]
ANSWERED = [each for each in ALL if "refused" not in each.expected]
REFUSED = [each for each in ALL if "refused" in each.expected]


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Vocabulary]:
    folders: dict[str, Path] = {name: tmp_path_factory.mktemp(name) for name in DOMAINS}
    return {name: asyncio.run(vocabulary_of(name, folder)) for name, folder in folders.items()}


async def test_no_question_has_another_call_than_was_written_for_it(
    vocabularies: dict[str, Vocabulary],
) -> None:
    wrong: list[str] = []
    asked_back: list[str] = []
    for each in ANSWERED:
        name, arguments, text = await ask(each, vocabularies[each.domain])
        if not name:
            asked_back.append(f"{each.question} -> {text}")
            assert "\n- " in text
        elif (name, arguments) != expected_call(each.expected):
            wrong.append(f"{each.question} -> {name} {arguments}")
    assert len(ALL) >= 650
    assert wrong == []
    assert len(asked_back) <= 0.15 * len(ANSWERED), "\n".join(asked_back)
    offering = [text for text in asked_back if f"\n{OFFERS}\n" in text]
    assert len(offering) >= 0.5 * len(asked_back)


async def test_what_the_sources_cannot_express_is_asked_back_by_name(
    vocabularies: dict[str, Vocabulary],
) -> None:
    answered: list[str] = []
    others: list[str] = []
    for each in REFUSED:
        name, arguments, text = await ask(each, vocabularies[each.domain])
        reason = text.split("\n")[0].lower()
        if name:
            answered.append(f"{each.question} -> {name} {arguments}")
        elif not all(word.lower() in reason for word in each.expected["refused"]):
            others.append(f"{each.question} -> {reason}")
    assert len(REFUSED) >= 200
    assert answered == []
    assert len(others) <= 0.2 * len(REFUSED), "\n".join(others)


async def test_what_has_several_readings_is_asked_back(
    vocabularies: dict[str, Vocabulary],
) -> None:
    answered: list[str] = []
    for domain, conversations in asked_back().items():
        for *before, question in conversations:
            name, arguments, _ = await ask(
                Asked(domain, question, {}, tuple(before)), vocabularies[domain]
            )
            if name:
                answered.append(f"{before} {question} -> {name} {arguments}")
    assert answered == []


async def test_each_call_has_a_sentence_that_is_read_as_this_call(
    vocabularies: dict[str, Vocabulary],
) -> None:
    others: list[str] = []
    for each in ANSWERED:
        call = PlannedCall(*expected_call(each.expected))
        sentences = (sentence_of(call), sentence_of(call, is_quoted=True))
        planner = OfflinePlanner(vocabularies[each.domain])
        plans = [planner.plan(sentence, Earlier()) for sentence in sentences if sentence]
        others += [f"{sentences[0]} -> {plans[0]}"] if plans and call not in plans else []
    assert len(others) <= 0.01 * len(ANSWERED), "\n".join(others)


@pytest.mark.parametrize("condition", ["net of tolls", "for bulk goods", "at dawn", "by hand"])
@pytest.mark.parametrize("domain", DOMAINS)
async def test_an_unknown_condition_is_named_wherever_it_stands(
    vocabularies: dict[str, Vocabulary], domain: str, condition: str
) -> None:
    vocabulary = vocabularies[domain]
    first, second, *_ = vocabulary.sources
    measure = next(
        n for n in vocabulary.sources[first].measures if n in vocabulary.sources[second].measures
    )
    asked = f"compare {measure} between {first} and {second}"
    split_at = asked.index(" between")
    for question in (
        f"{condition}, {asked}",
        f"{asked} {condition}",
        f"{asked[:split_at]} {condition}{asked[split_at:]}",
    ):
        name, arguments, text = await ask(Asked(domain, question, {}), vocabulary)
        assert (name, arguments) == ("", {}), question
        assert condition.rsplit(maxsplit=1)[-1] in text.split("\n")[0]


ROWS = Vocabulary(
    {
        name: SourceWords({}, {"country": DimensionWords((), ("Germany", "France"))})
        for name in ("customers", "clients")
    }
)


async def test_sources_without_measures_are_compared_by_their_rows() -> None:
    both = {"source_a": "customers", "source_b": "clients"}
    for question, call in (
        ("Compare customers and clients", both),
        ("For France, compare customers and clients", {**both, "filters": {"country": "France"}}),
    ):
        name, arguments, _ = await ask(Asked("", question, {}), ROWS)
        assert (name, arguments) == ("compare_sources", call), question


async def test_what_a_comparison_of_rows_cannot_do_is_asked_back() -> None:
    for question in (
        "Compare customers and clients by country",
        "Compare customers and clients with a tolerance of 5 %",
        "Compare revenue between customers and clients",
    ):
        name, _, text = await ask(Asked("", question, {}), ROWS)
        assert name == "", question
        assert "customers" in text


async def test_a_source_without_measures_has_no_largest() -> None:
    name, _, _ = await ask(Asked("", "top 3 countries of customers", {}), ROWS)
    assert name == ""


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("Compare minutes between switch and rating for data", {"service": "data"}),
        ("Data: compare minutes between switch and rating", None),
        ("Show the data of rating", None),
        (
            "Compare minutes between switch and rating for voice and data",
            {"service": ["voice", "data"]},
        ),
    ],
)
async def test_a_value_that_is_also_a_common_word_is_never_dropped(
    vocabularies: dict[str, Vocabulary], question: str, condition: dict[str, object] | None
) -> None:
    name, arguments, text = await ask(Asked("telecom", question, {}), vocabularies["telecom"])
    assert arguments.get("filters") == condition
    assert bool(name) is (condition is not None)
    assert name or "data" in text.split("\n")[0].lower()


@pytest.mark.parametrize(
    ("before", "question", "offered"),
    [
        (
            "",
            "web_shop revenue by category, but without Bikes honestly",
            "Show revenue of web_shop by category, without category Bikes",
        ),
        (
            "",
            "which 5 categories gained the fewest orders in erp?",
            "Show orders of erp by category, sorted by orders, first 5 rows",
        ),
        (
            "",
            "frobnicate ravenue of erp for Germany by month",
            "Show revenue of erp by month, for country Germany",
        ),
        (
            "revenue of erp by channel for May 2024",
            "not May but June, honestly",
            'Show revenue of erp by channel, for month "2024-06"',
        ),
        (
            "revenue of erp for Germany",
            "honestly, I meant France",
            "Show revenue of erp, for country France",
        ),
        (
            "compare revenue between erp and web_shop with a tolerance of 2 %",
            "let us say 5 %",
            "Compare revenue between erp and web_shop, with a tolerance of 5 %",
        ),
        (
            "revenue of erp by country for web",
            "honestly, all channels",
            "Show revenue of erp by country",
        ),
    ],
)
async def test_what_is_not_read_offers_a_question_with_all_that_is_read(
    vocabularies: dict[str, Vocabulary], before: str, question: str, offered: str
) -> None:
    asked = Asked("shop", question, {}, (before,) if before else ())
    name, _, text = await ask(asked, vocabularies["shop"])
    assert name == ""
    assert offers_of(text, NOT_UNDERSTOOD)[0] == offered


@pytest.mark.parametrize(
    "question",
    [
        *("revenue of erp for everyone but Germany", "revenue of erp, nor Germany"),
        *("revenue of erp minus Germany", "revenue of erp, -web"),
        "best 3 countries by revenue in erp",
    ],
)
async def test_no_offer_turns_a_question_around(
    vocabularies: dict[str, Vocabulary], question: str
) -> None:
    name, _, text = await ask(Asked("shop", question, {}), vocabularies["shop"])
    assert name == ""
    offered = " ".join(offers_of(text, NOT_UNDERSTOOD))
    assert "for country Germany" not in offered
    assert "for channel web" not in offered
    assert "sorted by revenue, first" not in offered


@pytest.mark.parametrize(
    ("question", "offered"),
    [
        ("revenue by country", "Show revenue of erp by country"),
        ("top 3 countries by revenue", "Show revenue of erp by country, sorted by revenue desc"),
        (
            "Revenue of erp, ignore differences under 5 euros",
            "between erp and web_shop, with a tol",
        ),
        ("Which countries are missing between web_shop and erp in revenue?", "Compare revenue"),
        ("Revenue of erp, 2024-03-31", "Show revenue of erp"),
    ],
)
async def test_what_is_asked_back_offers_what_it_may_mean(
    vocabularies: dict[str, Vocabulary], question: str, offered: str
) -> None:
    name, _, text = await ask(Asked("shop", question, {}), vocabularies["shop"])
    assert name == ""
    assert offered in " ".join(offers_of(text, NOT_UNDERSTOOD))
