"""Limits in a question: tolerances and numbers of rows, which are not filter values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

_NUMBER = r"(?P<number>\d+(?:[.,]\d+)?)(?![\w/-]|[.,]\d)"
_UNIT = r"\s*(?P<unit>%|per ?cent\b|euros?\b|eur\b|€|dollars?\b|usd\b|\$|cents?\b)?"
_AMOUNT = rf"(?:[€$]\s?)?{_NUMBER}{_UNIT}"
_UNDER = (
    r"(?:under|below|up to|less than|smaller than|lower than|within|of at most|at most|no more than"
    r"|not more than|of less than|<=?|≤|of up to|of|by|that are|which are)"
)
_OVER = r"(?:over|above|more than|larger than|greater than|bigger than|exceeding|beyond|>)"
_GAPS = (
    r"(?:differences?|gaps?|deviations?|discrepancies|discrepancy|variances?|everything|anything)"
)
_FORGIVE = (
    r"(?:ignor\w+|disregard\w*|tolerat\w+|allow\w*|accept\w*|forgiv\w+|neglect\w*|overlook\w*)"
)
_FORGIVEN = r"(?:ignored|disregarded|tolerated|accepted|fine|ok|okay|irrelevant|equal|acceptable)"
_FILLING = (
    r"(?:all|any|a|an|the|small|minor|tiny|rounding|that|which|are|is|tolerance|threshold|for"
    rf"|amounts|{_GAPS})"
)
_IS_FORGIVEN = rf"(?: (?:is|are) {_FORGIVEN})?"
_THRESHOLDS = [
    re.compile(pattern)
    for pattern in (
        rf"{_FORGIVE}(?: {_FILLING})*(?: {_UNDER})+\s+{_AMOUNT}",
        rf"{_FORGIVE}(?: {_FILLING})+\s+{_AMOUNT}",
        rf"(?:an? )?(?:tolerance|threshold|margin)(?: \w+)?(?: {_UNDER})?\s*[:=]?\s*{_AMOUNT}",
        rf"{_AMOUNT}(?: of)? (?:tolerance|threshold|margin)",
        rf"{_GAPS} (?:\w+ )?{_UNDER}(?: {_UNDER})*\s+{_AMOUNT}[^.;]*? {_FORGIVEN}\b",
        rf"(?:only )?(?:\w+ )?{_GAPS} {_OVER} {_AMOUNT}",
        rf"(?:up to|(?:to )?within|exact to|plus ?/?minus|±)\s*{_AMOUNT}{_IS_FORGIVEN}",
    )
]
_LOOSE = len(_THRESHOLDS) - 1
_COUNTS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
} | ({"nine": 9, "ten": 10, "twelve": 12, "twenty": 20, "fifty": 50, "hundred": 100})
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(_COUNTS)})"
_RANK = r"(?:top|largest|biggest|highest|greatest|smallest|lowest|bottom|worst|most|least|best)"
_TOPS = [
    re.compile(pattern)
    for pattern in (
        rf"\b{_RANK} (?!one\b){_COUNT}\b",
        rf"\b{_COUNT} (?:\w+ )?(?={_RANK}\b)",
        rf"\b{_COUNT} (?=\w+ (?:\w+ )?(?:with|having) (?:the )?{_RANK}\b)",
        rf"\b(?:first|limit|limited to|at most) {_COUNT}\b(?: (?:rows|lines|groups|results))?",
        rf"\b{_COUNT} (?:rows|lines|groups|results)\b",
    )
]
_MOST = 1000


@dataclass(frozen=True, slots=True)
class SpokenLimits:
    """What was found; `spans` are the places of the question that said it."""

    thresholds: dict[str, Any]
    count: int | None
    spans: tuple[tuple[int, int], ...]


def read_limits(question: str) -> SpokenLimits:
    """Read "ignore differences under 1 euro", "tolerance 1 %", "top 5" and the like."""
    text = question.lower()
    thresholds: dict[str, Any] = {}
    spans: list[tuple[int, int]] = []
    for index, pattern in enumerate(_THRESHOLDS):
        for match in pattern.finditer(text):
            if _is_taken(match, spans) or (index == _LOOSE and not _is_plainly_a_limit(match)):
                continue
            status = (
                "minor_diff" if "minor" in text[max(0, match.start() - 6) : match.end()] else ""
            )
            unit = match["unit"] or ""
            kind = "percentage" if unit.startswith(("%", "per")) else "absolute"
            thresholds.setdefault(status or "match", {})[kind] = _number(match["number"], unit)
            spans.append(match.span())
    count, at = _count(text, spans)
    return SpokenLimits(thresholds, count, (*spans, *at))


def _is_taken(match: re.Match[str], spans: list[tuple[int, int]]) -> bool:
    return any(match.start() < end and start < match.end() for start, end in spans)


def _is_plainly_a_limit(match: re.Match[str]) -> bool:
    """Whether "up to 0.05" can be no value of a dimension: it has a unit or a fraction."""
    return bool(match["unit"]) or "." in match["number"] or "," in match["number"]


def _number(said: str, unit: str) -> int | float | str:
    """The number for JSON, with all of its digits; cents become the currency's unit."""
    number = Decimal(said.replace(",", "."))
    if unit.startswith("cent"):
        number = number.scaleb(-2)
    if number == number.to_integral_value():
        return int(number)
    text = format(number.normalize(), "f")
    return float(text) if str(float(text)) == text else text


def _count(text: str, taken: list[tuple[int, int]]) -> tuple[int | None, list[tuple[int, int]]]:
    """Return the requested number of rows, and its position."""
    for pattern in _TOPS:
        match = pattern.search(text)
        if match is None or _is_taken(match, taken):
            continue
        said = match["count"]
        number = _COUNTS[said] if said in _COUNTS else int(said)
        if 1 <= number <= _MOST:
            return number, [match.span("count")]
    return None, []
