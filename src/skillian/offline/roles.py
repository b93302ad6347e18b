"""The role of each word of a question: its cues, and the words that were not understood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from skillian.offline.lexicon import ASIDE, BREAKDOWNS, CHANGING, CUES, HARMLESS, REQUESTS, Cue
from skillian.offline.words import Word

Role = Literal[
    "", "source", "measure", "dimension", "value", "limit", "cue", "row word", "conflict"
]
_NAMING = {"source", "measure", "dimension", "value"}
_AFTER_BREAKDOWN = {
    *("number", "total", "sum", "chance", "far", "now", "me", "you", "us", "itself", "hand"),
    *("the", "and", "all", "each", "myself", "that", "this", "it", "which", "what", "how"),
}


def unread_words(words: Sequence[Word], roles: Sequence[Role], parts: frozenset[str]) -> list[int]:
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


def _is_unread(words: Sequence[Word], roles: Sequence[Role], at: int, core: int) -> bool:
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


def _start_of_core(words: Sequence[Word], roles: Sequence[Role]) -> int:
    """Return the index of the last request before the first name; 0 if there is none.

    "is" and similar words are requests only if there is no other one, unlike in "how old is …".
    """
    first = next((at for at, role in enumerate(roles) if role in _NAMING), 0)
    asking = [at for at in range(first) if words[at].plain in REQUESTS]
    plainly = [at for at in asking if words[at].plain not in ASIDE]
    return (plainly or asking or [0])[-1]


_NAMES = {"source", "measure", "dimension", "value"}


def find_cues(
    question: str, words: Sequence[Word], roles: list[Role]
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
            unnamed = [at for at in within if roles[at] not in _NAMES]
            if not unnamed and cue != "rows":
                continue
            cues[cue] = match.span()
            free.extend((at, cue) for at in unnamed)
    for at, cue in free:
        if roles[at] in {"", "row word"}:
            roles[at] = "row word" if cue == "rows" else "cue"
    return cues
