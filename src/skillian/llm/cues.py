"""What a question wants: cues found outside of the names."""

from __future__ import annotations

from collections.abc import Sequence

from skillian.llm.lexicon import CUES, Cue
from skillian.llm.unread import Role
from skillian.llm.words import Word

_NAMES = {"source", "measure", "dimension", "value"}


def find_cues(
    question: str, words: Sequence[Word], roles: list[Role]
) -> dict[Cue, tuple[int, int]]:
    """Each cue with the place of the text that gives it last; its words are marked as understood.

    A cue all of whose words are names is none: "material" may be a dimension. That rows are
    spoken of is noted even so: "the documents behind it".
    """
    text = question.lower()
    found: dict[Cue, tuple[int, int]] = {}
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
            found[cue] = match.span()
            free.extend((at, cue) for at in unnamed)
    for at, cue in free:
        if roles[at] in {"", "row word"}:
            roles[at] = "row word" if cue == "rows" else "cue"
    return found
