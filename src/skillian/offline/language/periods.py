"""Periods of a question: days, months, quarters, halves and years, in their usual forms."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache

LONGEST_QUESTION = 2000
"""The longest question that is read, in characters."""
_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_LONG = {name: number for number, name in enumerate(_NAMES, 1)}
MONTHS = _LONG | {name[:3]: number for name, number in _LONG.items()} | {"sept": 9}
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_NAME = rf"(?P<name>{_MONTH})"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[12]\d|3[01]|0?[1-9])"
_IN = r"(?:,|\s+of|\s+in)?(?:\s+the\s+year|\s+year)?\s+"
_PART = r"(?P<part>1|2|3|4|first|second|third|fourth|1st|2nd|3rd|4th)"
_WORDS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_FORMS = [
    re.compile(rf"{form}(?:['\u2019]s)?(?![\w-]|/\d|[.,]\d)", re.IGNORECASE)
    for form in (
        rf"{_YEAR}(?P<sign>[-/.])(?P<month>0?[1-9]|1[0-2])(?P=sign){_DAY}",
        rf"{_DAY}\.(?P<month>0?[1-9]|1[0-2])\.{_YEAR}",
        rf"{_DAY}(?:st|nd|rd|th)?\.?(?:\s+of)?\s+{_NAME}\.?(?:{_IN}{_YEAR})?",
        rf"{_NAME}\s+{_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}",
        rf"{_NAME}\.?(?:{_IN}{_YEAR})?",
        rf"{_YEAR}[-/.](?P<month>0?[1-9]|1[0-2])",
        rf"(?P<month>0?[1-9]|1[0-2])[-/.]{_YEAR}",
        rf"{_YEAR}[mp]?0?(?P<month>0[1-9]|1[0-2])",
        rf"(?P<kind>q|h){_PART}(?:(?:{_IN}|[\s/-]?){_YEAR})?",
        rf"{_YEAR}[\s/-]?(?P<kind>q|h){_PART}",
        rf"{_PART}\s+(?P<kind>quarter|half)(?:{_IN}{_YEAR})?",
        rf"(?:(?:(?:fiscal|financial|calendar)\s+)?year\s+)?{_YEAR}",
    )
]
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)")
_TIME = re.compile(r"(?<=\d\d)[Tt ]\d\d:[\d:.]+$")
_VERB = re.compile(r"may\s+(?:i|we|you|it|they|be|have|not|also|differ)\b", re.IGNORECASE)
"""May as a verb."""
_ORDER = r"(?:st|nd|rd|th)?"
_LAST = _DAY.replace("day", "last")
_DASH = r"\s*[-\u2013]\s*"
_OF_MONTH = rf"\.?\s+(?:of\s+)?{_NAME}\b(?:,?\s+{_YEAR})?"
_AND = r"(?:,|\s+(?:and|or))\s+"
_DAYS = r"\g<day> \g<name> \g<year> - \g<last> \g<name> \g<year>"
_UP_TO = rf"(?:{_DASH}|\s+(?(between)and|(?:to|until|till|through))\s+)(?:the\s+)?"
_FROM = rf"\b(?P<between>between\s+(?:the\s+)?)?{_DAY}{_ORDER}"
_NEXT = rf"(?=(?:\d\d?{_ORDER}{_AND}){{0,30}}\d\d?{_ORDER}{_OF_MONTH})"
_START = rf"\b(?P<start>(?:{_MONTH})\.?(?:\s+(?:19|20)\d\d)?|[qh][1-4])"
_RANGES = [
    (re.compile(pattern, re.IGNORECASE), written)
    for pattern, written in (
        # 10 to 20 April 2024, between 10 and 20 April, 10-20 April
        (rf"{_FROM}{_UP_TO}{_LAST}{_ORDER}{_OF_MONTH}", rf"\g<between>{_DAYS}"),
        # 1, 2 and 5 May 2024
        (
            rf"\b{_DAY}{_ORDER}(?P<join>,|\s+(?:and|or))\s+{_NEXT}",
            r"\g<day> \g<name> \g<year>\g<join> ",
        ),
        # April 10-20, 2024
        (rf"\b{_NAME}\s+{_DAY}{_DASH}{_LAST},?\s+{_YEAR}", _DAYS),
        # June-August 2023, Q1-Q3 2024
        (rf"{_START}[-\u2013](?=(?:{_MONTH}|[qh][1-4])\b)", r"\g<start> - "),
        # from 2023 on, from the 4th of October 2024 on
        (r"\b(?P<since>from(?:\s+\S+){1,6}?)\s+on(?=\s+by\b|[,;.?!]|$)", r"\g<since> onwards"),
        # all of 2024, the month of May 2024
        (r"\b(?:all|(?:the\s+)?whole)\s+of\s+(?=(?:19|20)\d\d\b)", ""),
        (rf"\bmonth\s+of\s+(?=(?:{_MONTH})\.?(?:,|\s+of)?\s+(?:19|20)\d\d\b)", ""),
        (r"\bover\s+(?=(?:the\s+)?(?:last|past)\b)", "in "),
        (r"\bother\s+(?P<noun>[\w-]+)\s+than\b", r"\g<noun> other than"),
        (rf"\bfirst\s+of\s+(?=(?:{_MONTH})\b)", "1 "),
        # the last quarter of 2024
        (rf"\b(?:last|final)\s+quarter\s+of\s+{_YEAR}", r"Q4 \g<year>"),
        (rf"\b(?:last|final)\s+half\s+of\s+{_YEAR}", r"H2 \g<year>"),
        (rf"\b(?:last|final)\s+month\s+of\s+{_YEAR}", r"December \g<year>"),
        (r"\b(?:ytd|year[\s-]to[\s-]date)\b", "this year"),
        (r"\bhalf\s+(?:a|one)\s+(?=percent|per\s+cent)", "0.5 "),
        # month by month
        (r"\b(?P<unit>\w+)\s+by\s+(?P=unit)\b", r"by \g<unit>"),
        (rf"(?<![\w\"'\u201c]){_YEAR}[-/ ](?P<part>[qh][1-4])(?!\w)", r"\g<part> \g<year>"),
        (rf"(?<![-/.\w]){_YEAR}[-\u2013](?=(?:19|20)\d\d(?![-/.\w]))", r"\g<year> - "),
    )
]
_ANY_YEAR, _MONTHS_OF_YEAR = 4, 12


@dataclass(frozen=True, slots=True)
class Period:
    """The days of a period; without `has_year`, those of any leap year."""

    first: date
    last: date
    has_year: bool = True
    is_relative: bool = False

    @property
    def is_year(self) -> bool:
        """Whether it is one or more whole years."""
        return self.first.timetuple()[1:3] == (1, 1) and self.last.timetuple()[1:3] == (12, 31)

    @property
    def length(self) -> int:
        """The number of months; 0 for a day."""
        months = _month_of(self.last) - _month_of(self.first) + 1
        return 0 if self.first == self.last else months

    def iso(self) -> tuple[str, str]:
        """The first and the last day as ISO dates."""
        return self.first.isoformat(), self.last.isoformat()


def _month_of(day: date) -> int:
    """The number of a day's month, counted from the year 0."""
    return day.year * _MONTHS_OF_YEAR + day.month - 1


def _months(start: int, count: int) -> Period:
    """A number of months from one on."""
    year, month = divmod(start + count, _MONTHS_OF_YEAR)
    first = date(start // _MONTHS_OF_YEAR, start % _MONTHS_OF_YEAR + 1, 1)
    return Period(first, date(year, month + 1, 1) - timedelta(1))


def _day_in(month: Period, number: int) -> Period | None:
    """A day of a month."""
    if number > month.last.day:
        return None
    day = month.first.replace(day=number)
    return Period(day, day)


def spelt_out(text: str) -> str:
    """A question with periods at both ends of each range, and other short forms spelt out."""
    if len(text) > LONGEST_QUESTION:
        return text
    for pattern, written in _RANGES:
        text = pattern.sub(written, text)
    return text


_RELATIVE = re.compile(
    r"(?:(?P<day>today|yesterday)|(?P<which>this|current|last|previous|past|latest)"
    r"(?:\s+(?P<count>\d{1,2}|two|three|four|five|six|twelve))?"
    r"\s+(?P<unit>day|month|quarter|year)s?(?:['\u2019]s?)?)(?![\w-]|\s+of\b|\s+(?:19|20)\d\d)"
    r"|(?P<steps>\d{1,2}|a|one|two|three|four|five|six|twelve)"
    r"\s+(?P<each>day|month|quarter|year)s?\s+ago\b",
    re.IGNORECASE,
)
_COUNTS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "twelve": 12}
_LENGTHS = {"month": 1, "quarter": 3, "half": 6, "year": 12}


def relative_at(
    text: str, start: int, last_day: date | None, today: date
) -> tuple[int, Period] | None:
    """The end and the days of a relative period at this position, such as "last month".

    It is relative to today, or to the last day of the data if the data ends before the previous
    period; "today", "yesterday" and "two months ago" are always relative to today.
    """
    match = _RELATIVE.match(text, start)
    if match is None:
        return None
    unit = (match["unit"] or match["each"] or "day").lower()
    count, steps = ((each or "1").lower() for each in match.group("count", "steps"))
    count, steps = (_COUNTS.get(each) or int(each) for each in (count, steps))
    which = (match["day"] or match["which"] or "").lower()
    back = 0 if which in {"this", "current", "latest", "today"} else steps
    if min(count, steps) < 1 or (count > 1 and not back):
        return None
    period = _before(today, unit, back, count)
    if last_day is not None and not (match["day"] or match["steps"]):
        end = last_day if unit == "day" else _months(_month_of(last_day), 1).last
        # "this month" has no data yet if these end with the last one
        known = period if which == "latest" else _before(today, unit, 1, 1)
        day = last_day + timedelta(back) if unit == "day" else last_day
        period = _before(day, unit, back, count) if known.last > end else period
    return match.end(), replace(period, is_relative=True)


def _before(day: date, unit: str, back: int, count: int) -> Period:
    """A period of `count` units that ends `back` units before the one of this day."""
    if unit == "day":
        return Period(day - timedelta(back + count - 1), day - timedelta(back))
    length = _LENGTHS[unit]
    at = _month_of(day) // length * length
    return _months(at - back * count * length, count * length)


def is_verb(text: str, start: int) -> bool:
    """Whether "may" at this position is a verb and not the month."""
    return _VERB.match(text, start) is not None


def period_at(text: str, start: int) -> tuple[int, Period] | None:
    """The end and the days of the period at this position of a text."""
    for form in _FORMS:
        match = form.match(text, start)
        parts = match.groupdict() if match else {}
        period = match and _period({name: part and part.lower() for name, part in parts.items()})
        if match and period and not is_verb(text, start):
            return match.start() + len(match[0].rstrip(".")), period  # "in Sep. 2024.", "in May."
    return None


def _period(parts: Mapping[str, str | None]) -> Period | None:
    """The period that the groups of a form say."""
    kind, part, day = parts.get("kind"), parts.get("part"), parts.get("day")
    start, length = 0, _MONTHS_OF_YEAR
    if kind and part:
        length = _LENGTHS["quarter"] if kind[0] == "q" else _LENGTHS["half"]
        start = ((_WORDS.get(part) or int(part[0])) - 1) * length
    elif name := parts.get("name") or parts.get("month"):
        start, length = (MONTHS.get(name) or int(name)) - 1, 1
    if start >= _MONTHS_OF_YEAR:
        return None
    found = _months(int(parts.get("year") or _ANY_YEAR) * _MONTHS_OF_YEAR + start, length)
    known = _day_in(found, int(day)) if day else found
    return known and replace(known, has_year=bool(parts.get("year")))


@lru_cache(4096)
def period_of(value: str) -> Period | None:
    """The period that a value of the data is; values that begin with the year are in its order."""
    day = _TIME.sub("", value)
    if compact := _COMPACT.fullmatch(day):
        day = "-".join(compact.groups())
    found = period_at(day, 0) if day[:4].isdecimal() else None
    return found[1] if found is not None and found[0] == len(day) else None


def dated(period: Period, years: Iterable[int]) -> Period | None:
    """The period with its year; None if it has none and there are several."""
    only = [*{*years}]
    if period.has_year or len(only) != 1:
        return period if period.has_year else None
    found = _months(only[0] * _MONTHS_OF_YEAR + period.first.month - 1, period.length or 1)
    return found if period.length else _day_in(found, period.first.day)


def are_periods(values: Collection[str]) -> bool:
    """Whether values are periods that the database orders by time: all are written alike."""
    lengths = {len(value) for value in values}
    return all(map(period_of, values)) and len(lengths) == 1 and lengths != {len("2024")}


def are_years(values: Collection[str]) -> bool:
    """Whether values are years."""
    return all(re.fullmatch(r"(?:19|20)\d\d", value) for value in values)


def values_in(period: Period, values: Iterable[str]) -> list[str]:
    """The values whose days are all within a period, in their order."""
    known = ((known, value) for value in values if (known := period_of(value)) is not None)
    within = (
        (each.iso(), value)
        for each, value in known
        if period.first <= each.first and each.last <= period.last
    )
    return [value for _, value in sorted(within)]
