"""Dimensions as two systems write them: how each member looks on both sides, and what is declared.

A theme's members come as (in a, in b). The same member written differently must meet by what is
declared, and by nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from tests.support.places import Column

Members = st.SearchStrategy[tuple[Any, Any]]

TEXTS = (
    "1001", "1001 ", " 1001", "01001", "", " ", "a", "A", "é", "e\u0301", "É", "o'neil", "o''neil",
    '"; DROP TABLE a; --', "' OR '1'='1", "/* x */", "\\", "\\N", "\\'", "NULL", "null", "%", "_",
    "%s", "%(p0)s", "$p0", ":p0", "?", "{}", "a\nb", "a\tb", "a\r\nb", ",", '"', "名前", "😀",
    "👨\u200d👩\u200d👧", "שלום", "\u200f1001", "\u00a01001", "\ufeffx", "Straße", "STRASSE", "ﬁ",
    "\u0130", "\u0131",
)  # fmt: skip
# What every database turns into capitals in the same way: one letter for one letter.
CASED = ("abc", "ABC", "Abc", " abc", "abc ", "é", "É", "e\u0301", "äöü", "ÄÖÜ", "я", "Я", "1a", "")


@dataclass(frozen=True)
class Theme:
    """One dimension on both sides; `a` and `b` are columns still without a name."""

    members: Members
    a: Column = field(default=Column(""))
    b: Column = field(default=Column(""))
    declared_a: Mapping[str, Any] = field(default_factory=dict)
    declared_b: Mapping[str, Any] = field(default_factory=dict)


def alike(values: Sequence[Any]) -> Members:
    """Members that both sides write alike."""
    return st.sampled_from([(value, value) for value in values])


def written(a: Sequence[Any], b: Sequence[Any]) -> Members:
    """Members that the two sides write differently, pair by pair."""
    return st.sampled_from(list(zip(a, b, strict=True)))


def column(kind: str, scale: int = 2, precision: int = 24) -> Column:
    return Column("", kind, scale, precision)


# Text without a lone surrogate and without NUL, which PostgreSQL does not hold.
letter = st.characters(codec="utf-8", exclude_characters="\x00")
letters = st.text(letter, max_size=3).map(lambda text: (text, text))

INTEGERS = (0, 7, -7, 42, 2024001, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, -(2**63))
DAYS = tuple(date(2024, 1, 31) + timedelta(days=step) for step in (0, 1, 29, 30, -31, 335))
MIDNIGHT = datetime(2024, 1, 31)  # noqa: DTZ001 - without a zone
TIMES = tuple(MIDNIGHT + timedelta(seconds=seconds) for seconds in (0, 45001, 0.5))
PRICES = tuple(Decimal(text) for text in ("0.00", "1.50", "-1.50", "1.25", "99999999.99"))

TEXT = Theme(st.one_of(alike(TEXTS), letters))
INTEGER = Theme(alike(INTEGERS), column("integer"), column("integer"))
BOOLEAN = Theme(alike((True, False)), column("boolean"), column("boolean"))
DATE = Theme(alike(DAYS), column("date"), column("date"))
TIMESTAMP = Theme(alike(TIMES), column("timestamp"), column("timestamp"))
PRICE = Theme(alike(PRICES), column("decimal", 2, 10), column("decimal", 4, 20))

PLAIN = (TEXT, INTEGER, BOOLEAN, DATE, TIMESTAMP, PRICE)
FIVE, THREE = ({"normalise": [f"lpad({digits},'{sign}')"]} for digits, sign in ((5, "0"), (3, "%")))
NORMALISED = (
    Theme(alike(CASED), declared_a={"normalise": ["trim", "upper", "nfc"]},
          declared_b={"normalise": ["nfc", "trim", "upper"]}),
    Theme(alike((*CASED, *TEXTS)), declared_a={"normalise": ["trim"]},
          declared_b={"normalise": []}),
    Theme(written(("0007", "00042", "7", "12345"), (7, 42, 7, 12345)), b=column("integer"),
          declared_a=FIVE, declared_b=FIVE),
    Theme(alike(("%", "é", "abcdef", "", "xé", "😀")), declared_a=THREE, declared_b=THREE),
    # The steps run in their order, and the map sees what they make.
    Theme(alike(("7", "07", "0 7", " 7")), declared_a={"normalise": ["lpad(3,'0')", "trim"]}),
    Theme(alike(("s", " S", "debit", "DEBIT")),
          declared_a={"normalise": ["trim", "upper"], "values": {"S": "debit"}}),
)  # fmt: skip
MAPPED = (
    Theme(written(("D", "K", "o'x", "S"), ("S", "H", "'", "D")),
          declared_b={"values": {"S": "D", "H": "K", "'": "o'x", "D": "S"}}),
    Theme(written((1, 2, 3), ("one", "two", "3")), column("integer"),
          declared_a={"values": {"1": "one", "2": "two"}}),
    Theme(written((1, 2, 3), (10, 20, 3)), column("integer"), column("integer"),
          {"values": {"1": "10", "2": "20"}, "type": "integer"}),
)  # fmt: skip
FEW = (PRICES[1], PRICES[2], PRICES[0])
A_TYPED: tuple[tuple[Sequence[Any], Sequence[Any], Column, str], ...] = (
    (("007", "+8", "-9", "0"), (7, 8, -9, 0), column("integer"), "integer"),
    (("1.5", "1.50", "-2", "0.25"), PRICES[1:2] * 2 + PRICES[:2], column("decimal", 2, 10),
     "decimal(10,2)"),
    (("true", "false"), (True, False), column("boolean"), "boolean"),
)  # fmt: skip
B_TEXT: tuple[tuple[Sequence[Any], Sequence[Any], Column], ...] = (
    (("7", "8", "-9", "007"), (7, 8, -9, 7), column("integer")),
    (("1.50", "-1.50", "0.00"), FEW, column("decimal", 2, 10)),
    (("true", "false"), (True, False), column("boolean")),
)
TYPED = (
    Theme(alike(("7", "07", "8")), declared_a={"type": "text"}, declared_b={"type": "text"}),
    *(Theme(written(a, b), b=kind, declared_a={"type": goal}) for a, b, kind, goal in A_TYPED),
    *(Theme(written(a, b), b=kind, declared_b={"type": "text"}) for a, b, kind in B_TEXT),
)
DAY_TEXTS, TIME_TEXTS = [str(day) for day in DAYS], [str(time) for time in TIMES]
DATED = (
    Theme(written(DAY_TEXTS, DAYS), b=column("date"), declared_a={"type": "date"}),
    Theme(written([f"{day:%d.%m.%Y}" for day in DAYS], DAYS), b=column("date"),
          declared_a={"type": "date", "format": "%d.%m.%Y"}),
    Theme(written([int(f"{day:%Y%m%d}") for day in DAYS], DAYS), column("integer"),
          column("date"), {"type": "date", "format": "%Y%m%d"}),
    Theme(written([f"{day:%Y-%m}" for day in DAYS], DAYS), b=column("date"),
          declared_b={"type": "text", "format": "%Y-%m"}),
    Theme(written(DAY_TEXTS, DAYS), b=column("date"), declared_b={"type": "text"}),
    Theme(written([f"'{day:%y0%m}'" for day in DAYS], DAYS), b=column("date"),
          declared_b={"type": "text", "format": "'%y0%m'"}),
    Theme(written(TIMES, [day.date() for day in TIMES]), column("timestamp"), column("date"),
          {"type": "date"}),
    Theme(written(TIME_TEXTS, TIMES), b=column("timestamp"), declared_a={"type": "timestamp"}),
    Theme(written([f"{time:%Y%m%d %H:%M:%S}" for time in TIMES], TIMES), column("text"),
          column("timestamp"), {"type": "text"}, {"type": "text", "format": "%Y%m%d %H:%M:%S"}),
)  # fmt: skip
# Kinds that differ without a declaration, and hold the same values.
WHOLE = (7, -7, 8, 2**53 + 1)
MIDNIGHTS = tuple(datetime.combine(day, time()) for day in DAYS)
WIDENED = (
    Theme(written(WHOLE, [*map(Decimal, WHOLE)]), column("integer"), column("decimal")),
    Theme(written(MIDNIGHTS, DAYS), column("timestamp"), column("date")),
    Theme(written(DAYS, MIDNIGHTS), column("date"), column("timestamp")),
)
AGREEING = (*PLAIN, *NORMALISED, *MAPPED, *TYPED, *DATED, *WIDENED)
