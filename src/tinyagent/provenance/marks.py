"""The mark of an answer: which of its spans repeat what untrusted sources wrote.

An attacker who cannot make calls can still have something said. What can do harm when it is
repeated is marked: addresses, links, long numbers, and runs of words, unless the user wrote them.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple

from tinyagent.core.provenance import Mark
from tinyagent.core.provenance.rules import hosts_in

_SHORT = 5_000
"""Characters of a text for which what it says is kept."""
_MOST_KNOWN = 512
"""For how many texts it is kept."""
_WORDS = 5
"""How many words in a row are hardly a coincidence."""
_TOKEN = re.compile(r"\w+(?:['\u2019@.+-]\w+)*")
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", re.ASCII)
_NUMBER = re.compile(r"(?=(?:[^\d\s]{0,8}\d){6})[\w/+.-]{6,64}", re.ASCII)
_GROUPED = re.compile(
    r"(?<![\w.,:/+-])[a-z]{0,2}\d{2,8}(?:[ \xa0]\d{2,8}){1,8}(?!\w)", re.IGNORECASE
)
"""A number whose digits are in groups, such as that of an account."""
_BETWEEN = re.compile(r"[\s\"'<>()\[\]{},;|=]+|(?=https?://)", re.IGNORECASE)
_SCHEME = re.compile(r"^[a-z]*:?//(?:[^/\s@]*@)?|^www\.", re.IGNORECASE)
_EDGES = "\"'`()[]{}<>\xab\xbb\u201c\u201d\u2018\u2019.,;:!?*_"
_TELLING = re.compile(r"[@/]|\w\.\w|(?:\D{0,8}\d){6}", re.ASCII)
_SENTENCE_END = re.compile(r"[.!?](?=\s|[\"'\u201d\u2019)]|$)|[\n;]")
_FEW_WORDS = 3
"""How many words of a sentence say something."""
_OPAQUE = re.compile(r"[\w+/=%-]{16,}")
_WORDY = re.compile(r"[a-z]+(?:[-/][a-z]+)*|[A-Z][a-z]+(?:-[A-Za-z][a-z]+)*")
"""A long word of plain letters, which can be read."""
_LINK = "//"
"""Before the name of a host that is in a link."""


class Written(NamedTuple):
    """What may be repeated of a text: addresses, hosts and long numbers, and hashes of runs."""

    names: frozenset[str]
    runs: frozenset[int]


def written_in(text: str, read: Callable[[str], str] = str) -> Written:
    """What may be repeated of a text as `read` returns it; of a short one it is found once."""
    return _known(text, read) if len(text) <= _SHORT else _found(text, read)


def _found(text: str, read: Callable[[str], str]) -> Written:
    text = read(text)
    runs = _runs(_TOKEN.findall(text.casefold()))
    return Written(_written_names(text), frozenset(map(hash, runs)))


_known = lru_cache(maxsize=_MOST_KNOWN)(_found)


def marks_of(
    answer: str, records: Iterable[tuple[str, Written]], is_said: Callable[[str], bool]
) -> tuple[Mark, ...]:
    """The spans of an answer that untrusted sources wrote, in their order.

    Case and punctuation do not count, nor what is around the host of a link.

    Args:
        answer: Its text.
        records: The untrusted sources, each with what it wrote.
        is_said: Whether the user's request contains a text.
    """
    words = list(re.finditer(rf"{_GROUPED.pattern}|\S+", answer, re.IGNORECASE))
    names = _names_of(answer, words)
    tokens = list(_TOKEN.finditer(answer))
    runs: dict[int, list[int]] = {}
    for at, run in enumerate(_runs(token[0].casefold() for token in tokens)):
        runs.setdefault(hash(run), []).append(at)
    if not names and not runs:
        return ()
    every = frozenset[str]().union(*names.values())
    starts = [word.start() for word in words]
    sources: list[set[str]] = [set() for _ in words]

    @cache
    def words_of(first: int) -> range:
        """The words of the run that begins with this token; none if the user said it."""
        repeated = tokens[first : first + _WORDS]
        start, end = repeated[0].start(), repeated[-1].end()
        plainly = " ".join(token[0].casefold() for token in repeated)
        if is_said(answer[start:end]) or is_said(plainly):
            return range(0)
        return range(bisect_right(starts, start) - 1, bisect_left(starts, end))

    for source, written in records:
        shared = every & written.names
        for at, named in names.items() if shared else ():
            if named & shared and not _is_all_said(words[at][0], named & shared, is_said):
                sources[at].add(source)
        shared_runs = written.runs.intersection(runs)  # looks each of the few runs up
        first = chain.from_iterable(runs[number] for number in shared_runs)
        for at in {*chain.from_iterable(map(words_of, first))}:
            sources[at].add(source)
    return tuple(_spans(words, sources))


def has_sentence_of(text: str, records: Iterable[tuple[str, str]], said: Iterable[str]) -> bool:
    """Whether a text has a short sentence of others; longer ones are marked.

    Args:
        text: It.
        records: The untrusted sources, each with a text that it wrote.
        said: Texts whose sentences anybody may repeat.
    """
    every = [_TOKEN.findall(each) for each in _SENTENCE_END.split(plain(text).casefold())]
    few = 1 if sum(map(bool, every)) == 1 else _FEW_WORDS  # nothing else is said
    short = [f" {' '.join(one)} " for one in every if few <= len(one) < _WORDS]
    if not short:
        return False
    written, known = (
        "\n".join(f" {' '.join(_TOKEN.findall(plain(one).casefold()))} " for one in texts)
        for texts in ((each for _, each in records), said)
    )
    return any(one in written and one not in known for one in short)


def opaque_words(text: str) -> list[str]:
    """The long words of a text that may hide another text."""
    return [word for word in _OPAQUE.findall(text) if not _WORDY.fullmatch(word)]


def plain(text: str) -> str:
    """The text with compatible characters in one spelling, and without invisible ones."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text)
    return "".join(one for one in text if unicodedata.category(one) != "Cf")


def _runs(words: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """All runs of words."""
    every = list(words)
    return zip(*(every[at:] for at in range(_WORDS)), strict=False)


def _is_all_said(word: str, names: Iterable[str], is_said: Callable[[str], bool]) -> bool:
    """Whether the user wrote a word, or all of these names in it."""
    if is_said(word) or is_said(word.strip(_EDGES)):
        return True
    return all(is_said(name.removeprefix(_LINK)) for name in names)


def _names_of(answer: str, words: Sequence[re.Match[str]]) -> dict[int, frozenset[str]]:
    """The names in the words of an answer, by the index of the word."""
    if _TELLING.search(answer) is None:
        return {}
    return {at: found for at, word in enumerate(words) if (found := _names_in(word[0]))}


def _names_in(word: str) -> frozenset[str]:
    """The addresses, hosts and long numbers in a word of an answer."""
    if _TELLING.search(word) is None:
        return frozenset()
    names = set(_plain_names(word))
    for piece in filter(None, _BETWEEN.split(word) if "." in word else ()):
        link = "/" in piece or piece.lower().startswith("www.")
        names.update(host if link else _LINK + host for host in _hosts_of(piece))
    return frozenset(names)


def _written_names(text: str) -> frozenset[str]:
    """The names in a text of others; hosts also with what says that they are in a link."""
    names = {*_plain_names(text), *hosts_in(text)}
    for piece in filter(None, _BETWEEN.split(text)):
        if "." in piece and _SCHEME.match(piece):
            names.update(each for host in _hosts_of(piece) for each in (host, _LINK + host))
    return frozenset(names)


def _plain_names(text: str) -> Iterator[str]:
    """Addresses, and long numbers without what is between their digits."""
    yield from (found.lower() for found in _ADDRESS.findall(text))
    for group in (found[0].split() for found in _GROUPED.finditer(text)):
        parts = ("".join(group[at:end]) for end in range(len(group) + 1) for at in range(end))
        yield from (each.lower() for each in parts if _NUMBER.fullmatch(each))
    yield from (re.sub(r"[/+._-]", "", each).lower() for each in _NUMBER.findall(text))


def _hosts_of(piece: str) -> frozenset[str]:
    """The host that a link begins with."""
    plain = _SCHEME.sub("", _SCHEME.sub("", piece))
    return hosts_in(re.split(r"[/?#:]", plain)[0])


def _spans(words: Sequence[re.Match[str]], sources: Sequence[set[str]]) -> list[Mark]:
    """Words next to each other that have sources, as one span."""
    spans: list[Mark] = []
    for at, (word, names) in enumerate(zip(words, sources, strict=True)):
        if not names:
            continue
        if at and sources[at - 1]:
            last = spans.pop()
            spans.append(Mark(last.start, word.end(), last.sources | names))
        else:
            spans.append(Mark(word.start(), word.end(), frozenset(names)))
    return spans
