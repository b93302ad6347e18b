"""The names that a question can use, and the words of a question."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

from skillian.offline.language.periods import MONTHS, are_periods, are_years, period_of

_WORD = re.compile(
    r"(?<!\w)'[^']+'(?!\w)|\"[^\"]+\"|“[^“”]+”|[<>!]=|<>|[<>=≥≤≠&%€$£\u2013]|(?<=\s)-(?=\s)|(?<=\w)\.{2,3}(?=\w)"
    r"|\w+(?:[./'\u2019]\w+|,\d+|-\d+|(?<=\d)-\w+)*"
)
_QUOTES = "'\"“”"
_SIGNS = "+-*#<>=~^&%@|"
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SHORTEST_PLURAL = 4
_COUNTS = {"count", "number", "quantity"}
_QUARTERS = {
    f"q{number}": (f"{word} quarter", f"{order} quarter", f"quarter {number}")
    for number, (word, order) in enumerate(
        [("first", "1st"), ("second", "2nd"), ("third", "3rd"), ("fourth", "4th")], 1
    )
}


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the question; `start` and `end` are its position in the text."""

    text: str
    plain: str
    start: int
    end: int
    is_quoted: bool = False


def split(text: str) -> list[Word]:
    """The words of a text, which end at hyphens between letters."""
    return [_word(match) for match in _WORD.finditer(text)]


def plain(text: str) -> str:
    """The form in which names are compared: lower case, no underscores, singular."""
    return " ".join(word.plain for word in split(text))


def spaced(name: str) -> str:
    """The plain form of a name with its words apart: ShipCountry is ship country."""
    return plain(_CAPITAL.sub(" ", name))


def signs(text: str) -> tuple[str, str]:
    """The signs at the beginning and at the end of a text, as of A+ and <18."""
    start, end = text.lstrip(_SIGNS), text.rstrip(_SIGNS)
    return text[: len(text) - len(start)], text[len(end) :]


def form_of(value: str) -> str:
    """The form of a value by which a question names it: with its signs, such as a+, or plain."""
    form = plain(value)
    return value.lower() if form and any(signs(value)) else form


def has_digit(text: str) -> bool:
    """Whether a text has a digit: a number, or a name such as CC100."""
    return any(letter.isdigit() for letter in text)


def is_plural(text: str) -> bool:
    """Whether a word or name is written in the plural."""
    return plain(text) != text.lower().replace("_", " ")


def _word(match: re.Match[str]) -> Word:
    is_quoted = match[0][0] in _QUOTES
    text = match[0].strip(_QUOTES) if is_quoted else match[0]
    bare = "not" if re.search(r"n['\u2019]t$", text) else re.sub(r"['\u2019]\w{0,2}$", "", text)
    parts = re.split("_+", bare.lower())
    form = plain(text) if is_quoted else " ".join(_singular(part) for part in parts if part)
    return Word(text, form, match.start(), match.end(), is_quoted)


def _singular(word: str) -> str:
    if len(word) < _SHORTEST_PLURAL or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith(("ies", "ie")):
        return f"{word.removesuffix('s')[:-2]}y"  # of country and of movie
    if word.endswith(("ches", "shes", "xes", "sses")) or re.search(r"\w[^\Waeo]uses$", word):
        return word[:-2]
    return word.removesuffix("s")


@dataclass(frozen=True, slots=True)
class DimensionWords:
    """The synonyms of a dimension, and its known values as text.

    `is_open` means that it has more values than these; `is_date` that they are dates, of which
    `last` is the latest. `declared` are those that the sources' file names. `parts` are dimensions
    of shorter periods, each of which determines the value of this one in every row.
    """

    synonyms: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    is_open: bool = False
    is_date: bool = False
    last: str = ""
    declared: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceWords:
    """One source: its measures with their synonyms, its dimensions, the units of its measures."""

    measures: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    dimensions: Mapping[str, DimensionWords] = field(default_factory=dict[str, DimensionWords])
    units: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class ToolWords:
    """A tool that phrases request: the phrases, and the JSON schema of its arguments."""

    phrases: tuple[str, ...]
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All sources by name, and the tools with phrases."""

    sources: Mapping[str, SourceWords]
    tools: Mapping[str, ToolWords] = field(default_factory=dict[str, ToolWords])

    def within(self, names: Iterable[str]) -> Vocabulary:
        """The vocabulary of these sources, or of all if none of the names is known."""
        known = tuple(sorted({name for name in names if name in self.sources}))
        if not known or len(known) == len(self.sources):
            return self
        if known not in self._parts:
            self._parts[known] = Vocabulary({name: self.sources[name] for name in known})
        return self._parts[known]

    def about(
        self, named: Collection[str], spoken: Collection[str], measures: Collection[str]
    ) -> Vocabulary:
        """The vocabulary of the sources that a question names, or of those with its measures.

        If the sources of the conversation, `spoken`, have some of the measures, it is theirs.
        """
        having = self.with_measures(measures)
        is_spoken = not measures or not {*spoken}.isdisjoint(having)
        return self.within(named or (spoken if is_spoken else ()) or having)

    @cached_property
    def _parts(self) -> dict[tuple[str, ...], Vocabulary]:
        return {}

    @cached_property
    def measures(self) -> Mapping[str, str]:
        """The measure of every phrase in its plain form; names precede synonyms."""
        return _most_shared(
            (name, synonyms)
            for words in self.sources.values()
            for name, synonyms in words.measures.items()
        )

    @cached_property
    def dimensions(self) -> Mapping[str, str]:
        """The dimension of every phrase in its plain form; names precede synonyms."""
        return _most_shared(
            (name, words.synonyms)
            for source in self.sources.values()
            for name, words in source.dimensions.items()
        )

    @cached_property
    def whole_names(self) -> Mapping[str, str]:
        """The source of every name in its plain form."""
        return {form(name): name for form in (spaced, plain) for name in self.sources}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The source of every name, and of each word that only one of the names has."""
        whole = self.whole_names
        parts = Counter(part for name in whole for part in set(name.split()))
        return {
            part: source
            for name, source in whole.items()
            for part in name.split()
            if parts[part] == 1 and part.isalpha()
        } | dict(whole)

    @cached_property
    def described(self) -> Mapping[str, Sequence[DimensionWords]]:
        """Each dimension as its sources describe it."""
        described: dict[str, list[DimensionWords]] = {}
        for words in self.sources.values():
            for name, dimension in words.dimensions.items():
                described.setdefault(name, []).append(dimension)
        return described

    @cached_property
    def values(self) -> Mapping[str, Mapping[str, str]]:
        """The values of each dimension as in the data, by their lower case."""
        return {
            name: {value.lower(): value for words in reversed(each) for value in words.values}
            for name, each in self.described.items()
        }

    @cached_property
    def plain_values(self) -> Mapping[str, Mapping[str, str]]:
        """For every value in its plain form: the dimensions that have it, each with the value."""
        found: dict[str, dict[str, str]] = {}
        for name, values in self.values.items():
            for value in values.values():
                for phrase in (form_of(value), *_QUARTERS.get(value.lower(), ())):
                    found.setdefault(phrase, {}).setdefault(name, value)
                for phrase in _part_of_year(name, value) if self.has_only_years else ():
                    found.setdefault(phrase, {}).setdefault(name, value)
        return found

    @cached_property
    def signed(self) -> frozenset[str]:
        """The forms of values that begin or end with a sign."""
        values = (value for of in self.values.values() for value in of.values())
        return frozenset(form_of(value) for value in values if any(signs(value)) and plain(value))

    @cached_property
    def alike(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        """The values of a dimension that have one form, such as Web and WEB, if several."""
        found: dict[tuple[str, str], dict[str, None]] = {}
        for name, each in self.described.items():
            for value in (value for words in each for value in words.values):
                found.setdefault((name, form_of(value)), {})[value] = None
        return {key: tuple(values) for key, values in found.items() if len(values) > 1}

    @cached_property
    def units(self) -> Mapping[str, str]:
        """The declared units of measures by their plain form."""
        named = (unit for words in self.sources.values() for unit in words.units.values())
        return {plain(unit): unit for unit in named}

    def units_of(self, measure: str) -> set[str]:
        """The declared units of a measure in their plain form."""
        named = (words.units.get(measure) for words in self.sources.values())
        return {plain(unit) for unit in named if unit is not None}

    @cached_property
    def timed(self) -> tuple[str, ...]:
        """The dimensions whose values are days or months; without any, those of years."""
        timed = tuple(
            name
            for name, values in self.values.items()
            if self.is_date(name) or (values and are_periods(values.values()))
        )
        years = (name for name, values in self.values.items() if values and are_years(values))
        return timed or tuple(years)

    @cached_property
    def of_periods(self) -> frozenset[str]:
        """The dimensions whose values are days, months or quarters, and those of years."""
        years = {name for name, of in self.values.items() if of and are_years(of.values())}
        return frozenset(years.union(self.timed))

    @cached_property
    def has_only_years(self) -> bool:
        """Whether the timed dimensions have years."""
        return all(self.values[name] and are_years(self.values[name]) for name in self.timed)

    @cached_property
    def last_day(self) -> date | None:
        """The last day of the data, as the values of its timed dimensions say."""
        values = [value for name in self.timed for value in self.values[name]]
        values += [words.last for name in self.timed for words in self.described[name]]
        return max((each.last for each in map(period_of, values) if each is not None), default=None)

    def counts_of(self, source: str) -> tuple[list[str], list[str]]:
        """The measures that count the rows of a source, and others that count something."""
        measures = self.sources[source].measures
        forms = {name: {plain(each) for each in (name, *of)} for name, of in measures.items()}
        rows = [name for name, of in forms.items() if of & {"row", plain(source)}]
        others = [name for name, of in forms.items() if _COUNTS & {*" ".join(of).split()}]
        return rows, [name for name in others if name not in rows]

    def rows_of(self, source: str) -> list[str]:
        """The measure that counts the rows of a source, unless another one may count the same."""
        rows, others = self.counts_of(source)
        return rows if len(rows) == 1 and not others else []

    def with_measures(self, measures: Collection[str]) -> list[str]:
        """The sources that have all of these measures."""
        return [name for name, of in self.sources.items() if {*measures} <= of.measures.keys()]

    def is_part(self, fine: str, dimension: str) -> bool:
        """Whether the first determines the second in each source that has both."""
        having = [
            source.dimensions[dimension].parts
            for source in self.sources.values()
            if {fine, dimension} <= source.dimensions.keys()
        ]
        return bool(having) and all(fine in parts for parts in having)

    def part_of(self, dimension: str) -> str | None:
        """The dimension of the shortest periods that determines this one."""
        parts = [name for name in self.described if self.is_part(name, dimension)]
        return next((n for n in parts if not any(self.is_part(each, n) for each in parts)), None)

    def is_open(self, dimension: str) -> bool:
        """Whether the dimension has unknown values."""
        return any(words.is_open for words in self.described.get(dimension, ()))

    def is_date(self, dimension: str) -> bool:
        """Whether the dimension's values are dates."""
        return any(words.is_date for words in self.described.get(dimension, ()))


def _part_of_year(dimension: str, value: str) -> Iterator[str]:
    """Yield the names of a month or quarter whose value is its number, beside a year."""
    words = plain(dimension).split()
    if value.isdecimal() and "month" in words:
        yield from (name for name, number in MONTHS.items() if number == int(value))
    if value.isdecimal() and "quarter" in words:
        quarter = f"q{int(value)}"
        yield from (quarter, *_QUARTERS.get(quarter, ()))


def _most_shared(names: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, str]:
    """The name that most sources give each phrase, the first of several; names as they are, too."""
    counts = Counter(
        (plain(phrase), name) for name, synonyms in names for phrase in (name, *synonyms)
    )
    meanings = {phrase: name for (phrase, name), _ in reversed(counts.most_common())}
    known = dict.fromkeys(name for _, name in counts)
    own = {form(name): name for form in (spaced, plain, str.lower) for name in known}
    return meanings | own
