"""Knowledge: the Markdown of the skills, found by words.

The index is SQLite's full-text search: exact, in memory, and built in milliseconds.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

LONGEST_PASSAGE = 1500
LONGEST_QUERY = 1000
MOST_WORDS = 32

_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_WORD = re.compile(r"\w+")
# Words of questions that say nothing of what is looked for.
_EMPTY = frozenset(
    """
    a about an and any are as at be been but by can could did do does for from get give had has have
    how i if in is it its me mean means my of on or our shall should show tell than that the their
    them then there these they this those to us was we were what when where which who whose why will
    with would you your
    """.split()  # noqa: SIM905 - a list to read, not a column
)


@dataclass(frozen=True, slots=True)
class Passage:
    """What stands under one heading; `heading` has those above it in front."""

    skill: str
    file: str
    heading: str
    text: str

    def to_dict(self) -> dict[str, str]:
        """The passage for JSON, a long text cut."""
        text = self.text
        if len(text) > LONGEST_PASSAGE:
            text = f"{text[:LONGEST_PASSAGE]}… ({len(text)} characters)"
        return {**asdict(self), "text": text}


def split_passages(skill: str, file: str, text: str) -> Iterator[Passage]:
    """The passages of a Markdown text, one for each heading that has a text of its own."""
    headings: list[tuple[int, str]] = []
    lines: list[str] = []
    in_fence = False

    def passage() -> Iterator[Passage]:
        body = "\n".join(lines).strip()
        if body:
            yield Passage(skill, file, " > ".join(title for _, title in headings), body)
        lines.clear()

    for line in text.splitlines():
        if _FENCE.match(line):
            in_fence = not in_fence
        found = None if in_fence else _HEADING.match(line)
        if found is None:
            lines.append(line)
            continue
        yield from passage()
        level = len(found[1])
        headings = [(each, title) for each, title in headings if each < level]
        headings.append((level, found[2]))
    yield from passage()


class Knowledge:
    """Passages that can be searched; those that fit best come first."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._passages = tuple(passages)
        # Queries come from one event loop; SQLite itself locks for any other use.
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        self._index.execute(
            "CREATE VIRTUAL TABLE passages USING fts5(heading, text,"
            " tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        self._index.executemany(
            "INSERT INTO passages (rowid, heading, text) VALUES (?, ?, ?)",
            ((at, each.heading, each.text) for at, each in enumerate(self._passages)),
        )

    def __len__(self) -> int:
        return len(self._passages)

    def search(self, query: str, limit: int = 5) -> list[Passage]:
        """At most `limit` passages that hold a word of the query; none is an answer too.

        Words are all that is read of a query: it has no operators.
        """
        match = _match(query)
        if not match:
            return []
        found = self._index.execute(
            "SELECT rowid FROM passages WHERE passages MATCH ?"
            " ORDER BY bm25(passages, 4.0, 1.0), rowid LIMIT ?",
            (match, limit),
        )
        return [self._passages[at] for (at,) in found]

    def close(self) -> None:
        """Give the index back."""
        self._index.close()


def _match(query: str) -> str:
    """The query as FTS5 reads it: each word in quotes, any of them."""
    words = [word.lower() for word in _WORD.findall(query[:LONGEST_QUERY])]
    wanted = [word for word in words if word not in _EMPTY] or words
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(wanted[:MOST_WORDS]))
