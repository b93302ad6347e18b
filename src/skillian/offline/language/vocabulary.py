"""The names that a question can use, and the words of a question."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

from skillian.offline.language.periods import MONTHS, are_periods, are_years, period_of

_WORD = re.compile(
    r"(?<!\w)'[^']+'(?!\w)|\"[^\"]+\"|“[^“”]+”|(?<=\w)\.{2,3}(?=\w)|(?<=\s)[-\u2013](?=\s)"
    r"|(?:(?<![-\w+!<>~^@|*])[-+!<>~^@|*]+)?"
    r"\w+(?:[.:'\u2019]\w+|(?<=\d)/\d+|,\d+|-\d+|(?<=\d)-\w+)*(?:[-+*]+(?![-\w]))?"
    r"|[!<>]=|<>|[^\s\w,;:.?!'\"“”\u2019\u2013-]"
)
"""Quoted text, signs, and words with the signs that they have: -5, A+, C++."""
_QUOTES = "'\"“”"
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SHORTEST_PLURAL = 4
ARTICLES = frozenset(["a", "an", "my", "our", "please", "kindly", "the"])
"""Words that carry nothing, unless the catalogue has them as values."""


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


def _word(match: re.Match[str]) -> Word:
    is_quoted = match[0][0] in _QUOTES
    text = match[0].strip(_QUOTES) if is_quoted else match[0]
    bare = re.sub(r"['\u2019]\w{0,2}$", "", re.sub(r"n['\u2019]t$", "nt", text))
    parts = re.split("_+", bare.lower())
    form = plain(text) if is_quoted else " ".join(_singular(part) for part in parts if part)
    return Word(text, form, match.start(), match.end(), is_quoted)


def _singular(word: str) -> str:
    if len(word) < _SHORTEST_PLURAL or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith(("ies", "ie")):
        return f"{word.removesuffix('s')[:-2]}y"  # of country and of movie
    return word[:-2] if word.endswith(("ches", "shes", "xes", "sses")) else word.removesuffix("s")


@dataclass(frozen=True, slots=True)
class DimensionWords:
    """The synonyms of a dimension, and its known values as text.

    `is_open` means that it has more values than these; `is_date` that they are dates, of which
    `last` is the latest. `parts` are dimensions of shorter periods, each of which determines the
    value of this one in every row.
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
    """One source: its measures with their synonyms, its dimensions, and units of measures."""

    measures: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    dimensions: Mapping[str, DimensionWords] = field(default_factory=dict[str, DimensionWords])
    units: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class ToolWords:
    """A tool that phrases request: the phrases, and the JSON schema of its arguments."""

    phrases: tuple[str, ...]
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])


Meanings = Mapping[str, Mapping[str, tuple[str, ...]]]
"""What a phrase names, by kind; of a value the dimensions, each with the values as in the data."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All sources by name, and the tools with phrases."""

    sources: Mapping[str, SourceWords]
    tools: Mapping[str, ToolWords] = field(default_factory=dict[str, ToolWords])
    _parts: dict[tuple[str, ...], Vocabulary] = field(default_factory=dict[Any, Any])

    def within(self, names: Iterable[str]) -> Vocabulary:
        """The vocabulary of these sources, or of all if none of the names is known."""
        known = tuple(name for name in self.sources if name in {*names})
        if not known or len(known) == len(self.sources):
            return self
        part = Vocabulary({name: self.sources[name] for name in known})
        return self._parts.setdefault(known, part)

    @cached_property
    def phrases(self) -> Mapping[str, Meanings]:
        """What each phrase names in its plain form or as it is written; names precede synonyms."""
        found: dict[str, dict[str, dict[str, tuple[str, ...]]]] = {}
        named: list[tuple[str, str, tuple[str, ...]]]
        named = [("source", name, ()) for name in self.sources]
        for words in self.sources.values():
            named += [("measure", *each) for each in words.measures.items()]
            named += [("dimension", name, each.synonyms) for name, each in words.dimensions.items()]
        for kind, name, _ in named:
            for form in (plain(name), spaced(name), name.lower()):
                found.setdefault(form, {}).setdefault(kind, {})[name] = ()
        names = {(form, kind) for form, kinds in found.items() for kind in kinds}
        for kind, name, synonyms in named:
            for form in map(plain, synonyms):
                if (form, kind) not in names:
                    found.setdefault(form, {}).setdefault(kind, {})[name] = ()
        for dimension in self.dimensions:
            for value in self.values(dimension):
                for form in self._forms(dimension, value):
                    values = found.setdefault(form, {}).setdefault("value", {})
                    values[dimension] = (*values.get(dimension, ()), value)
        return found

    @cached_property
    def source_words(self) -> Mapping[str, str]:
        """The source of each word that only its name has."""
        words = [(word, name) for name in self.sources for word in {*plain(name).split()}]
        counts = Counter(word for word, _ in words)
        return {word: name for word, name in words if counts[word] == 1 and word.isalpha()}

    def _forms(self, dimension: str, value: str) -> set[str]:
        """The phrases of a value."""
        first, *others = plain(value).split() or [""]  # articles are not read in a question
        bare = " ".join([first, *(each for each in others if each not in ARTICLES)])
        forms = {plain(value), bare, *([value.lower()] if ". " in value else [])}
        if self.has_only_years and value.isdecimal() and "month" in plain(dimension).split():
            forms |= {name for name, number in MONTHS.items() if number == int(value)}
        return forms

    @cached_property
    def dimensions(self) -> Mapping[str, list[DimensionWords]]:
        """Each dimension as its sources describe it."""
        known = [words.dimensions for words in self.sources.values()]
        return {name: [of[name] for of in known if name in of] for each in known for name in each}

    def values(self, dimension: str) -> list[str]:
        """The known values of a dimension."""
        described = self.dimensions.get(dimension, ())
        return list(dict.fromkeys(value for words in described for value in words.values))

    def is_open(self, dimension: str) -> bool:
        """Whether the dimension has unknown values."""
        return any(words.is_open for words in self.dimensions.get(dimension, ()))

    def parts(self, dimension: str) -> set[str]:
        """The dimensions of shorter periods that determine this one in all sources."""
        found = [{*words.parts} for words in self.dimensions.get(dimension, ())]
        return set[str].intersection(*found) if found else set()

    @cached_property
    def timed(self) -> tuple[str, ...]:
        """The dimensions whose values are days or months; without any, those of years."""
        values = {name: of for name in self.dimensions if (of := self.values(name))}
        timed = [n for n, of in self.dimensions.items() if any(words.is_date for words in of)]
        timed += [n for n, of in values.items() if are_periods(of) and n not in timed]
        return tuple(timed or (name for name, of in values.items() if are_years(of)))

    @cached_property
    def has_only_years(self) -> bool:
        """Whether the timed dimensions have years."""
        return all(self.values(name) and are_years(self.values(name)) for name in self.timed)

    @cached_property
    def last_day(self) -> date | None:
        """The last day of the data, as the values of its timed dimensions say."""
        values = [value for name in self.timed for value in self.values(name)]
        values += [words.last for name in self.timed for words in self.dimensions[name]]
        return max((each.last for each in map(period_of, values) if each is not None), default=None)

    def with_measures(self, measures: Iterable[str]) -> list[str]:
        """The sources that have all of these measures."""
        return [name for name, of in self.sources.items() if {*measures} <= of.measures.keys()]

    @cached_property
    def units(self) -> Mapping[str, set[str]]:
        """The declared units of each measure in their plain form."""
        known = [words.units for words in self.sources.values()]
        units = {name: [of[name] for of in known if name in of] for each in known for name in each}
        return {name: {plain(unit) or unit for unit in of} for name, of in units.items()}
