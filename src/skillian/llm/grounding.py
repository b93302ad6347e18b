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
    r"\bbetween\s+(?P<a>[^\W\d][\w.-]*)\s+and\s+(?P<b>[^\W\d][\w.-]*)"
    r"|(?P<c>[^\W\d][\w.-]*)\s+(?:with|to|against|vs\.?|versus)\s+(?P<d>[^\W\d][\w.-]*)",
    re.IGNORECASE,
)
_RANGES = {"to", "through", "thru", "until", "till", "up"}
# Words that carry a question without changing what it asks for, in the form of `plain`.
_CARRYING = {
    *("a", "an", "the", "this", "that", "these", "those", "thi", "there", "it", "they", "them"),
    *("i", "me", "my", "we", "us", "our", "you", "your", "their", "who"),
    *("is", "are", "be", "was", "were", "been", "being", "do", "doe", "did", "has", "have", "had"),
    *("can", "could", "would", "should", "will", "want", "please", "let", "say", "tell", "give"),
    *("show", "see", "look", "find", "get", "list", "check", "query", "how", "much", "many"),
    *("what", "which", "where", "when", "if", "so", "then", "and", "or", "as", "at", "in", "on"),
    *("of", "off", "to", "for", "from", "with", "between", "by", "per", "across", "each", "every"),
    *("all", "any", "both", "data", "figure", "number", "value", "amount", "total", "sum"),
    *("source", "system", "available", "compare", "compared", "comparing", "comparison", "agree"),
    *("difference", "differ", "different", "match", "gap", "deviate", "deviation", "versu", "vs"),
    *("versus", "against", "reconcile", "reconciliation"),
}
_LONGEST_PHRASE = 3
_SURE = 90.0
_FUZZY_FROM = 4


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the question: as it stands there, and as it is compared."""

    text: str
    plain: str
    is_quoted: bool = False

    @property
    def is_value_like(self) -> bool:
        """Whether it can be a value without its dimension being named: not an everyday word."""
        return self.is_quoted or any(letter.isdigit() for letter in self.text)


@dataclass(slots=True)
class Grounding:
    """What was found, in the order of the question.

    `filters` maps a dimension to its values; `unread` holds the words that say something which was
    not understood: a plan that leaves them out would answer another question.
    """

    sources: list[str] = field(default_factory=list[str])
    measures: list[str] = field(default_factory=list[str])
    breakdown: list[str] = field(default_factory=list[str])
    filters: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    unread: list[str] = field(default_factory=list[str])


def ground(question: str, vocabulary: Vocabulary) -> Grounding:
    """Find what `question` names. Nothing is added that is not in the question."""
    return _Reader(split(question), vocabulary).read()


def split(question: str) -> list[Word]:
    """The words of a question, quoted ones without their quotes."""
    return [
        Word(text := match.strip("'\""), plain(text), is_quoted=text != match)
        for match in _WORD.findall(question)
    ]


def plain(text: str) -> str:
    """The form in which names are compared: lower case, no underscores, singular."""
    return " ".join(_singular(word) for word in re.split(r"[\s_]+", text.strip().lower()))


def _singular(word: str) -> str:
    if len(word) < _FUZZY_FROM:
        return word
    return f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")


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
                self._take_word(self._words[position])
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
        taken = self._take_values(name, end)
        if taken:
            return taken
        before = self._words[start - 1].plain if start else ""
        listed = before == "and" and self._listed_until == start - 1
        if (before in _BREAKDOWN or listed) and name not in self._found.breakdown:
            self._found.breakdown.append(name)
            self._listed_until = end
        return 0

    def _take_values(self, name: str, start: int) -> int:
        """Note the values that follow a dimension: "1001", "1001 and 1003", "1001, 1003"."""
        position = start
        while position < len(self._words):
            word = self._words[position]
            if name in self._vocabulary.dimensions_with(word.text) or word.is_value_like:
                self._found.filters.setdefault(name, []).append(word.text)
            elif position == start or word.plain not in {"and", "or"}:
                if position > start and word.plain in _RANGES:
                    self._found.unread.append(word.text)
                break
            elif not self._is_value(name, position + 1):
                break
            position += 1
        return position - start

    def _is_value(self, name: str, position: int) -> bool:
        text = self._words[position].text if position < len(self._words) else ""
        return name in self._vocabulary.dimensions_with(text)

    def _take_word(self, word: Word) -> None:
        """Note a value that only one dimension has ("1001"), or a word that was not understood."""
        dimensions = self._vocabulary.dimensions_with(word.text) if word.is_value_like else ()
        if len(dimensions) == 1:
            values = self._found.filters.setdefault(dimensions[0], [])
            values += [] if word.text in values else [word.text]
        elif word.plain not in _CARRYING:
            self._found.unread.append(word.text)


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
