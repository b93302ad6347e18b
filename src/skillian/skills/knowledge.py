"""Searches the Markdown files of the skills by words.

The index is SQLite's full-text search (FTS5), in memory; it takes milliseconds to build.
"""

from __future__ import annotations

import re
import sqlite3
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

LONGEST_PASSAGE = 1500
LONGEST_QUERY = 1000
MOST_WORDS = 32

_HEADING = re.compile(r"(#{1,6})\s+(\S.*)")
_FENCE = re.compile(r"^\s*(```|~~~)")
_WORD = re.compile(r"\w+")
# Words of questions that do not describe the subject.
_STOP_WORDS = frozenset(
    """
    a about an and any are as at be been but by can could did do does for from get give had has have
    how i if in is it its me mean means my of on or our shall should show tell than that the their
    them then there these they this those to us was we were what when where which who whose why will
    with would you your
    """.split()  # noqa: SIM905 - a list to read, not a column
)


@dataclass(frozen=True, slots=True)
class Passage:
    """The text under one heading; `heading` starts with the headings above it."""

    skill: str
    file: str
    heading: str
    text: str

    def to_dict(self) -> dict[str, str]:
        """The passage as JSON; a long text is cut."""
        text = self.text
        if len(text) > LONGEST_PASSAGE:
            text = f"{text[:LONGEST_PASSAGE]}… ({len(text)} characters)"
        return {**asdict(self), "text": text}


def split_passages(skill: str, file: str, text: str) -> Iterator[Passage]:
    """The passages of a Markdown text, one for each heading that is followed by text."""
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
        match = None if in_fence else _HEADING.match(line)
        if match is None:
            lines.append(line)
            continue
        yield from passage()
        level = len(match[1])
        headings = [(each, title) for each, title in headings if each < level]
        headings.append((level, match[2].rstrip("#").rstrip() or match[2]))
    yield from passage()


class Knowledge:
    """Passages that can be searched; the best matches come first."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._passages = tuple(passages)
        # Queries come from one event loop; SQLite locks for any other use.
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._index.close)
        self._index.execute(
            "CREATE VIRTUAL TABLE passages USING fts5(heading, text,"
            " tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        self._index.executemany(
            "INSERT INTO passages (rowid, heading, text) VALUES (?, ?, ?)",
            ((index, each.heading, each.text) for index, each in enumerate(self._passages)),
        )

    def __len__(self) -> int:
        return len(self._passages)

    def search(self, query: str, limit: int = 5) -> list[Passage]:
        """Search for passages that contain a word of the query, which has no operators.

        Args:
            query: Words to look for.
            limit: The maximum number of passages.
        """
        match = _match(query)
        if not match:
            return []
        rows = self._index.execute(
            "SELECT rowid FROM passages WHERE passages MATCH ?"
            " ORDER BY bm25(passages, 4.0, 1.0), rowid LIMIT ?",
            (match, limit),
        )
        return [self._passages[index] for (index,) in rows]

    def close(self) -> None:
        """Close the index."""
        self._index.close()


def _match(query: str) -> str:
    """The query in the syntax of FTS5: any of the words, each in quotes."""
    words = [word.lower() for word in _WORD.findall(query[:LONGEST_QUERY])]
    terms = [word for word in words if word not in _STOP_WORDS] or words
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(terms[:MOST_WORDS]))
