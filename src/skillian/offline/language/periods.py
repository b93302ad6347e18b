"""Periods of a question: days, months, quarters, halves and years, in their usual forms."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache

LONGEST_QUESTION = 2000
"""The longest question that is read, in characters."""
_NAMES = "january february march april may june july august september october november december"
_LONG = {name: number for number, name in enumerate(_NAMES.split(), 1)}
MONTHS = _LONG | {name[:3]: number for name, number in _LONG.items()} | {"sept": 9}
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_NAME, _YEAR = rf"(?P<name>{_MONTH})", r"(?P<year>(?:19|20)\d\d)"
_DAY, _NUMBER = r"(?P<day>[12]\d|3[01]|0?[1-9])", r"(?P<month>0?[1-9]|1[0-2])"
_OF = r"(?:,|\s+of)?\s+"
_PART = r"(?P<part>[1-4]|first|second|third|fourth|last)(?:st|nd|rd|th)?"
_WORDS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_FORMS = [
    re.compile(rf"{form}(?:['\u2019]s)?(?![\w-]|/\d|[.,]\d)", re.IGNORECASE)
    for form in (
        rf"{_YEAR}(?P<sign>[-/.]){_NUMBER}(?P=sign){_DAY}",
        rf"{_DAY}\.{_NUMBER}\.{_YEAR}",
        rf"{_DAY}(?:st|nd|rd|th)?\.?(?:\s+of)?\s+{_NAME}\.?(?:{_OF}{_YEAR})?",
        rf"{_NAME}\s+{_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}",
        rf"{_NAME}\.?(?:{_OF}{_YEAR})?",
        rf"{_YEAR}[-/.]{_NUMBER}",
        rf"{_NUMBER}[-/.]{_YEAR}",
        rf"{_YEAR}[mp]?0?(?P<month>0[1-9]|1[0-2])",
        rf"(?P<kind>q|h){_PART}(?:(?:{_OF}|[\s/-]?){_YEAR})?",
        rf"{_YEAR}[\s/-]?(?P<kind>q|h){_PART}",
        rf"{_PART}\s+(?P<kind>quarter|half)(?:{_OF}{_YEAR})?",
        rf"(?:(?:fiscal|financial|calendar)\s+year\s+)?{_YEAR}",
    )
]
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)")
_TIME = re.compile(r"(?<=\d\d)[Tt ]\d\d:[\d:.]+$")
_ORDER = r"(?:st|nd|rd|th)?"
_TO = r"\s*(?P<to>[-\u2013]|and|to|until)\s*"
_MONTHLY = rf"(?:(?:{_MONTH})\.?|[qh][1-4])"
_SPELT = [
    (re.compile(pattern, re.IGNORECASE), written)
    for pattern, written in (
        # 10 to 20 April 2024, between 10 and 20 April, 10-20 April
        (
            rf"\b{_DAY}{_ORDER}{_TO}(?P<last>\d\d?){_ORDER}\s+{_NAME}\b(?:,?\s+{_YEAR})?",
            r"\g<day> \g<name> \g<year> \g<to> \g<last> \g<name> \g<year>",
        ),
        (rf"\b({_MONTHLY}(?: \d{{4}})?)[-\u2013](?={_MONTHLY}\b)", r"\1 to "),
        (r"\b(from(?:\s+\S+){1,6}?)\s+on(?=\s+by\b|[,;:.?!]|$)", r"\1 onwards"),
        (r"\b(excl|incl|vs|abs)\.", r"\1"),
        (r"\bw/(?=\s)", "with"),
        (r"\+/?-\s*(?=\d)", "± "),
        (r"\b(\d{6,7})[-\u2013](\d{6,7})\b", r"\1 to \2"),
        (r"\bover\s+(?=(?:the\s+)?(?:last|past)\b)", "in "),
        (r"\b(?:ytd|year[\s-]to[\s-]date)\b", "this year"),
        (r"\b(?!side\b)(\w+)(?:\s+(?:by|after)\s+\1|-wise)\b", r"by \1"),  # month by month
        (r"\b(what|where|who|why|how|which|that)['\u2019]s\b", r"\1 is"),
        (r"\b(other\s+)(\w+)\s+than\b", r"\2 other than"),
    )
]
_ARTICLES = re.compile(
    r"(\"[^\"]+\"|“[^“”]+”|(?<!\w)'[^']+'(?!\w))|,?(?<!\s)\s+[Pp]lease\b"
    r"|(?<!\bme )(?<!\bus )\b(?:the|The(?=\s+[a-z])|(?<![\w,;:] )The|THE|an?|my|our"
    r"|[Pp]lease|[Kk]indly)\s+"
    r"|(?<=[.?!;] )A\s+(?=[a-z])"
)
"""Quoted text, which keeps them, or an article; not The that may begin a value."""
_ANY_YEAR, _MONTHS_OF_YEAR = 4, 12
_LENGTHS = {"month": 1, "quarter": 3, "half": 6, "year": 12}
_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "twelve": 12}
_RELATIVE = re.compile(
    rf"(?P<which>this|current|last|past)(?:\s+(?P<count>\d{{1,2}}|{'|'.join(_COUNTS)}))?"
    r"\s+(?P<unit>month|quarter|year)s?(?:['\u2019]s?)?(?![\w-]|\s+of\b|\s+(?:19|20)\d\d)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Period:
    """The days of a period; without `has_year`, those of any leap year."""

    first: date
    last: date
    has_year: bool = True

    @property
    def is_year(self) -> bool:
        """Whether it is one or more whole years."""
        return self.first.timetuple()[1:3] == (1, 1) and self.last.timetuple()[1:3] == (12, 31)

    @property
    def length(self) -> int:
        """The number of months; 0 for a day."""
        return 0 if self.first == self.last else _month_of(self.last) - _month_of(self.first) + 1


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
    """A question with periods at both ends of each range, and without articles."""
    text = _ARTICLES.sub(lambda match: match[1] or "", text)
    for pattern, written in _SPELT if len(text) <= LONGEST_QUESTION else ():
        text = pattern.sub(written, text)
    return text


def relative_at(text: str, start: int, end: date | None, today: date) -> tuple[int, Period] | None:
    """The end and the days of a relative period at this position, such as "last month".

    It is before today, or before the last month of the data if the data ends earlier.
    """
    match = _RELATIVE.match(text, start)
    if match is None:
        return None
    count = (match["count"] or "1").lower()
    length, number = _LENGTHS[match["unit"].lower()], _COUNTS.get(count) or int(count)
    back = 0 if match["which"].lower() in {"this", "current"} else number
    month = _month_of(today) // length * length
    if end is not None and _months(month - length, length).last > end:
        month = _month_of(end) // length * length
    is_known = number == 1 or back > 1
    return (match.end(), _months(month - back * length, number * length)) if is_known else None


def period_at(text: str, start: int) -> tuple[int, Period] | None:
    """The end and the days of the period at this position of a text."""
    for form in _FORMS:
        match = form.match(text, start)
        parts = match.groupdict() if match else {}
        period = match and _period({name: part and part.lower() for name, part in parts.items()})
        if match and period:
            return match.start() + len(match[0].rstrip(".")), period  # "in Sep. 2024."
    return None


def _period(parts: Mapping[str, str | None]) -> Period | None:
    """The period that the groups of a form say."""
    kind, part, day = parts.get("kind"), parts.get("part"), parts.get("day")
    start, length = 0, _MONTHS_OF_YEAR
    if kind and part:
        length = _LENGTHS["quarter" if kind[0] == "q" else "half"]
        count = _MONTHS_OF_YEAR // length
        start = (count if part == "last" else _WORDS.get(part) or int(part)) * length - length
    elif name := parts.get("name") or parts.get("month"):
        start, length = (MONTHS.get(name) or int(name)) - 1, 1
    if start >= _MONTHS_OF_YEAR or (part == "last" and not parts.get("year")):
        return None
    found = _months(int(parts.get("year") or _ANY_YEAR) * _MONTHS_OF_YEAR + start, length)
    known = _day_in(found, int(day)) if day else found
    return known and replace(known, has_year=bool(parts.get("year")))


@lru_cache(4096)
def period_of(value: str) -> Period | None:
    """The period that a value of the data is; values that begin with the year are in its order."""
    day = _COMPACT.sub(r"\1-\2-\3", _TIME.sub("", value)) if len(value) != len("2024001") else value
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
