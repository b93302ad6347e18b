"""What a question names: sources, measures, dimensions and values found in the vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from rapidfuzz import fuzz, process

from skillian.llm.vocabulary import Vocabulary

_WORD = re.compile(r"'[^']+'|\"[^\"]+\"|[\w./-]*\w")
_BREAKDOWN = {"by", "per", "each", "every", "across"}
_BETWEEN = re.compile(
    r"\bbetween\s+(?P<a>\S+)\s+and\s+(?P<b>[\w.-]+)"
    r"|(?P<c>\S+)\s+(?:with|to|and|against|vs\.?|versus)\s+(?P<d>[\w.-]+)",
    re.IGNORECASE,
)
_LONGEST_PHRASE = 3
_SURE = 90.0
_FUZZY_FROM = 4


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the question: as it stands there, and as it is compared."""

    text: str
    plain: str


@dataclass(slots=True)
class Grounding:
    """What was found, in the order of the question; `filters` maps a dimension to its value."""

    sources: list[str] = field(default_factory=list[str])
    measures: list[str] = field(default_factory=list[str])
    breakdown: list[str] = field(default_factory=list[str])
    filters: dict[str, str] = field(default_factory=dict[str, str])


def ground(question: str, vocabulary: Vocabulary) -> Grounding:
    """Find what `question` names. Nothing is added that is not in the question."""
    return _Reader(split(question), vocabulary).read()


def split(question: str) -> list[Word]:
    """The words of a question, quoted ones without their quotes."""
    texts = (match.strip("'\"") for match in _WORD.findall(question))
    return [Word(text, plain(text)) for text in texts]


def plain(text: str) -> str:
    """The form in which names are compared: lower case, no underscores, singular."""
    words = re.split(r"[\s_]+", text.strip().lower())
    return " ".join(w.removesuffix("s") if len(w) >= _FUZZY_FROM else w for w in words)


def named_sources(question: str) -> list[str]:
    """The two words that the question's form makes sources ("between X and Y"), known or not."""
    match = _BETWEEN.search(question)
    if match is None:
        return []
    pair = (match["a"], match["b"]) if match["a"] else (match["c"], match["d"])
    return [word.strip("'\",.?!") for word in pair]


class _Reader:
    """Reads a question from left to right, the longest known phrase first."""

    def __init__(self, words: list[Word], vocabulary: Vocabulary) -> None:
        self._words = words
        self._vocabulary = vocabulary
        self._phrases = _phrases(vocabulary)
        self._found = Grounding()
        self._listed_until = -1

    def read(self) -> Grounding:
        """What was found."""
        position = 0
        while position < len(self._words):
            length, kind, name = self._longest(position)
            if kind == "source" and name not in self._found.sources:
                self._found.sources.append(name)
            elif kind == "measure" and name not in self._found.measures:
                self._found.measures.append(name)
            elif kind == "dimension":
                length += self._take_dimension(name, position, position + length)
            elif not kind:
                self._take_value(self._words[position].text)
            position += length
        return self._found

    def _longest(self, position: int) -> tuple[int, str, str]:
        """The longest phrase that starts here: how many words, of what kind, which name."""
        for length in range(min(_LONGEST_PHRASE, len(self._words) - position), 0, -1):
            said = " ".join(word.plain for word in self._words[position : position + length])
            match = said if said in self._phrases else _nearest(said, self._phrases)
            if match is not None:
                return (length, *self._phrases[match])
        return 1, "", ""

    def _take_dimension(self, name: str, start: int, end: int) -> int:
        """Note a dimension as a filter ("company 1001") or a breakdown ("by period").

        Gives the number of further words taken.
        """
        value = self._words[end].text if end < len(self._words) else ""
        known = name in self._vocabulary.dimensions_with(value)
        if known or any(letter.isdigit() for letter in value):
            self._found.filters[name] = value
            return 1
        before = self._words[start - 1].plain if start else ""
        listed = before == "and" and self._listed_until == start - 1
        if (before in _BREAKDOWN or listed) and name not in self._found.breakdown:
            self._found.breakdown.append(name)
            self._listed_until = end
        return 0

    def _take_value(self, text: str) -> None:
        """Note a value that only one dimension has ("1001")."""
        dimensions = self._vocabulary.dimensions_with(text)
        if len(dimensions) == 1:
            self._found.filters.setdefault(dimensions[0], text)


def _phrases(vocabulary: Vocabulary) -> dict[str, tuple[str, str]]:
    """Every phrase with its kind and name; sources win over measures, those over dimensions."""
    said_dimensions = vocabulary.dimension_phrases()
    out = {plain(said): ("dimension", name) for said, name in said_dimensions.items()}
    out |= {plain(said): ("measure", name) for said, name in vocabulary.measure_phrases().items()}
    return out | {plain(name): ("source", name) for name in vocabulary.sources}


def _nearest(said: str, phrases: Iterable[str]) -> str | None:
    """The phrase that this is most likely a misspelling of; numbers are never guessed."""
    if len(said) < _FUZZY_FROM or any(letter.isdigit() for letter in said):
        return None
    best = process.extractOne(said, list(phrases), scorer=fuzz.ratio, score_cutoff=_SURE)
    return None if best is None else best[0]
