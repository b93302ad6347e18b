"""Rows of two tables, and how they compare in plain Python by the options of a request."""

from __future__ import annotations

import math
import operator
import unicodedata
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

Row = dict[str, Any]
Options = dict[str, Any]

TESTS = {"gte": "ge", "lt": "lt", "gt": "gt", "ne": "ne"}
COLUMNS = {
    "id": "INTEGER",
    "code": "VARCHAR",
    "name": "VARCHAR",
    "amount": "DECIMAL(12,4)",
    "ratio": "DOUBLE",
    "born": "DATE",
    "seen": "TIMESTAMP",
    "ok": "BOOLEAN",
}
FAMILIES = {
    "id": "number",
    "amount": "number",
    "ratio": "float",
    "born": "date",
    "seen": "timestamp",
    "ok": "boolean",
    "code": "text",
    "name": "text",
}
D, T = date(2024, 2, 28), datetime(2024, 2, 28, 12, 0, 0, 400_000)  # noqa: DTZ001 - no zone


def _row(number: int, **changes: Any) -> Row:
    row: Row = {
        "id": number,
        "code": f"k{number}",
        "name": "Ann",
        "amount": Decimal("10.0000"),
        "ratio": 0.5,
        "born": D,
        "seen": T,
        "ok": True,
    }
    return row | changes


NULLS = dict.fromkeys([*COLUMNS][2:])
SIDES: dict[str, list[Row]] = {
    "old": [*(_row(n) for n in range(1, 16)), _row(16, **NULLS), _row(20), _row(21, name="")],
    "new": [
        _row(1),
        _row(2, name=" Ann "),
        _row(3, name="ANN", code="K3"),
        _row(4, name="A\u030ann", code=" k4"),
        _row(5, name="A  nn"),
        _row(6, name="", amount=None),
        _row(7, amount=Decimal("10.0100")),
        _row(8, amount=Decimal("10.1000"), ratio=0.55),
        _row(9, ratio=math.nan),
        _row(10, ratio=0.1 + 0.2 + 0.2, ok=False),
        _row(11, born=D + timedelta(days=1)),
        _row(12, seen=T + timedelta(seconds=0.3)),
        _row(13, seen=T + timedelta(seconds=60)),
        _row(14, ok=None, amount=Decimal("-10.0000")),
        _row(15, name=None),
        _row(16, **NULLS),
        _row(21, name=None),
        _row(30),
    ],
    "twice": [_row(1), _row(1), _row(2), _row(2, name="Bob"), _row(40)],
}


def counted(request: Options) -> dict[str, Any]:
    """Compare the rows of `SIDES` in plain Python."""
    sides = [[row for row in SIDES[source] if _kept(row, request)] for source in _sources(request)]
    rules = request.get("rules", {})
    unpaired = request["source_b"] == "renamed" and "map" not in request
    chosen = {name.lower() for name in request.get("columns", COLUMNS)}
    chosen -= {*request.get("ignore", ()), *(["name"] if unpaired else [])}
    if request.get("multiset"):
        names = [name for name in COLUMNS if name in chosen]
        return _multiset(sides[0], sides[1], names, rules)
    key = request.get("key", ["id"])
    keyed = [_by_key(side, key, rules) for side in sides]
    repeated = {k for side in keyed for k, rows in side.items() if len(rows) > 1}
    both = [k for k in keyed[0] if k in keyed[1] and k not in repeated]
    columns: Counter[str] = Counter()
    differing = 0
    for k in both:
        a, b = keyed[0][k][0], keyed[1][k][0]
        unequal = [n for n in chosen - {*key} if not _equal(n, a[n], b[n], rules)]
        columns.update(unequal)
        differing += bool(unequal)
    only = [sum(k not in other and k not in repeated for k in one) for one, other in _ways(keyed)]
    in_repeated = tuple(sum(len(side.get(k, ())) for k in repeated) for side in keyed)
    return {
        "rows": {
            "a": len(sides[0]),
            "b": len(sides[1]),
            "matched": len(both) - differing,
            "differing": differing,
            "only_in_a": only[0],
            "only_in_b": only[1],
        },
        "columns": dict(columns),
        "repeated": in_repeated,
        "equal": not (differing or any(only) or any(in_repeated) or unpaired),
    }


def _sources(request: Options) -> list[str]:
    names = (request["source_a"], request["source_b"])
    return ["new" if name == "renamed" else name for name in names]


def _ways(keyed: list[dict[Any, list[Row]]]) -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
    return [(keyed[0], keyed[1]), (keyed[1], keyed[0])]


def _by_key(rows: Sequence[Row], key: Sequence[str], rules: Options) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        values = tuple(_normal(name, row[name], rules) for name in key)
        groups.setdefault(values, []).append(row)
    return groups


def _multiset(a: list[Row], b: list[Row], names: list[str], rules: Options) -> dict[str, Any]:
    one, other = (
        Counter(tuple(str(_normal(name, row[name], rules)) for name in names) for row in side)
        for side in (a, b)
    )
    matched = sum((one & other).values())
    return {
        "rows": {
            "a": len(a),
            "b": len(b),
            "matched": matched,
            "differing": 0,
            "only_in_a": len(a) - matched,
            "only_in_b": len(b) - matched,
        },
        "columns": {},
        "repeated": (0, 0),
        "equal": one == other,
    }


def _kept(row: Row, request: Options) -> bool:
    for name, test in request.get("filters", {}).items():
        value = row[name]
        if isinstance(test, dict):
            for name_of_test, stated in cast("Options", test).items():
                limit = date.fromisoformat(stated) if name == "born" else stated
                if value is None or not getattr(operator, TESTS[name_of_test])(value, limit):
                    return False
        elif value not in (test if isinstance(test, list) else [test]):
            return False
    return True


def _rule(name: str, rules: Options) -> Options:
    parts = (
        rules.get("all", {}),
        rules.get("types", {}).get(FAMILIES[name], {}),
        rules.get("columns", {}).get(name, {}),
    )
    merged: Options = {}
    for part in parts:
        if {"absolute", "relative"} & {*part}:  # the limits of numbers are one part
            merged = {k: v for k, v in merged.items() if k not in {"absolute", "relative"}}
        merged |= part
    return merged


def _normal(name: str, value: Any, rules: Options) -> Any:
    if not isinstance(value, str):
        return value
    rule, text = _rule(name, rules), value
    if rule.get("nfc"):
        text = unicodedata.normalize("NFC", text)
    if rule.get("collapse_whitespace"):
        stripped = " ".join(text.split())
        text = f"{' ' * text[:1].isspace()}{stripped}{' ' * text[-1:].isspace()}"
    if rule.get("trim"):
        text = text.strip()
    if rule.get("ignore_case"):
        text = text.lower()
    return None if rule.get("empty_is_null") and not text else text


def _equal(name: str, a: Any, b: Any, rules: Options) -> bool:
    one, other = _normal(name, a, rules), _normal(name, b, rules)
    if one is None or other is None:
        return one is other
    rule, family = _rule(name, rules), FAMILIES[name]
    if family in {"number", "float"} and not (math.isnan(one) or math.isnan(other)):
        x, y = (Decimal(repr(v)) if isinstance(v, float) else Decimal(v) for v in (one, other))
        limits = [Decimal(str(rule["absolute"]))] if "absolute" in rule else []
        limits += [Decimal(str(rule["relative"])) * abs(x)] if "relative" in rule else []
        return abs(x - y) <= min(limits, default=Decimal(0))
    if family in {"date", "timestamp"}:
        if family == "timestamp" and "precision" in rule:
            cut = {"second": "microsecond", "hour": "minute second microsecond"}[rule["precision"]]
            one, other = (v.replace(**dict.fromkeys(cut.split(), 0)) for v in (one, other))
        seconds = timedelta(seconds=float(rule.get("seconds", 0)))
        return bool(abs(one - other) <= seconds)
    return bool(one == other)
