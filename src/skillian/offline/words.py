"""The words of a question, as written and in the form in which they are compared."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
    said = match[0]
    is_quoted = said[0] in _QUOTES
    text = said.strip(_QUOTES) if is_quoted else said
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
