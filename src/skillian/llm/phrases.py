"""Names in a question: phrases of the catalogue, small misspellings forgiven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import OSA

from skillian.llm.lexicon import CHANGING, HARMLESS
from skillian.llm.vocabulary import Vocabulary
from skillian.llm.words import Word, plain

Kind = Literal["source", "measure", "dimension"]
LONGEST = 5
_ONE_FAULT_FROM = 6
_TWO_FAULTS_FROM = 9


@dataclass(frozen=True, slots=True)
class Name:
    """A name found: how many words say it, and what it may be."""

    length: int
    meanings: Mapping[Kind, str]

    def best(self) -> tuple[Kind, str]:
        """What it is where nothing around it says otherwise: a source before a measure."""
        return next(iter(self.meanings.items()))


class Phrases:
    """Every way to say a source, a measure or a dimension."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._said: dict[str, dict[Kind, str]] = {}
        for name in vocabulary.sources:
            self._add("source", name, name)
        for phrase, name in vocabulary.measure_phrases().items():
            self._add("measure", phrase, name)
        for phrase, name in vocabulary.dimension_phrases().items():
            self._add("dimension", phrase, name)

    def at(self, words: Sequence[Word], at: int) -> Name | None:
        """The longest name that starts at this word."""
        for length in range(min(LONGEST, len(words) - at), 0, -1):
            part = words[at : at + length]
            meanings = self._find(" ".join(word.plain for word in part), part)
            if meanings:
                return Name(length, meanings)
        return None

    def _add(self, kind: Kind, phrase: str, name: str) -> None:
        self._said.setdefault(plain(phrase), {}).setdefault(kind, name)

    def _find(self, said: str, part: Sequence[Word]) -> Mapping[Kind, str] | None:
        if said in self._said:
            return self._said[said]
        if any(_is_everyday(word.plain) for word in (part[0], part[-1])):
            return None
        faults = 2 if len(said) >= _TWO_FAULTS_FROM else 1 if len(said) >= _ONE_FAULT_FROM else 0
        if not faults or not said.replace(" ", "").isalpha():
            return None  # numbers and signs are never guessed
        near = [phrase for phrase in self._said if _is_misspelt(said, phrase, faults)]
        return self._said[near[0]] if len(near) == 1 else None


def _is_misspelt(said: str, phrase: str, faults: int) -> bool:
    is_alike = said[0] == phrase[0] and said.count(" ") == phrase.count(" ")
    return is_alike and OSA.distance(said, phrase, score_cutoff=faults) <= faults


def _is_everyday(word: str) -> bool:
    return word in HARMLESS or word in CHANGING
