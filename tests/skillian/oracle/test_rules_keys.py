"""Rules of keys: what meets, what does not, and what makes it meet."""

import unicodedata
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.oracle.questions import Column, Side
from tests.skillian.oracle.rules import AMOUNT, Rows, compared, keys, only, question, side, statuses
from tests.skillian.oracle.running import Pair

from skillian.errors import QueryError

INTEGER = Column("k", "integer")
TEXT = Column("k")
DATE = Column("k", "date")


def keyed(name: str, rows: Rows, column: Column, **declared: Any) -> Side:
    """A source whose key is `column`, with a declaration."""
    return side(name, rows, (column, AMOUNT), {"key": {"column": "k", **declared}})


def ones(*values: Any) -> Rows:
    """A row for each key, of amount 1."""
    return [(value, 1) for value in values]


def test_a_null_key_equals_a_null_key(pair: Pair) -> None:
    result = compared(pair, ones(None, None), [(None, 2)])
    assert statuses(result) == {"match": 1}


def test_null_in_one_part_of_a_key_equals_null_in_the_same_part(pair: Pair) -> None:
    columns = (Column("k"), Column("p", "integer"), AMOUNT)
    dimensions = {"key": {"column": "k"}, "period": {"column": "p"}}
    rows = [("x", None, 1), (None, 7, 2), (None, None, 3)]
    result = compared(
        pair,
        side("a", rows, columns, dimensions),
        side("b", [*rows, ("x", 7, 1)], columns, dimensions),
        align_on=("key", "period"),
    )
    assert statuses(result) == {"match": 3, "missing_in_a": 1}


def test_an_empty_text_is_not_null(pair: Pair) -> None:
    result = compared(pair, ones(""), ones(None))
    assert statuses(result) == {"missing_in_a": 1, "missing_in_b": 1}
    assert keys(result) == ["", None]


DIFFERENT_TEXTS = (
    ("1001", "1001 "), ("1001", " 1001"), ("abc", "ABC"), ("é", "e\u0301"), ("é", "e"), ("ß", "ss"),
    ("1001", "01001"), ("1001", "1001\u00a0"), ("a", "a\u200b"), ("Å", "\u212b"), ("", " "),
    ("a\n", "a"), ("\uff11", "1"), ("x", "x\x01"),
)  # fmt: skip


def test_texts_are_compared_exactly(pair: Pair) -> None:
    columns = (Column("n", "integer"), TEXT, AMOUNT)
    dimensions = {"number": {"column": "n"}, "key": {"column": "k"}}
    rows = [[(n, each[index], 1) for n, each in enumerate(DIFFERENT_TEXTS)] for index in (0, 1)]
    a, b = (side(name, rows[n], columns, dimensions) for n, name in enumerate("ab"))
    result = compared(pair, a, b, align_on=("number", "key"))
    assert statuses(result) == {
        "missing_in_a": len(DIFFERENT_TEXTS),
        "missing_in_b": len(DIFFERENT_TEXTS),
    }


@pytest.mark.parametrize(
    ("steps", "a", "b"),
    [
        (["trim"], ["1001 ", " x "], ["  1001", "x"]),
        (["upper"], ["abc", "é", "ß", "я"], ["ABC", "É", "ß", "Я"]),
        (["nfc"], ["é", "A\u030a"], ["e\u0301", "\u212b"]),
        (["lpad(3,'0')"], ["7", "12"], ["007", "12"]),
        (["lpad(10, '0')"], ["7"], ["0000000007"]),
        (["trim", "nfc", "upper"], [" e\u0301 "], ["É"]),
        (["lpad(3,'%')"], ["x"], ["%%x"]),
        (["lpad(2,'é')"], ["é"], ["éé"]),
        (["trim", "lpad(2,'0')"], [" 7"], ["07"]),
    ],
)
def test_declared_steps_make_keys_meet(
    pair: Pair, steps: list[str], a: list[str], b: list[str]
) -> None:
    one, other = (
        keyed(name, ones(*values), TEXT, normalise=steps) for name, values in (("a", a), ("b", b))
    )
    assert statuses(compared(pair, one, other)) == {"match": len(a)}


def test_steps_run_in_their_order(pair: Pair) -> None:
    a = keyed("a", ones(" 7"), TEXT, normalise=["lpad(3,'0')", "trim"])
    b = keyed("b", ones("0 7", "7"), TEXT)
    result = compared(pair, a, b)
    assert statuses(result) == {"match": 1, "missing_in_a": 1}
    assert keys(result) == ["7"]


def test_padding_cuts_nothing(pair: Pair) -> None:
    a = keyed("a", ones("1234", "123"), TEXT, normalise=["lpad(3,'0')"])
    b = keyed("b", ones("1235", "123"), TEXT, normalise=["lpad(3,'0')"])
    assert statuses(compared(pair, a, b)) == {"match": 1, "missing_in_a": 1, "missing_in_b": 1}


def test_trimming_takes_spaces_only(pair: Pair) -> None:
    a = keyed("a", ones("x\t", "\u00a0x", " x "), TEXT, normalise=["trim"])
    result = compared(pair, a, ones("x"))
    assert statuses(result) == {"match": 1, "missing_in_b": 2}


def test_keys_that_a_step_makes_equal_are_one_group(pair: Pair) -> None:
    a = keyed("a", ones("x", "X ", None), TEXT, normalise=["trim", "upper"])
    result = compared(pair, a, [("X", 2), (None, 1)])
    assert statuses(result) == {"match": 2}


def test_a_map_of_values_translates_and_leaves_the_rest(pair: Pair) -> None:
    a = keyed("a", ones("D", "K", "o'x", None), TEXT)
    b = keyed("b", ones("S", "H", '"', None), TEXT, values={"S": "D", "H": "K", '"': "o'x"})
    assert statuses(compared(pair, a, b)) == {"match": 4}
    b = keyed("b", ones("S", "K"), TEXT, values={"S": "D"})
    assert statuses(compared(pair, a, b)) == {"match": 2, "missing_in_b": 2}


def test_a_map_may_swap_values(pair: Pair) -> None:
    a, b = [("S", 1), ("H", 2)], [("H", 1), ("S", 2)]
    swapped = keyed("b", b, TEXT, values={"S": "H", "H": "S"})
    assert statuses(compared(pair, a, swapped)) == {"match": 2}


def test_a_map_sees_what_the_steps_made(pair: Pair) -> None:
    a = keyed("a", ones(" s "), TEXT, normalise=["trim", "upper"], values={"S": "debit"})
    assert statuses(compared(pair, a, ones("debit"))) == {"match": 1}


@pytest.mark.parametrize(
    ("one", "other", "value_a", "value_b"),
    [
        (TEXT, INTEGER, "7", 7),
        (INTEGER, Column("k", "decimal"), 7, Decimal(7)),
        (DATE, Column("k", "timestamp"), date(2024, 1, 1), datetime(2024, 1, 1)),  # noqa: DTZ001
        (TEXT, DATE, "2024-01-01", date(2024, 1, 1)),
        (TEXT, Column("k", "boolean"), "true", True),
    ],
)
def test_undeclared_different_types_are_an_error_with_the_fix(
    one_pair: Pair, one: Column, other: Column, value_a: Any, value_b: Any
) -> None:
    asked = question(keyed("a", ones(value_a), one), keyed("b", ones(value_b), other))
    with pytest.raises(QueryError, match=r"'key' is .* in a and .* in b; .*`type: text`") as error:
        one_pair.compared(asked)
    assert error.value.to_dict()["type"] == "query_error"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"type": "integer"}, {}),
        ({}, {"normalise": ["lpad(4,'0')"]}),
        ({}, {"values": {"7": "0007", "8": "0008"}}),
        ({"type": "integer"}, {"type": "integer"}),
        ({"type": "decimal(9,2)"}, {"type": "decimal(12,0)"}),
    ],
)
def test_declared_types_make_texts_and_numbers_meet(
    pair: Pair, a: dict[str, Any], b: dict[str, Any]
) -> None:
    one = keyed("a", [("0007", 1), ("0008", 2)], TEXT, **a)
    other = keyed("b", [(7, 1), (8, 3)], INTEGER, **b)
    assert statuses(compared(pair, one, other)) == {"match": 1, "major_diff": 1}


def test_text_of_a_number_has_no_leading_zeros_by_itself(pair: Pair) -> None:
    a, b = keyed("a", ones("007", "8"), TEXT), keyed("b", ones(7, 8), INTEGER, type="text")
    assert statuses(compared(pair, a, b)) == {"match": 1, "missing_in_a": 1, "missing_in_b": 1}


@pytest.mark.parametrize("bad", ["1.5", "1e3", " 7", "0x1F", "\u0667"])
def test_a_text_that_is_not_a_whole_number_is_named(pair: Pair, bad: str) -> None:
    a = keyed("a", ones("7", bad), TEXT, type="integer")
    with pytest.raises(QueryError, match=r"(?i)bigint") as error:
        pair.compared(question(a, keyed("b", ones(7), INTEGER)))
    assert bad in str(error.value)


def test_a_number_that_would_be_rounded_is_refused(one_pair: Pair) -> None:
    column = Column("k", "decimal", 2, 10)
    asked = question(keyed("a", ones("1.25"), column, type="integer"), keyed("b", ones(1), INTEGER))
    with pytest.raises(QueryError, match="rounded"):
        one_pair.compared(asked)


def test_a_text_with_too_many_digits_is_not_rounded(pair: Pair) -> None:
    a = keyed("a", ones("1.234"), TEXT, type="decimal(9,2)")
    b = keyed("b", ones("1.23"), Column("k", "decimal", 2, 9))
    with pytest.raises(QueryError, match=r"1\.234"):
        pair.compared(question(a, b))


@pytest.mark.parametrize(
    ("written", "pattern"),
    [("31.12.2024", "%d.%m.%Y"), ("20241231", "%Y%m%d")],
)
def test_a_format_reads_dates_from_text(pair: Pair, written: str, pattern: str) -> None:
    a = keyed("a", ones(written, None), TEXT, type="date", format=pattern)
    b = keyed("b", ones(date(2024, 12, 31), None), DATE)
    assert statuses(compared(pair, a, b)) == {"match": 2}


def test_a_format_reads_dates_from_numbers(pair: Pair) -> None:
    a = keyed("a", ones(20241231), INTEGER, type="date", format="%Y%m%d")
    b = keyed("b", ones(date(2024, 12, 31)), DATE)
    assert statuses(compared(pair, a, b)) == {"match": 1}


@pytest.mark.parametrize("pattern", ["%Y0%m", "%d.%m.%y", "'%Y-%m'"])
def test_a_format_writes_dates_as_text(pair: Pair, pattern: str) -> None:
    day = date(2024, 3, 5)
    a = keyed("a", ones(day, date(2024, 4, 5)), DATE, type="text", format=pattern)
    result = compared(pair, a, ones(day.strftime(pattern)))
    assert statuses(result) == {"match": 1, "missing_in_b": 1}


@pytest.mark.parametrize("bad", ["2023-02-29", "yesterday", "2024-1-1"])
def test_a_text_that_is_not_a_date_is_refused(pair: Pair, bad: str) -> None:
    asked = question(
        keyed("a", ones(bad), TEXT, type="date"), keyed("b", ones(date(2024, 1, 1)), DATE)
    )
    with pytest.raises(QueryError):
        pair.compared(asked)


def test_integers_past_what_a_float_holds_are_keys(pair: Pair) -> None:
    big = 2**53
    a, b = keyed("a", ones(big, big + 1), INTEGER), keyed("b", ones(big + 1, big + 2), INTEGER)
    result = compared(pair, a, b)
    assert statuses(result) == {"match": 1, "missing_in_a": 1, "missing_in_b": 1}
    assert keys(result) == [big, big + 2]
    assert result.to_dict()["top_differences"][1]["key"] == {"key": str(big + 2)}  # type: ignore[index]


def test_decimals_of_two_scales_are_equal_by_value(pair: Pair) -> None:
    a = keyed("a", ones("1.50", "2.00"), Column("k", "decimal", 2, 10))
    b = keyed("b", ones("1.5000", "2.0001"), Column("k", "decimal", 4, 20))
    assert statuses(compared(pair, a, b)) == {"match": 1, "missing_in_a": 1, "missing_in_b": 1}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (DATE, (date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), None)),
        (Column("k", "boolean"), (True, False, None)),
        (Column("k", "timestamp"), (datetime(2024, 1, 1, 12, 0, 0, 1), None)),  # noqa: DTZ001
        (INTEGER, (0, -1, 2**63 - 1, -(2**63), None)),
    ],
)
def test_keys_of_every_type_meet_and_come_back_as_they_are(
    pair: Pair, column: Column, values: tuple[Any, ...]
) -> None:
    a = keyed("a", ones(*values), column)
    assert statuses(compared(pair, a, keyed("b", ones(*values), column))) == {"match": len(values)}
    result = compared(pair, a, keyed("b", [], column))
    assert set(keys(result)) == set(values)


def test_a_time_as_a_date_is_its_day(pair: Pair) -> None:
    times = [datetime(2024, 1, 1, hour) for hour in (0, 23)]  # noqa: DTZ001
    a = keyed("a", ones(*times), Column("k", "timestamp"), type="date")
    result = compared(pair, a, keyed("b", [(date(2024, 1, 1), 2)], DATE))
    assert statuses(result) == {"match": 1}


def test_the_order_of_alignment_is_the_order_of_the_key(one_pair: Pair) -> None:
    columns = (Column("k"), Column("p", "integer"), AMOUNT)
    dimensions = {"key": {"column": "k"}, "period": {"column": "p"}}
    a = side("a", [("x", 1, 1)], columns, dimensions)
    result = compared(one_pair, a, side("b", [], columns, dimensions), align_on=("period", "key"))
    assert list(only(result).key) == ["period", "key"]


def test_long_texts_and_controls_are_keys(pair: Pair) -> None:
    texts = ("x" * 5000, "x" * 4999 + "y", "\x01\x7f", "\u2028", "a\rb", "😀" * 50)
    result = compared(pair, ones(*texts[:4]), ones(*texts[1:]))
    assert statuses(result) == {"match": 3, "missing_in_a": 2, "missing_in_b": 1}
    assert unicodedata.is_normalized("NFC", texts[0])
