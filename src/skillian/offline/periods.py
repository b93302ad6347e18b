"""Periods of a question: days, months, quarters, halves and years, in their usual forms."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_LONG = {name: number for number, name in enumerate(_NAMES, 1)}
_MONTHS = _LONG | {name[:3]: number for name, number in _LONG.items()} | {"sept": 9}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_NAME = rf"(?P<name>{_MONTH})"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[12]\d|3[01]|0?[1-9])"
_IN = r"(?:,|\s+of|\s+in)?(?:\s+the\s+year|\s+year)?\s+"
_PART = r"(?P<part>1|2|3|4|first|second|third|fourth|1st|2nd|3rd|4th)"
_WORDS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_FORMS = [
    re.compile(rf"{form}(?![\w-]|/\d|[.,]\d)", re.IGNORECASE)
    for form in (
        rf"{_YEAR}(?P<sign>[-/.])(?P<month>0?[1-9]|1[0-2])(?P=sign){_DAY}",
        rf"{_DAY}(?:st|nd|rd|th)?\.?(?:\s+of)?\s+{_NAME}\.?(?:{_IN}{_YEAR})?",
        rf"{_NAME}\s+{_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}",
        rf"{_NAME}\.?(?:{_IN}{_YEAR})?",
        rf"{_YEAR}[-/.](?P<month>0?[1-9]|1[0-2])",
        rf"(?P<month>0?[1-9]|1[0-2])[-/.]{_YEAR}",
        rf"{_YEAR}[mp]?0?(?P<month>0[1-9]|1[0-2])",
        rf"(?P<kind>q|h){_PART}(?:(?:{_IN}|[\s/-]?){_YEAR})?",
        rf"{_YEAR}[\s/-]?(?P<kind>q|h){_PART}",
        rf"{_PART}\s+(?P<kind>quarter|half)(?:{_IN}{_YEAR})?",
        rf"(?:year\s+)?{_YEAR}",
    )
]
_VALUE = re.compile(
    r"(?P<year>(?:19|20)\d\d)(?:[-/ ]?q(?P<quarter>[1-4])|0(?P<fiscal>\d\d)"
    r"|[-/.]?[mp]?(?P<month>\d\d?)(?:[-/.]?(?P<day>\d\d))?)?(?:[t ][\d:.]+)?"
)
_MONTHS_OF_YEAR = 12
_MAY = re.compile(r"may\s+(?:i|we|you|it|they|be|have|not|also|differ)\b", re.IGNORECASE)
"""The verb, and not the month."""
_ORDER = r"(?:st|nd|rd|th)?"
_RANGES = [
    (re.compile(pattern, re.IGNORECASE), written)
    for pattern, written in (
        # 10 to 20 April 2024, between 10 and 20 April, 10-20 April
        (
            (
                rf"\b(?P<between>between\s+(?:the\s+)?)?{_DAY}{_ORDER}"
                r"(?:\s*[-\u2013]\s*|\s+(?(between)and|(?:to|until|till|through))\s+)(?:the\s+)?"
                rf"(?P<last>[12]\d|3[01]|0?[1-9]){_ORDER}\.?\s+(?:of\s+)?{_NAME}\b"
                rf"(?:,?\s+{_YEAR})?"
            ),
            r"\g<between>\g<day> \g<name> \g<year> - \g<last> \g<name> \g<year>",
        ),
        # April 10-20, 2024
        (
            rf"\b{_NAME}\s+{_DAY}\s*[-\u2013]\s*(?P<last>[12]\d|3[01]|0?[1-9]),?\s+{_YEAR}",
            r"\g<day> \g<name> \g<year> - \g<last> \g<name> \g<year>",
        ),
        # June-August 2023, Q1-Q3 2024, 2023-2024
        (
            rf"\b{_NAME}\.?(?P<year>\s+(?:19|20)\d\d)?[-\u2013](?=(?:{_MONTH})\b)",
            r"\g<name>\g<year> - ",
        ),
        (r"\b(?P<part>[qh][1-4])[-\u2013](?=[qh][1-4]\b)", r"\g<part> - "),
        (rf"(?<![-/.\w]){_YEAR}[-\u2013](?=(?:19|20)\d\d(?![-/.\w]))", r"\g<year> - "),
    )
]
Day = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Period:
    """The days of a period; `year` is None if the question leaves it out."""

    year: int | None
    first: tuple[int, int]
    last: tuple[int, int]

    def days(self) -> tuple[Day, Day]:
        """The first and the last day."""
        year = self.year or 0
        month, day = self.last
        last = min(day, monthrange(year, month)[1]) if year else day
        return (year, *self.first), (year, month, last)

    def iso(self) -> tuple[str, str]:
        """The first and the last day as ISO dates."""
        first, last = self.days()
        return "{:04d}-{:02d}-{:02d}".format(*first), "{:04d}-{:02d}-{:02d}".format(*last)


_LAST = 31


def spelt_out(text: str) -> str:
    """A question in which both ends of each range are periods of their own."""
    for pattern, written in _RANGES:
        text = pattern.sub(written, text)
    return text


def period_at(text: str, start: int) -> tuple[int, Period] | None:
    """The end and the days of the period at this position of a text."""
    for form in _FORMS:
        match = form.match(text, start)
        if match is None:
            continue
        period = _period({k: v and v.lower() for k, v in match.groupdict().items()})
        if period is not None and not _MAY.match(text, start):
            return match.end(), period
    return None


def periods_of(text: str) -> Iterator[Period]:
    """The periods that a text names."""
    end = 0
    for word in re.finditer(r"\w+", text):
        found = period_at(text, word.start()) if word.start() >= end else None
        if found is not None:
            end, period = found
            yield period


def _period(parts: Mapping[str, str | None]) -> Period | None:
    year = int(parts["year"] or 0) or None if "year" in parts else None
    kind, part, month = parts.get("kind"), parts.get("part"), parts.get("month")
    if kind and part:
        length = 3 if kind[0] == "q" else 6
        last = _WORDS.get(part, int(part[0]) if part[0].isdigit() else 0) * length
        return (
            Period(year, (last - length + 1, 1), (last, _LAST)) if last <= _MONTHS_OF_YEAR else None
        )
    number = _MONTHS[str(parts["name"])] if parts.get("name") else int(month or 0)
    if not number:
        return Period(year, (1, 1), (_MONTHS_OF_YEAR, _LAST))
    day = int(parts.get("day") or 0)
    if day > monthrange(year or 2024, number)[1]:
        return None
    return Period(year, (number, day or 1), (number, day or _LAST))


def period_of(value: str) -> Period | None:
    """The day, month or quarter that a value of the data is."""
    match = _VALUE.fullmatch(value.lower())
    if match is None:
        return None
    year, day = int(match["year"]), int(match["day"] or 0)
    if match["quarter"]:
        last = 3 * int(match["quarter"])
        return Period(year, (last - 2, 1), (last, _LAST))
    month = int(match["fiscal"] or match["month"] or 0)
    if not 1 <= month <= _MONTHS_OF_YEAR or day > _LAST:
        return None
    return Period(year, (month, day or 1), (month, day or _LAST))


def dated(period: Period, years: Iterable[int]) -> Period | None:
    """The period with its year; None if it has none and there are several."""
    if period.year is not None:
        return period
    only = set(years)
    return replace(period, year=only.pop()) if len(only) == 1 else None


def are_periods(values: Collection[str]) -> bool:
    """Whether values are periods that the database orders by time: all are written alike."""
    return all(map(period_of, values)) and len({len(value) for value in values}) == 1


def values_in(period: Period, values: Iterable[str]) -> list[str]:
    """The values whose days are all within a period, in their order."""
    first, last = period.days()
    known = sorted(
        (known.days(), value) for value in values if (known := period_of(value)) is not None
    )
    return [value for days, value in known if first <= days[0] and days[1] <= last]
