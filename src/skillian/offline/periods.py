"""Months, quarters and years of a question, found among the values of the dimensions."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable, Sequence

from skillian.offline.words import MOST_PASSED, Word

_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_LONG = {name: number for number, name in enumerate(_NAMES, 1)}
_MONTHS = _LONG | {name[:3]: number for name, number in _LONG.items()} | {"sept": 9}
_ORDINALS = {
    "first": 1,
    "1st": 1,
    "second": 2,
    "2nd": 2,
    "third": 3,
    "3rd": 3,
    "fourth": 4,
    "4th": 4,
}
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
Span = tuple[Month, Month]


def month_of(value: str) -> Month | None:
    """Return the year and month of a value, if it looks like a month."""
    match = _VALUE.fullmatch(value.lower())
    if match is None:
        return None
    month = int(match["fiscal"] or match["month"] or 0)
    is_month = 1 <= month <= _MONTHS_OF_YEAR
    return (int(match["year"]), month) if is_month else None


def in_span(values: Iterable[str], span: Span) -> list[str]:
    """Return the values within these months, in their order."""
    known = sorted((month, value) for value in values if (month := month_of(value)) is not None)
    return [value for month, value in known if span[0] <= month <= span[1]]


def days_of(span: Span) -> list[str]:
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


def read_span(words: Sequence[Word], at: int, years: Iterable[int]) -> tuple[int, Span] | None:
    """Return the number of words that name months from word `at` on, and the months.

    `years` are those that the question names, otherwise those of the data; a month without a year
    is understood only if there is a single year.
    """
    said = words[at].plain
    if match := _MONTH_FIRST.fullmatch(said) or _YEAR_FIRST.fullmatch(words[at].text.lower()):
        number = match["month"] or match["digit"]
        month = (int(match["year"]), int(number))
        return 1, (month, month)
    if _YEAR.fullmatch(said):
        return 1, _months(int(said), 1, _MONTHS_OF_YEAR)
    if said in _MONTHS and (said != "may" or words[at].text != "may"):
        return _with_year(words, at, 1, (_MONTHS[said], _MONTHS[said]), years)
    if match := _QUARTER.fullmatch(said):
        first = int(match["quarter"]) * _OF_QUARTER - 2
        if match["year"]:
            return 1, _months(int(match["year"]), first, first + 2)
        return _with_year(words, at, 1, (first, first + 2), years)
    return _part_of_year(words, at, years)


def _part_of_year(words: Sequence[Word], at: int, years: Iterable[int]) -> tuple[int, Span] | None:
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
) -> tuple[int, Span] | None:
    """Return the months in the year that follows, or in the only year there is."""
    after = at + taken
    end = min(after + MOST_PASSED, len(words))
    while after < end and words[after].plain in _JOINING:
        after += 1
    if after < len(words) and _YEAR.fullmatch(words[after].plain):
        return after + 1 - at, _months(int(words[after].plain), *months)
    only = set(years)
    return (taken, _months(only.pop(), *months)) if len(only) == 1 else None


def _months(year: int, first: int, last: int) -> Span:
    return (year, first), (year, last)
