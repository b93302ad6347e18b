"""Figures of a question: months, quarters and years; tolerances and numbers of rows."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from skillian.offline.vocabulary import MOST_PASSED, Word

_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_LONG = {name: number for number, name in enumerate(_NAMES, 1)}
_MONTHS = _LONG | {name[:3]: number for name, number in _LONG.items()} | {"sept": 9}
_ORDINAL_WORDS = (("first", "1st"), ("second", "2nd"), ("third", "3rd"), ("fourth", "4th"))
_ORDINALS = {word: number for number, words in enumerate(_ORDINAL_WORDS, 1) for word in words}
_YEAR = re.compile(r"(?:19|20)\d\d")
_MONTH_FIRST = re.compile(r"(?P<month>0?[1-9]|1[0-2])[/.-](?P<year>(?:19|20)\d\d)(?P<digit>)")
_YEAR_FIRST = re.compile(
    r"(?P<year>(?:19|20)\d\d)(?:[/.-]?[mp]?0?(?P<month>0[1-9]|1[0-2])|[/.-](?P<digit>[1-9]))"
)
_QUARTER = re.compile(r"q(?P<quarter>[1-4])(?:[/.-]?(?P<year>(?:19|20)\d\d))?")
_VALUE = re.compile(
    r"(?P<year>(?:19|20)\d\d)(?:0(?P<fiscal>\d\d)|[-/.]?[mp]?(?P<month>\d\d?)(?:[-/.]?\d\d)?)?"
    r"(?:[t ][\d:.]+)?"
)
_JOINING = {"of", "in", "the", "year"}
_MONTHS_OF_YEAR = 12
_OF_QUARTER = 3

Month = tuple[int, int]
MonthSpan = tuple[Month, Month]


def month_of(value: str) -> Month | None:
    """Return the year and month of a value, if it looks like a month."""
    match = _VALUE.fullmatch(value.lower())
    if match is None:
        return None
    month = int(match["fiscal"] or match["month"] or 0)
    is_month = 1 <= month <= _MONTHS_OF_YEAR
    return (int(match["year"]), month) if is_month else None


def in_span(values: Iterable[str], span: MonthSpan) -> list[str]:
    """Return the values within these months, in their order."""
    known = sorted((month, value) for value in values if (month := month_of(value)) is not None)
    return [value for month, value in known if span[0] <= month <= span[1]]


def days_of(span: MonthSpan) -> list[str]:
    """Return the first and the last day of these months."""
    (first_year, first), (last_year, last) = span
    end = monthrange(last_year, last)[1]
    return [f"{first_year}-{first:02d}-01", f"{last_year}-{last:02d}-{end}"]


def named_months(words: Sequence[Word]) -> set[Month]:
    """Return the first and last months of all spans that have a year."""
    years = named_years(words)
    spans = [read[1] for at in range(len(words)) if (read := read_span(words, at, years))]
    return {month for span in spans for month in span}


def named_years(words: Sequence[Word]) -> set[int]:
    """Return the years that the question names."""
    return {int(word.plain) for word in words if _YEAR.fullmatch(word.plain)}


def read_span(words: Sequence[Word], at: int, years: Iterable[int]) -> tuple[int, MonthSpan] | None:
    """Return the number of words that name months from word `at` on, and the months.

    `years` are those that the question names, otherwise those of the data; a month without a year
    is understood only if there is a single year.
    """
    word = words[at].plain
    if match := _MONTH_FIRST.fullmatch(word) or _YEAR_FIRST.fullmatch(words[at].text.lower()):
        number = match["month"] or match["digit"]
        month = (int(match["year"]), int(number))
        return 1, (month, month)
    if _YEAR.fullmatch(word):
        return 1, _months(int(word), 1, _MONTHS_OF_YEAR)
    if word in _MONTHS and (word != "may" or words[at].text != "may"):
        return _with_year(words, at, 1, (_MONTHS[word], _MONTHS[word]), years)
    if match := _QUARTER.fullmatch(word):
        first = int(match["quarter"]) * _OF_QUARTER - 2
        if match["year"]:
            return 1, _months(int(match["year"]), first, first + 2)
        return _with_year(words, at, 1, (first, first + 2), years)
    return _part_of_year(words, at, years)


def _part_of_year(
    words: Sequence[Word], at: int, years: Iterable[int]
) -> tuple[int, MonthSpan] | None:
    """Return the months of "first quarter" or "second half"."""
    part = words[at + 1].plain if at + 1 < len(words) else ""
    length = {"quarter": 3, "half": 6}.get(part)
    number = _ORDINALS.get(words[at].plain)
    if length is None or number is None:
        return None
    last = number * length
    if last > _MONTHS_OF_YEAR:
        return None
    return _with_year(words, at, 2, (last - length + 1, last), years)


def _with_year(
    words: Sequence[Word], at: int, taken: int, months: tuple[int, int], years: Iterable[int]
) -> tuple[int, MonthSpan] | None:
    """Return the months in the year that follows, or in the only year there is."""
    after = at + taken
    end = min(after + MOST_PASSED, len(words))
    while after < end and words[after].plain in _JOINING:
        after += 1
    if after < len(words) and _YEAR.fullmatch(words[after].plain):
        return after + 1 - at, _months(int(words[after].plain), *months)
    only = set(years)
    return (taken, _months(only.pop(), *months)) if len(only) == 1 else None


def _months(year: int, first: int, last: int) -> MonthSpan:
    return (year, first), (year, last)


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
_DIGITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LARGE_COUNTS = {"twelve": 12, "twenty": 20, "fifty": 50, "hundred": 100}
_COUNTS = {word: number for number, word in enumerate(_DIGITS, 1)} | _LARGE_COUNTS
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


def _number(digits: str, unit: str) -> int | float | str:
    """The number for JSON, with all of its digits; cents become the currency's unit."""
    number = Decimal(digits.replace(",", "."))
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
        digits = match["count"]
        number = _COUNTS[digits] if digits in _COUNTS else int(digits)
        if 1 <= number <= _MOST:
            return number, [match.span("count")]
    return None, []
