"""Random tables for comparisons of rows: every type, NULL, repeated keys, deceptive values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from tests.support.places import Column, Table

from skillian.data.declare.rules import Rule

TEXTS = (
    *("x", "X", "x ", " x", "x  y", "x y", "", "é", "e\u0301", "o'x", "😀", "ß", 'x,"y'),
    *("%s", "a\tb"),
)
WHOLE = (0, 1, -1, 2, 100, 2**53, 2**53 + 1, -(2**63), 2**63 - 1)
MONEY = ("0.00", "0.01", "-0.01", "1.00", "1.01", "100.00", "-100.00", "101.00", "9999999999999.99")
FLOATS = (0.0, 0.1, 0.30000000000000004, 0.3, 1e-7, 1.5, -1.5, 1e15, 123456.789)
ODD_FLOATS = (math.nan, math.inf, -math.inf, 1e300, 5e-324)
_TIMES = ("2024-01-01", "2024-01-01 00:00:00.000001", "2024-01-01 00:00:05")
_OLD_TIMES = ("2023-12-31 23:59:59.999999", "1999-06-01 12:30:00")
MOMENTS = tuple(map(datetime.fromisoformat, (*_TIMES, *_OLD_TIMES)))
VALUES: dict[str, Sequence[Any]] = {
    "text": TEXTS,
    "integer": WHOLE,
    "decimal": tuple(map(Decimal, MONEY)),
    "float": (*FLOATS, *ODD_FLOATS),
    "boolean": (True, False),
    "date": (date(2024, 1, 1), date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31)),
    "timestamp": MOMENTS,
    "timestamptz": tuple(moment.replace(tzinfo=UTC) for moment in MOMENTS),
}
_LARGE = 1e12
TEXT_RULES = ("trim", "ignore_case", "nfc", "collapse_whitespace", "empty_is_null")
# Pairs of kinds that have a common form.
PAIRS = (
    *((kind, kind) for kind in VALUES),
    *(("integer", "decimal"), ("decimal", "integer"), ("float", "decimal"), ("integer", "float")),
    *(("boolean", "integer"), ("date", "timestamp"), ("timestamp", "timestamptz")),
)


@dataclass(frozen=True)
class Limits:
    """What a kind of database cannot hold."""

    kinds: frozenset[str] = frozenset(VALUES)
    without: tuple[Any, ...] = ()
    odd_floats: bool = True


@dataclass(frozen=True)
class RowCase:
    a: Table
    b: Table
    keys: tuple[str, ...]
    rules: dict[str, Rule] = field(default_factory=dict[str, Rule])


@st.composite
def row_cases(draw: st.DrawFn, one: Limits, other: Limits) -> RowCase:
    """Return two tables with the same names of columns; b is a with some changes."""
    pairs = [pair for pair in PAIRS if pair[0] in one.kinds and pair[1] in other.kinds]
    keys = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=2))
    cells = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=4))
    kinds = [*keys, *cells]
    names = [f"k{n}" for n in range(len(keys))] + [f"c{n}" for n in range(len(cells))]
    scales = [draw(st.sampled_from(((2, 2), (2, 4), (4, 2)))) for _ in kinds]
    values = [_values(pair, one, other) for pair in kinds]
    rows_a = draw(st.lists(st.tuples(*(values[n][0] for n in range(len(kinds)))), max_size=7))
    rows_b = [tuple(map(_as, row, kinds)) for row in rows_a if draw(st.integers(0, 9)) < 9]
    rows_b = [
        tuple(
            draw(values[n][1]) if draw(st.integers(0, 7)) == 0 else cell
            for n, cell in enumerate(row)
        )
        for row in rows_b
    ]
    rows_b += draw(st.lists(st.tuples(*(values[n][1] for n in range(len(kinds)))), max_size=2))
    tables = [
        Table(
            f"table_{side}",
            tuple(
                Column(name, kind[index], scale[index])
                for name, kind, scale in zip(names, kinds, scales, strict=True)
            ),
            tuple(rows),
        )
        for index, (side, rows) in enumerate((("a", rows_a), ("b", rows_b)))
    ]
    rules = {
        name: draw(_rules(kind)) if name.startswith("c") or kind == ("text", "text") else Rule()
        for name, kind in zip(names, kinds, strict=True)
    }
    return RowCase(tables[0], tables[1], tuple(names[: len(keys)]), rules)


def _values(
    pair: tuple[str, str], one: Limits, other: Limits
) -> tuple[st.SearchStrategy[Any], st.SearchStrategy[Any]]:
    sides: list[st.SearchStrategy[Any]] = []
    for kind, partner in (pair, pair[::-1]):
        pool = [each for each in VALUES[kind] if _fits(each, kind, partner, (one, other))]
        sides.append(st.none() | st.sampled_from(pool) | st.sampled_from(pool))
    return sides[0], sides[1]


def _fits(value: Any, kind: str, partner: str, limits: Sequence[Limits]) -> bool:
    if any(value == each for limit in limits for each in limit.without):
        return False
    if kind == "float":
        return _is_float_for(value, partner, odd=all(limit.odd_floats for limit in limits))
    if kind == "decimal" and partner == "integer":
        return bool(value == int(value))
    if kind == "integer" and partner != "integer":
        return abs(value) < 2**53 and (partner != "boolean" or value in {0, 1, 2})
    if kind == "timestamp" and partner == "date":
        return bool(value == _midnight(value))
    return kind != "date" or partner == "date" or value.year in range(1000, 3000)


def _is_float_for(value: float, partner: str, *, odd: bool) -> bool:
    if not math.isfinite(value) or value in ODD_FLOATS:
        return odd and partner == "float"
    if partner == "integer":
        return value.is_integer()
    return partner == "float" or (round(value, 2) == value and abs(value) < _LARGE)


def _midnight(value: date) -> datetime:
    return datetime.fromisoformat(value.isoformat()[:10])


def _as(value: Any, pair: tuple[str, str]) -> Any:
    if value is None or pair[0] == pair[1]:
        return value
    match pair[1]:
        case "decimal":
            return Decimal(str(value))
        case "integer":
            return int(value)
        case "float":
            return float(value)
        case "timestamp":
            return _midnight(value)
        case _:
            return value.replace(tzinfo=UTC)


def _rules(pair: tuple[str, str]) -> st.SearchStrategy[Rule]:
    if set(pair) <= {"integer", "decimal", "float"}:
        limits = st.none() | st.sampled_from(
            [Decimal(text) for text in ("0", "0.01", "0.1", "1", "100.5")]
        )
        shares = st.none() | st.sampled_from([Decimal(text) for text in ("0", "0.01", "0.5", "1")])
        return st.builds(Rule, absolute=limits, relative=shares)
    if pair == ("text", "text"):
        switch = st.sampled_from([None, True])
        return st.builds(Rule, **dict.fromkeys(TEXT_RULES, switch))
    if set(pair) <= {"timestamp", "timestamptz"}:
        return st.builds(Rule, seconds=st.none() | st.sampled_from([Decimal(1), Decimal(5)]))
    return st.just(Rule())
