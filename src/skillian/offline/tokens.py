"""From a question to tokens: each is a name of the catalogue, a period, a number or a known word.

At each position the longest reading counts; of equally long ones, the catalogue precedes English.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from rapidfuzz.distance import OSA

from skillian.offline.lexicon import COURTESIES, KINDS, NUMBERS, PERIODIC
from skillian.offline.periods import Period, period_at
from skillian.offline.vocabulary import Vocabulary, Word, split

_LONGEST = 6
_MISSPELT_FROM = 6
_SHORT = 4
_CONTRACTED = re.compile(r"n['\u2019]t$")
_BEFORE_NOUN = {"", "prep", "within", "from", "only", "not", "by", "and", "every", "value"}
_AFTER_NOUN = {*_BEFORE_NOUN, "between", "to", "with", "since", "until", "before", "after", "link"}
_BEFORE_DIMENSION = {"by", "every", "which"}


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a question.

    Attributes:
        kind: A kind of the grammar.
        text: The part as it is written.
        name: The source, measure or dimension; of other kinds the plain form.
        values: Of a value: the dimensions that have it, each with the value as in the data.
        period: Of a period.
        at: The position in the question.
    """

    kind: str
    text: str
    name: str
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    period: Period | None = None
    at: int = 0


def of_kinds(part: Sequence[Token], kinds: set[str]) -> list[Token]:
    """The tokens of these kinds."""
    return [token for token in part if token.kind in kinds]


def text_of(part: Sequence[Token]) -> str:
    """The words of tokens as they are written."""
    return " ".join(token.text for token in part)


def tokens_of(question: str, whole: Vocabulary, part: Vocabulary | None = None) -> list[Token]:
    """The tokens of a question, from left to right.

    Args:
        question: The question.
        whole: All sources that it may name.
        part: The sources whose measures, dimensions and values it may name; all by default.
    """
    lower = question.lower()
    courtesies = [match.span() for form in COURTESIES for match in form.finditer(lower)]
    words = split(question)
    tokens: list[Token] = []
    at = 0
    while at < len(words):
        inside = [end for start, end in courtesies if start <= words[at].start < end]
        if inside:
            at = next((i for i in range(at, len(words)) if words[i].start >= inside[0]), len(words))
            continue
        length, token = _Place(question, words, at, whole, part or whole, tokens).longest()
        tokens.append(token)
        at += length
    return tokens


@dataclass(frozen=True, slots=True)
class _Place:
    """A position in a question: its words from `at` on, and the tokens before it."""

    question: str
    words: list[Word]
    at: int
    whole: Vocabulary
    part: Vocabulary
    before: list[Token]

    def longest(self) -> tuple[int, Token]:
        """The number of words and the token of the longest reading."""
        first = self.words[self.at]
        dated = None if first.is_quoted else period_at(self.question, first.start)
        for length in range(min(_LONGEST, len(self.words) - self.at), 0, -1):
            end = self.words[self.at + length - 1].end
            text = first.text if first.is_quoted else self.question[first.start : end]
            phrase = " ".join(word.plain for word in self.words[self.at : self.at + length])
            named = self._named(phrase, text)
            if named is not None:
                return length, replace(named, at=first.start)
            if dated is not None and first.start < dated[0] <= end and dated[0] > end - 2:
                return length, Token("period", text, phrase, period=dated[1], at=first.start)
            kind = None if first.is_quoted else KINDS.get(phrase)
            if kind == "not" and _CONTRACTED.search(text):
                kind = "dont"
            if kind is not None and not (self._is_code(text) and kind in {"filler", "article"}):
                return length, Token(kind, text, phrase, at=first.start)
        return 1, _other(first, self.part, is_first=self.at == 0)

    def _is_code(self, text: str) -> bool:
        """Whether it is written as a code: "US" is not "us", unless all words are in capitals."""
        return 1 < len(text) <= _SHORT and text.isupper() and not self.question.isupper()

    def _named(self, phrase: str, text: str) -> Token | None:
        """A name of the catalogue: a dimension after "by", otherwise a value before it."""
        previous = next((t.kind for t in reversed(self.before) if t.kind != "article"), "")
        values = self._values(phrase, text, previous)
        if values is None:
            return Token("unknown", text, phrase)
        is_measure = phrase in self.part.measures
        is_grouped = previous in _BEFORE_DIMENSION
        dimension = self.part.dimensions.get(phrase)
        if dimension is not None and (is_grouped or not (values or is_measure)):
            return Token("dimension", text, dimension)
        if values:
            kind = "number_value" if as_number(text) is not None else "value"
            return Token(kind, text, phrase, values)
        if is_measure:
            return Token("measure", text, self.part.measures[phrase])
        return self._other_name(phrase, text)

    def _other_name(self, phrase: str, text: str) -> Token | None:
        if phrase in self.whole.whole_names or (phrase in self.whole.names and phrase not in KINDS):
            return Token("source", text, self.whole.names[phrase])
        if phrase in PERIODIC:
            return Token("periodic", text, phrase)
        if phrase in self.part.units and phrase not in KINDS:
            return Token("unit", text, phrase)
        return None

    def _values(self, phrase: str, text: str, previous: str) -> Mapping[str, str] | None:
        """The dimensions that have this value; None if it may be a value or English.

        A word that is also English or a measure ("it" and IT, "sales" and the department Sales) is
        a value after its dimension, in quotes, written as in the data, or where a noun stands.
        """
        values = self.part.plain_values.get(phrase, {})
        is_measure = phrase in self.part.measures
        is_certain = previous == "dimension" or self.words[self.at].is_quoted
        if not values or is_certain or not (is_measure or phrase in KINDS):
            return values
        is_exact = text in values.values()
        is_noun = previous in _BEFORE_NOUN and self._ends_phrase()
        is_name = text != text.lower() and self.at > 0 and not self.question.isupper()
        is_long = len(text) > _SHORT and not is_measure
        if (is_exact and (is_name or is_noun)) or is_long:
            return values
        is_unclear = is_noun or (is_exact and KINDS.get(phrase) == "filler")
        return None if is_unclear and not is_measure else {}

    def _ends_phrase(self) -> bool:
        """Whether a phrase of the question ends with this word."""
        if self.at + 1 == len(self.words):
            return True
        following = self.words[self.at + 1]
        is_marked = self.question[self.words[self.at].end : following.start].strip()
        is_named = following.plain in self.part.dimensions
        return bool(is_marked) or is_named or KINDS.get(following.plain) in _AFTER_NOUN


def _other(word: Word, vocabulary: Vocabulary, *, is_first: bool) -> Token:
    """The token of a word that no list has: a number, a misspelt name, or a new name."""
    near = None if word.is_quoted else _misspelt(word.plain, vocabulary)
    if near is not None:
        return Token(near[0], word.text, near[1], at=word.start)
    if not word.is_quoted and as_number(word.text) is not None:
        return Token("number", word.text, word.text, at=word.start)
    is_name = (
        word.is_quoted
        or word.has_digit
        or "_" in word.text
        or (word.text != word.text.lower() and not is_first)
    )
    return Token("name" if is_name else "unknown", word.text, word.plain, at=word.start)


def _misspelt(word: str, vocabulary: Vocabulary) -> tuple[str, str] | None:
    """The only name that differs by a swap of two letters, or by one letter doubled."""
    if len(word) < _MISSPELT_FROM or not word.isalpha():
        return None
    known = [("measure", p, n) for p, n in vocabulary.measures.items()]
    known += [("dimension", p, n) for p, n in vocabulary.dimensions.items()]
    near = {(kind, name) for kind, phrase, name in known if _is_slip(word, phrase)}
    return near.pop() if len(near) == 1 else None


def _is_slip(word: str, phrase: str) -> bool:
    if OSA.distance(word, phrase, score_cutoff=1) != 1:
        return False
    shorter, longer = sorted((word, phrase), key=len)
    doubled = {
        longer[:i] + longer[i + 1 :] for i in range(1, len(longer)) if longer[i] == longer[i - 1]
    }
    return sorted(word) == sorted(phrase) or shorter in doubled


def as_number(text: str) -> Decimal | None:
    """The number that digits or a word say; a comma before 1 or 2 digits is a point."""
    if text.lower() in NUMBERS:
        return Decimal(NUMBERS[text.lower()])
    whole, point, rest = text.replace(",", ".").rpartition(".")
    is_ambiguous = "," in text and ("." in text or len(rest) == 3)  # noqa: PLR2004
    digits = f"{whole}{point}{rest}"
    if is_ambiguous or not digits.replace(".", "", 1).isdecimal():
        return None
    return Decimal(digits)
