"""The vocabulary of questions: the names, synonyms and values of the sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from rapidfuzz.distance import OSA

from skillian.offline.lexicon import CHANGING, HARMLESS
from skillian.offline.words import Word, plain


@dataclass(frozen=True, slots=True)
class DimensionWords:
    """The synonyms of a dimension, and its known values as text.

    `is_open` means that it has more values than these; `is_date` that they are dates.
    """

    synonyms: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    is_open: bool = False
    is_date: bool = False


@dataclass(frozen=True, slots=True)
class SourceWords:
    """One source: its measures with their synonyms, its dimensions."""

    measures: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    dimensions: Mapping[str, DimensionWords] = field(default_factory=dict[str, DimensionWords])


@dataclass(frozen=True, slots=True)
class ToolWords:
    """A tool that phrases request: the phrases, and the JSON schema of its arguments."""

    phrases: tuple[str, ...]
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Vocabulary:
    """All sources by name, and the tools with phrases."""

    sources: Mapping[str, SourceWords]
    tools: Mapping[str, ToolWords] = field(default_factory=dict[str, ToolWords])

    def within(self, names: Iterable[str]) -> Vocabulary:
        """Return the vocabulary of these sources, or of all if none of the names is known."""
        known = {name: self.sources[name] for name in names if name in self.sources}
        return Vocabulary(known) if known else self

    def measure_phrases(self) -> dict[str, str]:
        """Return the name of the measure for every phrase; names precede synonyms."""
        said = [
            (phrase, name)
            for words in self.sources.values()
            for name, synonyms in words.measures.items()
            for phrase in (name, *synonyms)
        ]
        return _most_shared(said) | {name: name for _, name in said}

    def dimension_phrases(self) -> dict[str, str]:
        """Return the name of the dimension for every phrase; names precede synonyms."""
        said = [
            (phrase, name)
            for words in self.sources.values()
            for name, dimension in words.dimensions.items()
            for phrase in (name, *dimension.synonyms)
        ]
        return _most_shared(said) | {name: name for _, name in said}

    @cached_property
    def values(self) -> Mapping[str, Mapping[str, str]]:
        """The values of each dimension as in the data, by their lower case."""
        found: dict[str, dict[str, str]] = {}
        for words in self.sources.values():
            for name, dimension in words.dimensions.items():
                known = found.setdefault(name, {})
                for value in dimension.values:
                    known.setdefault(value.lower(), value)
        return found

    def dimensions_with(self, value: str) -> tuple[str, ...]:
        """Return the dimensions that have this value in some source."""
        said = value.lower()
        return tuple(name for name, values in self.values.items() if said in values)

    def is_open(self, dimension: str) -> bool:
        """Whether the dimension has unknown values."""
        return any(words.is_open for words in self._each(dimension))

    def is_date(self, dimension: str) -> bool:
        """Whether the dimension's values are dates."""
        return any(words.is_date for words in self._each(dimension))

    def _each(self, dimension: str) -> list[DimensionWords]:
        found = (words.dimensions.get(dimension) for words in self.sources.values())
        return [each for each in found if each is not None]


def _most_shared(said: list[tuple[str, str]]) -> dict[str, str]:
    """Return the name that most sources give each phrase; the first of several."""
    counts = Counter(said)
    found: dict[str, str] = {}
    for phrase, name in counts:
        if phrase not in found or counts[phrase, name] > counts[phrase, found[phrase]]:
            found[phrase] = name
    return found


Kind = Literal["source", "measure", "dimension"]
LONGEST = 5
_ONE_FAULT_FROM = 6
_TWO_FAULTS_FROM = 9


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a question: its number of words, and its possible meanings."""

    length: int
    meanings: Mapping[Kind, str]

    def best(self) -> tuple[Kind, str]:
        """Return the most likely meaning without context: a source before a measure."""
        return next(iter(self.meanings.items()))


class Phrases:
    """All phrases for a source, a measure or a dimension."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._meanings: dict[str, dict[Kind, str]] = {}
        for name in vocabulary.sources:
            self._add("source", name, name)
        for phrase, name in vocabulary.measure_phrases().items():
            self._add("measure", phrase, name)
        for phrase, name in vocabulary.dimension_phrases().items():
            self._add("dimension", phrase, name)

    def at(self, words: Sequence[Word], at: int) -> Name | None:
        """Return the longest name that starts at this word."""
        for length in range(min(LONGEST, len(words) - at), 0, -1):
            part = words[at : at + length]
            meanings = self._find(" ".join(word.plain for word in part), part)
            if meanings:
                return Name(length, meanings)
        return None

    def _add(self, kind: Kind, phrase: str, name: str) -> None:
        self._meanings.setdefault(plain(phrase), {}).setdefault(kind, name)

    def _find(self, said: str, part: Sequence[Word]) -> Mapping[Kind, str] | None:
        if said in self._meanings:
            return self._meanings[said]
        if any(_is_everyday(word.plain) for word in (part[0], part[-1])):
            return None
        faults = 2 if len(said) >= _TWO_FAULTS_FROM else 1 if len(said) >= _ONE_FAULT_FROM else 0
        if not faults or not said.replace(" ", "").isalpha():
            return None  # numbers and signs are never guessed
        near = [phrase for phrase in self._meanings if _is_misspelt(said, phrase, faults)]
        return self._meanings[near[0]] if len(near) == 1 else None


def _is_misspelt(said: str, phrase: str, faults: int) -> bool:
    is_alike = said[0] == phrase[0] and said.count(" ") == phrase.count(" ")
    return is_alike and OSA.distance(said, phrase, score_cutoff=faults) <= faults


def _is_everyday(word: str) -> bool:
    return word in HARMLESS or word in CHANGING
