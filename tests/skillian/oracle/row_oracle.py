"""What a comparison of rows has to find, in plain Python."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import isnan
from typing import Any
from uuid import UUID

from tests.support.places import Table

from skillian.data.declare.rules import Rule

SPACE = re.compile(r"[ \t\n\r\f\v]+")
WHITE = " \t\n\r\f\v"


@dataclass(frozen=True)
class Expected:
    """The counts as in a result; of each column the cells that differ, their largest gap, pairs."""

    counts: Mapping[str, int]
    mismatches: Mapping[str, int]
    gaps: Mapping[str, Decimal | None]
    pairs: Mapping[str, list[int]]


def expected(a: Table, b: Table, keys: Sequence[str], rules: Mapping[str, Rule]) -> Expected:
    """Return what comparing the tables by these keys has to find; columns have the same names."""
    sides = [_by_key(table, keys, rules) for table in (a, b)]
    names = [column.name for column in a.columns if column.name not in keys]
    repeated = {key for rows in sides for key, group in rows.items() if len(group) > 1}
    mismatches = dict.fromkeys(names, 0)
    gaps: dict[str, Decimal | None] = dict.fromkeys(names)
    pairs: dict[str, Counter[Any]] = {name: Counter() for name in names}
    counts = dict.fromkeys(("matched", "differing", "only_in_a", "only_in_b"), 0)
    for key in {*sides[0], *sides[1]} - repeated:
        if key not in sides[0] or key not in sides[1]:
            counts["only_in_b" if key not in sides[0] else "only_in_a"] += 1
            continue
        [one], [other] = sides[0][key], sides[1][key]
        different = [name for name in names if not same(one[name], other[name], rules[name])]
        counts["differing" if different else "matched"] += 1
        for name in different:
            mismatches[name] += 1
            pairs[name][_shown(one[name]), _shown(other[name])] += 1
            gap = _gap(one[name], other[name])
            if gap is not None:
                known = gaps[name]
                gaps[name] = gap if known is None else max(known, gap)
    for name, table, side in zip("ab", (a, b), sides, strict=True):
        counts[name] = len(table.rows)
        counts[f"duplicate_keys_{name}"] = sum(len(group) > 1 for group in side.values())
        counts[f"duplicate_rows_{name}"] = sum(len(side[key]) for key in repeated if key in side)
    largest = {name: sorted(each.values(), reverse=True)[:10] for name, each in pairs.items()}
    return Expected(counts, mismatches, gaps, largest)


def multiset(a: Table, b: Table, rules: Mapping[str, Rule]) -> tuple[int, int]:
    """Return how many rows only a and only b has, where rows have no key."""
    names = [column.name for column in a.columns]
    counters = [
        Counter(
            tuple(canonical(value, rules[name]) for name, value in zip(names, row, strict=True))
            for row in table.rows
        )
        for table in (a, b)
    ]
    return (counters[0] - counters[1]).total(), (counters[1] - counters[0]).total()


def same(a: Any, b: Any, rule: Rule) -> bool:
    one, other = canonical(a, rule), canonical(b, rule)
    if one == other:
        return True
    if one is None or other is None:
        return False
    if rule.has_limits and isinstance(one, Decimal) and isinstance(other, Decimal):
        if not (one.is_finite() and other.is_finite()):
            return False
        gap = abs(one - other)
        within = rule.absolute is None or gap <= rule.absolute
        return within and (rule.relative is None or gap <= rule.relative * abs(one))
    if rule.seconds is not None and isinstance(one, datetime):
        return abs(Decimal((one - other).total_seconds())) <= rule.seconds
    return False


def canonical(value: Any, rule: Rule) -> Any:
    if isinstance(value, str):
        return _text(value, rule)
    for kinds, convert in _CONVERT.items():
        if isinstance(value, kinds):
            return convert(value)
    return value


def _moment(value: datetime) -> datetime:
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return moment.astimezone(UTC).replace(tzinfo=None)


_CONVERT: dict[Any, Any] = {
    (bool, int, Decimal): Decimal,
    float: lambda value: "nan" if isnan(value) else Decimal(repr(value)),
    datetime: _moment,
    date: lambda value: datetime.combine(value, time()),
    UUID: str,
}


def _text(text: str, rule: Rule) -> str | None:
    if rule.nfc:
        text = unicodedata.normalize("NFC", text)
    if rule.collapse_whitespace:
        text = SPACE.sub(" ", text)
    if rule.trim:
        text = text.strip(WHITE)
    if rule.ignore_case:
        text = "".join(char if char == "ß" else char.upper() for char in text)
    return None if rule.empty_is_null and not text else text


def _by_key(
    table: Table, keys: Sequence[str], rules: Mapping[str, Rule]
) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    names = [column.name for column in table.columns]
    rows: defaultdict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for cells in table.rows:
        row = dict(zip(names, cells, strict=True))
        rows[tuple(canonical(row[name], rules[name]) for name in keys)].append(row)
    return dict(rows)


def _shown(value: Any) -> Any:
    return canonical(value, Rule())


def _gap(a: Any, b: Any) -> Decimal | None:
    one, other = canonical(a, Rule()), canonical(b, Rule())
    if isinstance(a, bool) or isinstance(b, bool):
        return None
    if not isinstance(one, Decimal) or not isinstance(other, Decimal):
        return None
    return abs(one - other) if one.is_finite() and other.is_finite() else None
