"""The words of a question: basic forms, what they name, and the words not understood."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from rapidfuzz.distance import OSA

from skillian.offline.lexicon import ASIDE, BREAKDOWNS, CHANGING, CUES, HARMLESS, REQUESTS, Cue

_WORD = re.compile(
    r"(?<!\w)'[^']+'(?!\w)|\"[^\"]+\"|“[^”]+”|[<>!]=|<>|[<>=≥≤≠&]|[€$]|%|\w(?:[\w./'\u2019-]*\w)?"
)
_QUOTES = "'\"“”"
MOST_PASSED = 8
"""The largest number of small words to skip in a row, such as "in all of the"."""
_SHORTEST_PLURAL = 4


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the question; `start` and `end` are its position in the text."""

    text: str
    plain: str
    start: int
    end: int
    is_quoted: bool = False

    @property
    def has_digit(self) -> bool:
        """Whether it has a digit: a number, or a name such as CC100."""
        return any(letter.isdigit() for letter in self.text)

    @property
    def is_name_like(self) -> bool:
        """Whether it looks like a name: quoted, or with a capital, a digit or an underscore."""
        marked = self.text != self.text.lower() or "_" in self.text
        return self.is_quoted or self.has_digit or marked


def split(question: str) -> list[Word]:
    """Return the words of a question; quoted ones without their quotes."""
    return [_word(match) for match in _WORD.finditer(question)]


def plain(text: str) -> str:
    """Return the form in which names are compared: lower case, no underscores, singular."""
    return " ".join(_singular(word) for word in re.split(r"[\s_-]+", text.strip().lower()) if word)


def _word(match: re.Match[str]) -> Word:
    quoted = match[0]
    is_quoted = quoted[0] in _QUOTES
    text = quoted.strip(_QUOTES) if is_quoted else quoted
    bare = re.sub(r"['\u2019](?:s|re|ve|d|ll|m)?$", "", text)
    if re.search(r"n['\u2019]t$", text):
        bare = "not"
    return Word(text if is_quoted else bare, plain(bare), match.start(), match.end(), is_quoted)


def _singular(word: str) -> str:
    if len(word) < _SHORTEST_PLURAL or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word.removesuffix("s")


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
        pairs = [
            (phrase, name)
            for words in self.sources.values()
            for name, synonyms in words.measures.items()
            for phrase in (name, *synonyms)
        ]
        return _most_shared(pairs) | {name: name for _, name in pairs}

    def dimension_phrases(self) -> dict[str, str]:
        """Return the name of the dimension for every phrase; names precede synonyms."""
        pairs = [
            (phrase, name)
            for words in self.sources.values()
            for name, dimension in words.dimensions.items()
            for phrase in (name, *dimension.synonyms)
        ]
        return _most_shared(pairs) | {name: name for _, name in pairs}

    @cached_property
    def values(self) -> Mapping[str, Mapping[str, str]]:
        """The values of each dimension as in the data, by their lower case."""
        values: dict[str, dict[str, str]] = {}
        for words in self.sources.values():
            for name, dimension in words.dimensions.items():
                known = values.setdefault(name, {})
                for value in dimension.values:
                    known.setdefault(value.lower(), value)
        return values

    def dimensions_with(self, value: str) -> tuple[str, ...]:
        """Return the dimensions that have this value in some source."""
        text = value.lower()
        return tuple(name for name, values in self.values.items() if text in values)

    def is_open(self, dimension: str) -> bool:
        """Whether the dimension has unknown values."""
        return any(words.is_open for words in self._each(dimension))

    def is_date(self, dimension: str) -> bool:
        """Whether the dimension's values are dates."""
        return any(words.is_date for words in self._each(dimension))

    def _each(self, dimension: str) -> list[DimensionWords]:
        dimensions = (words.dimensions.get(dimension) for words in self.sources.values())
        return [each for each in dimensions if each is not None]


def _most_shared(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Return the name that most sources give each phrase; the first of several."""
    counts = Counter(pairs)
    names: dict[str, str] = {}
    for phrase, name in counts:
        if phrase not in names or counts[phrase, name] > counts[phrase, names[phrase]]:
            names[phrase] = name
    return names


NameKind = Literal["source", "measure", "dimension"]
LONGEST = 5
_ONE_FAULT_FROM = 6
_TWO_FAULTS_FROM = 9


@dataclass(frozen=True, slots=True)
class SpokenName:
    """A name in a question: its number of words, and its possible meanings."""

    length: int
    meanings: Mapping[NameKind, str]

    def best(self) -> tuple[NameKind, str]:
        """Return the most likely meaning without context: a source before a measure."""
        return next(iter(self.meanings.items()))


class Phrases:
    """All phrases for a source, a measure or a dimension."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._meanings: dict[str, dict[NameKind, str]] = {}
        for name in vocabulary.sources:
            self._add("source", name, name)
        for phrase, name in vocabulary.measure_phrases().items():
            self._add("measure", phrase, name)
        for phrase, name in vocabulary.dimension_phrases().items():
            self._add("dimension", phrase, name)

    def at(self, words: Sequence[Word], at: int) -> SpokenName | None:
        """Return the longest name that starts at this word."""
        for length in range(min(LONGEST, len(words) - at), 0, -1):
            part = words[at : at + length]
            meanings = self._find(" ".join(word.plain for word in part), part)
            if meanings:
                return SpokenName(length, meanings)
        return None

    def _add(self, kind: NameKind, phrase: str, name: str) -> None:
        self._meanings.setdefault(plain(phrase), {}).setdefault(kind, name)

    def _find(self, text: str, part: Sequence[Word]) -> Mapping[NameKind, str] | None:
        if text in self._meanings:
            return self._meanings[text]
        if any(_is_everyday(word.plain) for word in (part[0], part[-1])):
            return None
        faults = 2 if len(text) >= _TWO_FAULTS_FROM else 1 if len(text) >= _ONE_FAULT_FROM else 0
        if not faults or not text.replace(" ", "").isalpha():
            return None  # numbers and signs are never guessed
        near = [phrase for phrase in self._meanings if _is_misspelt(text, phrase, faults)]
        return self._meanings[near[0]] if len(near) == 1 else None


def _is_misspelt(text: str, phrase: str, faults: int) -> bool:
    is_alike = text[0] == phrase[0] and text.count(" ") == phrase.count(" ")
    return is_alike and OSA.distance(text, phrase, score_cutoff=faults) <= faults


def _is_everyday(word: str) -> bool:
    return word in HARMLESS or word in CHANGING


WordRole = Literal[
    "", "source", "measure", "dimension", "value", "limit", "cue", "row word", "conflict"
]
_NAMING = {"source", "measure", "dimension", "value"}
_AFTER_BREAKDOWN = {
    *("number", "total", "sum", "chance", "far", "now", "me", "you", "us", "itself", "hand"),
    *("the", "and", "all", "each", "myself", "that", "this", "it", "which", "what", "how"),
}


def unread_words(
    words: Sequence[Word], roles: Sequence[WordRole], parts: frozenset[str]
) -> list[int]:
    """Return the indexes of the words that must not be dropped.

    Words before the last request ("My boss wants me to | compare …") may be any words except
    those that change a question. After it, only words known to be harmless may be left out.
    `parts` are words of the sources' names: "bpc" may mean bpc_reporting in any position.
    """
    core = _start_of_core(words, roles)
    unread: list[int] = []
    for at, role in enumerate(roles):
        is_part = words[at].plain in parts and not _is_harmless(words[at].plain)
        is_unread = not role and (is_part or _is_unread(words, roles, at, core))
        if role == "conflict" or is_unread:
            unread.append(at)
    return unread


def _is_unread(words: Sequence[Word], roles: Sequence[WordRole], at: int, core: int) -> bool:
    word = words[at]
    if word.plain in CHANGING or word.has_digit or word.is_quoted:
        return True
    if _is_harmless(word.plain):
        before = words[at - 1].plain if at else ""
        is_a_breakdown = before in {"by", "per"} and not roles[at - 1]
        return is_a_breakdown and word.plain not in _AFTER_BREAKDOWN
    if at < core:
        return word.is_name_like and at > 0 and "_" in word.text
    return True


def _is_harmless(word: str) -> bool:
    is_manner = word.endswith("ly") and len(word) > len("early")
    stem = word.removesuffix("ing").removesuffix("ed")
    is_asked = stem != word and (stem in REQUESTS or f"{stem}e" in REQUESTS)
    return word in HARMLESS or word in BREAKDOWNS or is_manner or is_asked


def _start_of_core(words: Sequence[Word], roles: Sequence[WordRole]) -> int:
    """Return the index of the last request before the first name; 0 if there is none.

    "is" and similar words are requests only if there is no other one, unlike in "how old is …".
    """
    first = next((at for at, role in enumerate(roles) if role in _NAMING), 0)
    asking = [at for at in range(first) if words[at].plain in REQUESTS]
    plainly = [at for at in asking if words[at].plain not in ASIDE]
    return (plainly or asking or [0])[-1]


def find_cues(
    question: str, words: Sequence[Word], roles: list[WordRole]
) -> dict[Cue, tuple[int, int]]:
    """Return each cue with the position of its last text, and mark its words as understood.

    A cue does not count if all of its words are names: "material" may be a dimension. The cue for
    rows always counts: "the documents behind it".
    """
    text = question.lower()
    cues: dict[Cue, tuple[int, int]] = {}
    free: list[tuple[int, Cue]] = []
    for cue, pattern in CUES.items():
        for match in pattern.finditer(text):
            within = [
                at
                for at, word in enumerate(words)
                if word.start < match.end() and match.start() < word.end
            ]
            unnamed = [at for at in within if roles[at] not in _NAMING]
            if not unnamed and cue != "rows":
                continue
            cues[cue] = match.span()
            free.extend((at, cue) for at in unnamed)
    for at, cue in free:
        if roles[at] in {"", "row word"}:
            roles[at] = "row word" if cue == "rows" else "cue"
    return cues
