"""What a dimension's declaration makes of a value, in plain Python."""

import operator
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from tests.support.places import Column


def kind_of(dimension: Mapping[str, Any], column: Column) -> str:
    declared = dimension.get("type")
    if declared is not None:
        return str(declared).partition("(")[0]
    return "text" if dimension.get("normalise") or dimension.get("values") else column.kind


def meant(dimension: Mapping[str, Any], value: Any, column: Column) -> Any:
    """Return the value that is compared; NULL stays NULL."""
    if value is None:
        return None
    kind = column.kind
    if dimension.get("normalise") or dimension.get("values"):
        value, kind = as_text(value, column), "text"
        for step in dimension.get("normalise", ()):
            value = _normalised(value, step)
        value = dimension.get("values", {}).get(value, value)
    declared = dimension.get("type")
    return value if declared is None else _typed(value, kind, dimension, column)


def as_text(value: Any, column: Column) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case Decimal():
            return f"{value:.{column.scale}f}"
        case date():
            return value.isoformat()
        case _:
            return str(value)


def _normalised(text: str, step: str) -> str:
    if step == "trim":
        return text.strip(" ")
    if step == "upper":
        return capitals(text)
    if step == "nfc":
        return unicodedata.normalize("NFC", text)
    width, fill = re.fullmatch(r"lpad\((\d+), *'(.)'\)", step, re.DOTALL).groups()  # type: ignore[union-attr]
    return text.rjust(int(width), fill)


def capitals(text: str) -> str:
    """Return the text in capitals, one letter for one letter."""
    found = [(letter, letter.upper()) for letter in text]
    return "".join(capital if len(capital) == 1 else letter for letter, capital in found)


def _typed(value: Any, kind: str, dimension: Mapping[str, Any], column: Column) -> Any:
    goal, pattern = kind_of(dimension, column), dimension.get("format")
    if goal == "text":
        return value.strftime(pattern) if pattern else as_text(value, column)
    if goal in {"date", "timestamp"}:
        return _moment(value, goal, pattern)
    if goal == "boolean":
        return value if kind == "boolean" else {"true": True, "false": False}[str(value)]
    return int(value) if goal == "integer" else Decimal(value)


def _moment(value: Any, goal: str, pattern: str | None) -> date | datetime:
    if pattern:
        moment = datetime.strptime(str(value), pattern)  # noqa: DTZ007 - it has no zone
        return moment.date() if goal == "date" else moment
    if isinstance(value, str):
        return (datetime if goal == "timestamp" else date).fromisoformat(value)
    return value.date() if goal == "date" and isinstance(value, datetime) else value


def kept(value: Any, test: Any, kind: str) -> bool:
    """Whether a filter keeps a row with this value of the dimension."""
    if isinstance(test, Mapping):
        return all(_holds(value, name, given, kind) for name, given in test.items())
    given = test if isinstance(test, Sequence) and not isinstance(test, str) else [test]
    return value in [_given(item, kind) for item in given]


COMPARED = {"gte": operator.ge, "gt": operator.gt, "lte": operator.le, "lt": operator.lt}


def _holds(value: Any, name: str, given: Any, kind: str) -> bool:
    if name == "ne":
        return not kept(value, given, kind)
    if value is None:
        return False
    if name == "between":
        low, high = (_given(item, kind) for item in given)
        return bool(low <= value <= high)
    other = _given(given, kind)
    return bool(COMPARED[name](value, other))


def _given(item: Any, kind: str) -> Any:
    """Return a filter's value in the kind of the dimension."""
    if item is None:
        return None
    if kind == "text":
        return item.isoformat() if isinstance(item, date) else str(item)
    if kind in {"integer", "decimal"}:
        return Decimal(str(item).strip())
    if kind in {"date", "timestamp"}:
        moment = datetime.fromisoformat(str(item))
        return moment.date() if kind == "date" else moment
    return {"true": True, "false": False}.get(item, item) if kind == "boolean" else item
