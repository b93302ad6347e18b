"""Rules of keys: what meets, what does not, and what makes it meet."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import pytest
from tests.skillian.oracle.questions import Column, Side
from tests.skillian.oracle.rules import AMOUNT, compared, keys, side, statuses
from tests.skillian.oracle.running import Pair

INTEGER = Column("k", "integer")
TEXT = Column("k")
DATE = Column("k", "date")


def keyed(name: str, given: Sequence[Any], column: Column, /, **declared: Any) -> Side:
    """A source with a row of amount 1 for each key, and a declaration of the key."""
    rows = [(value, 1) for value in given]
    return side(name, rows, (column, AMOUNT), {"key": {"column": "k", **declared}})


DIFFERENT_TEXTS = (
    ("1001", "1001 "), ("1001", " 1001"), ("abc", "ABC"), ("é", "e\u0301"), ("é", "e"), ("ß", "ss"),
    ("1001", "01001"), ("1001", "1001\u00a0"), ("a", "a\u200b"), ("Å", "\u212b"), ("", " "),
    ("a\n", "a"), ("\uff11", "1"), ("x", "x\x01"), ("", None), (None, ""),
    ("x" * 5000, "x" * 4999 + "y"),
)  # fmt: skip


def test_texts_are_compared_exactly(pair: Pair) -> None:
    columns = (Column("n", "integer"), TEXT, AMOUNT)
    dimensions = {"number": {"column": "n"}, "key": {"column": "k"}}
    rows = [[(n, each[index], 1) for n, each in enumerate(DIFFERENT_TEXTS)] for index in (0, 1)]
    same = [(-1, "\x01\x7f\u2028a\rb😀", 1), (None, "x", 2), (None, None, 3), (-2, None, 4)]
    a, b = (side(name, [*rows[n], *same], columns, dimensions) for n, name in enumerate("ab"))
    result = compared(pair, a, b, align_on=("number", "key"))
    assert statuses(result) == {
        "match": len(same),
        "missing_in_a": len(DIFFERENT_TEXTS),
        "missing_in_b": len(DIFFERENT_TEXTS),
    }
    assert list(result.top_differences[0].key) == ["number", "key"]


def normalised(*steps: str) -> dict[str, Any]:
    return {"normalise": list(steps)}


DAY, LEAP = date(2024, 3, 5), date(2024, 2, 29)
# The declared column and the keys of a, those of b, and how many keys meet.
MEET: tuple[tuple[Column, dict[str, Any], list[Any], Column, dict[str, Any], list[Any], int], ...]
MEET = (
    (TEXT, normalised("trim"), ["1 ", " x ", "y\t", "\u00a0z"], TEXT, {}, ["1", "x", "y", "z"], 2),
    (TEXT, normalised("nfc"), ["é", "A\u030a"], TEXT, normalised("nfc"), ["e\u0301", "\u212b"], 2),
    (TEXT, normalised("lpad(3,'0')"), ["7", "12", "1234"], TEXT, {}, ["007", "012", "123"], 2),
    (TEXT, normalised("trim", "nfc", "upper"), [" e\u0301 ", "x", "X "], TEXT, {}, ["É", "X"], 2),
    # The steps run in their order, and the map sees what they make.
    (TEXT, normalised("lpad(3,'0')", "trim"), [" 7"], TEXT, {}, ["0 7", "7"], 1),
    (TEXT, {**normalised("trim", "upper"), "values": {"S": "debit"}}, [" s "], TEXT, {},
     ["debit"], 1),
    (TEXT, {"values": {"S": "H", "H": "S", '"': "o'x"}}, ["S", '"', "K", None], TEXT, {},
     ["H", "o'x", "K", None], 4),
    (TEXT, {}, ["0007"], INTEGER, {"values": {"7": "0007"}}, [7], 1),
    (TEXT, {"type": "decimal(9,2)"}, ["7", "8.5"], INTEGER, {"type": "decimal(12,0)"}, [7, 8], 1),
    (DATE, {"type": "text", "format": "%d.%m.%y"}, [DAY, LEAP], TEXT, {}, ["05.03.24"], 1),
    (DATE, {"type": "text", "format": "'%Y0%m'"}, [DAY], TEXT, {}, ["'2024003'"], 1),
)  # fmt: skip


@pytest.mark.parametrize("case", MEET, ids=lambda case: f"{case[1]} {case[4]}"[:60])
def test_declared_keys_meet(pair: Pair, case: tuple[Any, ...]) -> None:
    column_a, declared_a, a, column_b, declared_b, b, met = case
    result = compared(
        pair, keyed("a", a, column_a, **declared_a), keyed("b", b, column_b, **declared_b)
    )
    counts = statuses(result)
    assert counts.get("match", 0) + counts.get("major_diff", 0) == met


def test_keys_of_every_type_meet_and_come_back_as_they_are(pair: Pair) -> None:
    kinds = {"day": "date", "flag": "boolean", "time": "timestamp", "number": "integer"}
    columns = (*(Column(name, kind) for name, kind in kinds.items()), AMOUNT)
    dimensions = {column.name: {"column": column.name} for column in columns[:-1]}
    moment = datetime(2024, 1, 1, 12, 0, 0, 1)  # noqa: DTZ001
    rows = [
        (LEAP, True, moment, 2**63 - 1, 1),
        (date(1, 1, 1), False, None, -(2**63), 2),
        (date(9999, 12, 31), None, moment, 0, 3),
        (None, True, moment, None, 4),
    ]
    asked = {"align_on": tuple(dimensions)}
    a, b = (side(name, rows, columns, dimensions) for name in "ab")
    assert statuses(compared(pair, a, b, **asked)) == {"match": len(rows)}
    none = side("b", [], columns, dimensions)
    result = compared(pair, a, none, **asked)
    shown = {tuple(item.key.values()) for item in result.top_differences}
    assert shown == {row[:-1] for row in rows}
    assert keys(result)[-1] == LEAP
