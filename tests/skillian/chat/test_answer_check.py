from __future__ import annotations

from dataclasses import asdict
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillian.chat.answer_check import QUESTION, Reference, amounts_of, check_answer

RESULT = {
    "summary": {"groups": 36, "match_rate": "58.3 %", "net": "-5.00"},
    "top_differences": [
        {"key": {"period": "2024004", "day": "2024-03-31"}, "gap": "192258.87"},
        {"key": {"cost centre": "CC100"}, "gap": 0.125},
    ],
    "interpretation": ["7 of 12 groups match."],
    "sql": "SELECT 4711",
    "total": 6586678.06,
}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("36", "$.summary.groups"),
        ("58.3", "$.summary.match_rate"),
        ("58.3 %", "$.summary.match_rate"),
        ("192258.87", "$.top_differences[0].gap"),
        ("192,258.87", "$.top_differences[0].gap"),
        ("192.258,87", "$.top_differences[0].gap"),
        ("192'258.87", "$.top_differences[0].gap"),
        ("192 258.87", "$.top_differences[0].gap"),
        ("192258,87", "$.top_differences[0].gap"),
        ("-5.00", "$.summary.net"),
        ("5.00", "$.summary.net"),
        ("-5", "$.summary.net"),
        ("2024004", "$.top_differences[0].key.period"),
        ("2024-03-31", "$.top_differences[0].key.day"),
        ("7", "$.interpretation[0]"),
        ("6,586,678.06", "$.total"),
    ],
)
def test_a_number_in_a_result(text: str, path: str) -> None:
    checked = check_answer(f"It is {text}.", [RESULT])
    assert checked.unverified == ()
    assert checked.references == (Reference(text.removesuffix(" %"), 0, path),)


@pytest.mark.parametrize("text", ["192258.9", "192,259", "6586678.1", "0.13", "0.12"])
def test_a_number_that_is_rounded(text: str) -> None:
    checked = check_answer(f"It is {text}.", [RESULT])
    assert [reference.is_rounded for reference in checked.references] == [True]
    assert checked.unverified == ()


@pytest.mark.parametrize(
    "text",
    [
        "37",
        "192258.88",
        "-192258.87",
        "+5.00",
        "192258.870001",
        "190000",
        "4711",
        "2024-03-30",
        "500k",
        "1,2,3,4",
        "9" * 200,
    ],
)
def test_a_number_that_is_nowhere(text: str) -> None:
    assert len(check_answer(f"It is {text}.", [RESULT]).unverified) == 1


def test_a_comma_is_a_decimal_comma_only_if_it_cannot_be_anything_else() -> None:
    assert check_answer("1,234", [{"v": "1.234"}]).unverified == ("1,234",)
    assert check_answer("1,234", [{"v": 1234}]).unverified == ()
    assert check_answer("0,234", [{"v": "0.234"}]).unverified == ()


def test_list_numbers_names_and_ordinals_are_not_checked() -> None:
    text = "1. CC999 is the 2nd\n2) Q3 and v4\n- 3. x"
    assert check_answer(text, []) == check_answer("", [])


def test_a_range_is_two_numbers() -> None:
    checked = check_answer("2024001-2024003", [{"from": "2024001"}, '{"to": "2024003"}'])
    assert [reference.call for reference in checked.references] == [0, 1]


def test_numbers_of_the_question_may_be_repeated() -> None:
    checked = check_answer("For company 1001: none.", [], "company 1001?")
    assert checked.references == (Reference("1001", QUESTION, ""),)


def test_a_name_that_is_not_an_identifier_is_quoted_in_the_path() -> None:
    (reference,) = check_answer("3", [{"cost centre": [3]}]).references
    assert reference.path == '$["cost centre"][0]'


def test_amounts_are_no_values_of_keys_and_no_texts() -> None:
    query = {
        "columns": ["version", "amount"],
        "measures": ["amount"],
        "rows": [["2024.04", "-1234.50"], [None, 3]],
        "interpretation": ["At most 7.25."],
    }
    difference = {"key": {"account": "1,001"}, "a": "2.50", "b": None}
    behind = {"a": {"columns": ["id"], "rows": [["8.50"]]}}
    results = [query, {"top_differences": [difference]}, behind, "9.75"]
    said = "2024.04, -1,234.50, 3, 7.25, 1,001, 2.50, 8.50 and 9.75, for 6.25"
    checked = check_answer(said, results, "for 6.25")
    assert checked.unverified == ()
    references = [asdict(each) for each in checked.references]
    assert amounts_of(references, results) == {"1,234.50", "3", "2.50"}


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=4, min_value=-(10**15), max_value=10**15
    )
)
def test_a_number_is_found_however_it_is_grouped_and_rounded(value: Decimal) -> None:
    result = [{"v": format(value, "f")}]
    rounded = value.quantize(Decimal("0.01"), ROUND_HALF_UP)
    for said in (f"{value:f}", f"{value:,f}", f"{rounded:f}", f"{rounded:,f}"):
        if Decimal(said.replace(",", "")) or not value:  # "-0.00" has its own sign
            assert check_answer(f"It is {said} EUR.", result).unverified == ()


@given(
    st.text(max_size=80), st.lists(st.integers() | st.floats() | st.text(max_size=10), max_size=5)
)
def test_each_number_is_either_verified_or_listed(text: str, result: list[object]) -> None:
    checked = check_answer(text, [result])
    assert all(said in text for said in checked.unverified)
    assert all(reference.call == 0 for reference in checked.references)


@given(st.integers(min_value=0, max_value=10**12), st.integers(min_value=0, max_value=10**12))
def test_another_number_is_never_verified(text: int, known: int) -> None:
    checked = check_answer(f"It is {text}.", [{"v": known}])
    assert (checked.unverified == ()) == (text == known)
