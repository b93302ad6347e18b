"""The mark of an answer: which of its spans repeat what untrusted sources wrote.

An attacker who cannot make calls can still have something said. What can do harm when it is
repeated is marked: addresses, links, long numbers, and runs of words, unless the user wrote them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from tinyagent.core.provenance import Mark
from tinyagent.core.provenance.rules import hosts_in

_WORDS = 5
"""How many words in a row are hardly a coincidence."""
_EDGES = "\"'`()[]{}<>\xab\xbb\u201c\u201d\u2018\u2019.,;:!?*_"
_BETWEEN = re.compile(r"[\s\"'<>()\[\]{},;|=]+")
_TELLING = re.compile(
    r"[^@\s]{1,99}@[^@\s]{1,99}\.\w+|[a-z]+://\S+|www\.\S+"  # an address or a link
    r"|[a-z0-9.-]{1,99}\.[a-z]{2,24}/\S*"
    r"|(?=(?:\D{0,8}\d){6})[\w/+-]{6,64}",  # a long number
    re.ASCII,
)


def marks_of(
    answer: str, records: Iterable[tuple[str, str]], is_said: Callable[[str], bool]
) -> tuple[Mark, ...]:
    """The spans of an answer that untrusted sources wrote, in their order.

    Args:
        answer: Its text.
        records: The untrusted sources, each with a text that it wrote.
        is_said: Whether the user's request contains a text.
    """
    words = list(re.finditer(r"\S+", answer))
    spelt = [word[0].strip(_EDGES) for word in words]
    plain = [_plain(word) for word in spelt]
    sources: list[set[str]] = [set() for _ in words]
    runs: dict[tuple[str, ...], list[int]] = {}
    for at in range(len(words) - _WORDS + 1):
        runs.setdefault(tuple(plain[at : at + _WORDS]), []).append(at)
    telling = [at for at, word in enumerate(plain) if _TELLING.fullmatch(word)]
    names = {
        at: {plain[at]} | (hosts_in(plain[at]) if "/" in plain[at] else frozenset[str]())
        for at in telling
    }
    if not telling and not runs:
        return ()
    for source, written in records:
        text = _plain(written)
        theirs = [word.strip(_EDGES) for word in text.split()]
        pieces = {piece.strip(_EDGES) for piece in _BETWEEN.split(text)} if telling else set[str]()
        pieces.update(theirs, hosts_in(text) if telling else ())
        shared = {tuple(theirs[at : at + _WORDS]) for at in range(len(theirs))} & runs.keys()
        places = [
            at
            for at in telling
            if not pieces.isdisjoint(names[at]) and not any(map(is_said, {spelt[at], *names[at]}))
        ]
        for run in shared:
            for start in runs[run]:
                if not is_said(" ".join(spelt[start : start + _WORDS])):
                    places += range(start, start + _WORDS)
        for at in places:
            sources[at].add(source)
    return tuple(_spans(words, sources))


def _plain(text: str) -> str:
    """The text in one spelling: compatible characters, no invisible ones, no case."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(one for one in text if unicodedata.category(one) != "Cf")
    return text.casefold()


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
