"""Looks up every number of an answer in the tool results of its turn.

A number is verified if it equals a number in a result or in the question, or is one of them rounded
to the digits that it is written with. A sign may be in words; a written sign must be right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Any, NamedTuple, cast

QUESTION = -1
"""The tool call index of a number in the user's question."""

# A digit after a letter is part of a name (CC100); 1st is not an amount.
_WRITTEN = re.compile(
    r"(?<![\w.,])(?:[-+\u2212](?=\d))?\d+(?:[.,:/'\u2019\-\u00a0\u2009\u202f]\d+|[ ]\d{3}(?!\d))*"
    r"(?!\d|(?:st|nd|rd|th)\b)"
)
_DIGIT = re.compile(r"\d")
_ITEM = re.compile(r"^[ \t]*(?:[-*>][ \t]+)?\d{1,3}[.)](?=[ \t])", re.MULTILINE)
_SEPARATORS = str.maketrans("", "", "'\u2019 \u00a0\u2009\u202f")
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_POINTS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,}|\d+,\d+")
_COMMAS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_PARTS = re.compile(r"\d+(?:\.\d+)?")
# Members that a person does not read as data.
_SKIPPED = frozenset({"sql", "proof", "cache_key", "scope"})
_NAME = re.compile(r"[A-Za-z_]\w*")
# Below these, a result has values of keys and texts, not only numbers.
_OF_VALUES = re.compile(
    r"\.(?:answer|cells|code_error|columns|description|filters|findings|interpretation|key|member"
    r"|message|output|parameters|text|value|values)\b"
)
_CELL = re.compile(r"\.rows\[\d+\]\[(\d+)\]$")
_MOST_DIGITS, _MOST_NAMES = 60, 1000
_EXACT = Context(prec=2 * _MOST_DIGITS)


@dataclass(frozen=True, slots=True)
class Reference:
    """The place of a number of the answer: the tool call of the turn, and the JSON path."""

    number: str
    call: int
    path: str
    is_rounded: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """The verified numbers, in the order of the answer, and the others."""

    references: tuple[Reference, ...]
    unverified: tuple[str, ...]


class _Known(NamedTuple):
    """A number, or a text such as 2024-03-31, in a result."""

    call: int
    path: str
    text: str
    value: Decimal | None


def check_answer(text: str, results: Sequence[Any], question: str = "") -> Checked:
    """Look up every number of `text` in `results` (JSON values, or their texts), and the question.

    A number that is only in the question has the path "" and the index `QUESTION`.
    """
    numbers = _numbers(text)
    if not numbers:
        return Checked((), ())
    known = [
        entry for call, result in enumerate(results) for entry in _leaves(call, _parsed(result))
    ]
    known += _in_text(QUESTION, "", question)
    references: list[Reference] = []
    unverified: list[str] = []
    for number in numbers:
        places = _find(number, known) or _find_parts(number, known)
        references += places
        unverified += [] if places or number in unverified else [number]
    return Checked(tuple(references), tuple(unverified))


def amounts_of(references: Iterable[Mapping[str, Any]], results: Sequence[Any]) -> frozenset[str]:
    """The numbers of an answer that are amounts or counts, and no values of keys, without signs.

    Args:
        references: The references of the answer, as JSON.
        results: The tool results of its turn.
    """
    amounts = {
        str(each["number"]).lstrip("+-\u2212")
        for each in references
        if 0 <= each["call"] < len(results) and _is_amount(each["path"], results[each["call"]])
    }
    return frozenset(amounts)


def _is_amount(path: str, result: Any) -> bool:
    if not isinstance(result, Mapping):
        return False  # a text
    cell = _CELL.search(path)
    if cell is None:
        return not _OF_VALUES.search(path)
    fields = cast("Mapping[str, Any]", result)
    columns, index = fields.get("columns", ()), int(cell[1])
    return index < len(columns) and columns[index] in fields.get("measures", ())


def _numbers(text: str) -> list[str]:
    """The numbers as they are written, without those that number a list ("1. …")."""
    bare = _ITEM.sub(lambda item: " " * len(item[0]), text)
    return [match[0] for match in _WRITTEN.finditer(bare)]


def _find(number: str, known: Sequence[_Known]) -> list[Reference]:
    """The number's reference: the same text or value if there is one, otherwise a rounded value."""
    value = _value(number)
    for entry in known:
        if entry.text == number or (value is not None and _is_same(number, value, entry.value)):
            return [Reference(number, entry.call, entry.path)]
    if value is not None:
        for entry in known:
            if _is_rounded(number, value, entry.value):
                return [Reference(number, entry.call, entry.path, is_rounded=True)]
    return []


def _find_parts(number: str, known: Sequence[_Known]) -> list[Reference]:
    """The references of several numbers written without a space: "2024001-2024003"."""
    parts = _PARTS.findall(number)
    places = [_find(part, known) for part in parts]
    return [each[0] for each in places if each] if len(parts) > 1 and all(places) else []


def _value(number: str) -> Decimal | None:
    """The value of a number; a comma is a decimal comma only if it cannot be anything else."""
    bare = number.translate(_SEPARATORS).lstrip("+-\u2212")
    if len(bare) > _MOST_DIGITS:
        return None
    if _COMMAS.fullmatch(bare):
        bare = bare.replace(",", "")
    elif _POINTS.fullmatch(bare):
        bare = bare.replace(".", "").replace(",", ".")
    if not _PLAIN.fullmatch(bare):
        return None
    return -Decimal(bare) if number.startswith(("-", "\u2212")) else Decimal(bare)


def _is_same(number: str, value: Decimal, known: Decimal | None) -> bool:
    if known is None:
        return False
    is_signed = not number[0].isdigit()
    return value == (known if is_signed else known.copy_abs())


def _is_rounded(number: str, value: Decimal, known: Decimal | None) -> bool:
    """Whether `value` is `known` rounded to fewer digits after the point."""
    digits = cast("int", value.as_tuple().exponent)
    if known is None or cast("int", known.as_tuple().exponent) >= digits:
        return False
    step = Decimal(1).scaleb(digits)
    return any(
        _is_same(number, value, known.quantize(step, rounding, context=_EXACT))
        for rounding in (ROUND_HALF_UP, ROUND_HALF_EVEN)
    )


def _parsed(result: Any) -> Any:
    if not isinstance(result, str):
        return result
    try:
        return json.loads(result, parse_float=Decimal)
    except ValueError:
        return result


def _leaves(call: int, value: Any) -> Iterator[_Known]:
    """The numbers of a result, and the texts with digits, in their order."""
    waiting: list[tuple[str, Any]] = [("$", value)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            entries = cast("dict[str, Any]", value).items()
            waiting += [
                (f"{path}{_step(name)}", each)
                for name, each in reversed(entries)
                if name not in _SKIPPED
            ]
        elif isinstance(value, list | tuple):
            items = [*enumerate(cast("Sequence[Any]", value))]
            waiting += [(f"{path}[{index}]", each) for index, each in reversed(items)]
        elif isinstance(value, str):
            yield from _in_text(call, path, value)
        elif isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            number = Decimal(str(value))
            if number.is_finite() and -_MOST_DIGITS < number.adjusted() < _MOST_DIGITS:
                yield _Known(call, path, str(value), number)


@lru_cache(_MOST_NAMES)
def _step(name: str) -> str:
    return f".{name}" if _NAME.fullmatch(name) else f"[{json.dumps(name)}]"


def _in_text(call: int, path: str, text: str) -> Iterator[_Known]:
    """The text itself and the numbers within it; nothing if it has none."""
    if not _DIGIT.search(text):
        return
    yield _Known(call, path, text, None)
    for match in _WRITTEN.finditer(text):
        yield _Known(call, path, match[0], _value(match[0]))
