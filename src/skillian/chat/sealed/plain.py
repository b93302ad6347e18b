"""Which texts a language model reads as they are: those that cannot hold an order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from skillian.offline.language.vocabulary import Vocabulary

_MOST_LETTERS = 4
_LONGEST_NUMBER = 64
_LONGEST_CODE = 24
_LONGEST_WORD = 16
_SHORT_RUN = 2
_NUMBER = re.compile(r"[+\-\u2212]?\w+(?:(?:[-,:+/ ]|(?<=\d)\.(?=\d))\w+)*(?: ?%)?")
_CODE = re.compile(r"\w+(?:[-&+]\w+)*")
_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]+")
_NUMBERS_OF_MEASURES = ("a", "b", "gap", "absolute_diff", "percentage_diff")


def is_number(text: str) -> bool:
    """Whether a text is a number, a date or an identifier: digits, and at most four letters."""
    return (
        len(text) <= _LONGEST_NUMBER
        and any(each.isdigit() for each in text)
        and sum(map(len, _LETTERS.findall(text))) <= _MOST_LETTERS
        and _is_cased(text)
        and _NUMBER.fullmatch(text) is not None
    )


def is_code(text: str) -> bool:
    """Whether a text is one word, such as the code of a cost centre: too short for an order.

    It may have more letters before or after the word, such as `DE-North`, two at most.
    """
    runs = [run for run in _LETTERS.findall(text) if len(run) > _SHORT_RUN]
    return is_number(text) or (
        len(text) <= _LONGEST_CODE
        and len(runs) <= 1
        and all(len(run) <= _LONGEST_WORD and _is_one_word(run) for run in runs)
        and _is_cased(text)
        and _CODE.fullmatch(text) is not None
    )


def _is_cased(text: str) -> bool:
    """Whether all letters are of a script with cases; others write sentences without blanks."""
    return all(each.lower() != each.upper() for each in text if each.isalpha() and each != "ß")


def _is_one_word(run: str) -> bool:
    """Whether no capitals within a run of letters separate words."""
    return sum(a.islower() and b.isupper() for a, b in pairwise(run)) <= 1


class Vouched:
    """The texts that the user, the catalogue or the code of the model has, in any case.

    Args:
        texts: What these say. A part of a line vouches, from the beginning to the end of words.
        others: What vouches as well.
    """

    def __init__(self, texts: Iterable[str] = (), *others: Vouched) -> None:
        self._text = "\n".join(_folded(line) for text in texts for line in text.splitlines())
        self._others = others
        self._places: dict[str, list[int]] = {}
        for word in _WORD.finditer(self._text):
            self._places.setdefault(word[0], []).append(word.start())

    def __contains__(self, text: str) -> bool:
        part = _folded(text)
        first = _WORD.search(part)
        if first is None or "\n" in part:
            return False
        starts = (at - first.start() for at in self._places.get(first[0], ()))
        return any(self._is_at(part, at) for at in starts) or any(
            part in each for each in self._others
        )

    def _is_at(self, part: str, start: int) -> bool:
        end = start + len(part)
        last = self._text[end - 1 : end + 1]
        is_word_cut = len(last) > 1 and _WORD.fullmatch(last) is not None
        return start >= 0 and self._text.startswith(part, start) and not is_word_cut


def _folded(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.casefold().splitlines())


def names_of(vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the names and members that the catalogue vouches for.

    Members that are only in the data vouch if they are codes: anyone may have written the others.
    """
    for source, words in vocabulary.sources.items():
        yield source
        yield from words.units.values()
        for name, synonyms in words.measures.items():
            yield from (name, *synonyms)
            yield from (f"{name}_{number}" for number in _NUMBERS_OF_MEASURES)
        for name, dimension in words.dimensions.items():
            yield from (name, *dimension.synonyms, *dimension.declared)
            yield from filter(is_code, dimension.values)
