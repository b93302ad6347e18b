"""Tools that a question requests by their phrases, with arguments by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from skillian.offline.calls import NotUnderstood, PlannedCall
from skillian.offline.language.lexicon import ARTICLES, LEXICON
from skillian.offline.language.vocabulary import ToolWords, Vocabulary, Word, plain, split

_BEFORE_VALUES = frozenset(
    (*"= to by and with from".split(), *ARTICLES, *LEXICON["aux"], *LEXICON["prep"])  # noqa: SIM905
)
_PASSED = frozenset(
    (*LEXICON["filler"], *LEXICON["show"], *LEXICON["which"], *_BEFORE_VALUES, "there")
)

ArgumentTypes = Sequence[Mapping[str, Any]]
"""The types of an argument: JSON schemas, one of which must match."""


def plan_spoken(question: str, vocabulary: Vocabulary) -> PlannedCall | NotUnderstood | None:
    """The call of the tool with the longest phrase in the question; None without one.

    Arguments that the question does not have are omitted. A missing required argument, and a word
    that was not understood, prevent the call.
    """
    words = split(question)
    matches = [
        (phrase, tool, at)
        for tool, known in vocabulary.tools.items()
        for phrase in known.phrases
        if (at := _find(words, plain(phrase).split())) is not None
    ]
    if not matches:
        return None
    phrase, tool, (start, end) = max(matches, key=lambda each: each[2][1] - each[2][0])
    reader = _Arguments(question, words, vocabulary.tools[tool])
    reader.taken.update(range(start, end))
    arguments = reader.read(end)
    if reader.missing:
        return NotUnderstood(f"{phrase!r} needs {' and '.join(reader.missing)}.")
    if reader.unread:
        return NotUnderstood(f"I did not understand: {', '.join(reader.unread)}.")
    return PlannedCall(tool, arguments)


def _find(words: Sequence[Word], phrase: Sequence[str]) -> tuple[int, int] | None:
    """The first and the last place of these words in a row; a word may hold several: "a-b"."""
    parts = [(part, at) for at, word in enumerate(words) for part in word.plain.split()]
    for start in range(len(parts) - len(phrase) + 1):
        row = parts[start : start + len(phrase)]
        if phrase and [part for part, _ in row] == list(phrase):
            return row[0][1], row[-1][1] + 1
    return None


@dataclass(slots=True)
class _Arguments:
    """Reads a tool's arguments from a question; `taken` are the places of understood words."""

    question: str
    words: Sequence[Word]
    tool: ToolWords
    taken: set[int] = field(default_factory=set[int])
    missing: list[str] = field(default_factory=list[str])
    unread: list[str] = field(default_factory=list[str])

    def read(self, behind: int) -> dict[str, Any]:
        """The arguments; `behind` is the place where the phrase ends."""
        known: Mapping[str, Any] = self.tool.schema.get("$defs", {})
        required: Sequence[str] = self.tool.schema.get("required", ())
        types: dict[str, ArgumentTypes] = {
            name: tuple(_types(schema, known))
            for name, schema in self.tool.schema.get("properties", {}).items()
        }
        values: dict[str, Any] = {}
        for name, each in types.items():
            value = self._named(name, each)
            if value is None:
                value = self._one_of(each)
            if value is not None:
                values[name] = value
        open_ones = [name for name in required if name not in values]
        if len(open_ones) == 1:
            rest = self._rest(behind, types[open_ones[0]])
            if rest is not None:
                values[open_ones.pop()] = rest
        self.missing = [plain(name) for name in open_ones]
        self.unread = [
            word.text
            for at, word in enumerate(self.words)
            if at not in self.taken and word.plain not in _PASSED
        ]
        return values

    def _named(self, name: str, types: ArgumentTypes) -> Any:
        """What stands behind the argument's name: "company 1001", "company = 1001"."""
        place = _find(self.words, plain(name).split())
        if place is None or place[0] in self.taken:
            return None
        at = place[1]
        while at < len(self.words) and self.words[at].plain in _BEFORE_VALUES:
            at += 1
        if at >= len(self.words) or at in self.taken:
            return None
        value = _as_type(self.words[at].text, types)
        if value is not None:
            self.taken.update(range(place[0], at + 1))
        return value

    def _one_of(self, types: ArgumentTypes) -> Any:
        """A word that is one of the argument's own values."""
        for each in types:
            for value in cast("list[object]", each.get("enum", [])):
                place = _find(self.words, plain(str(value)).split())
                if place is not None and place[0] not in self.taken:
                    self.taken.update(range(*place))
                    return value
        return None

    def _rest(self, behind: int, types: ArgumentTypes) -> Any:
        """What is said behind the phrase, as it is written: all of it is the one argument."""
        first = behind
        while first < len(self.words) and self.words[first].plain in _BEFORE_VALUES:
            first += 1
        left = range(first, len(self.words))
        if not left or self.taken & set(left):
            return None
        text = self.question[self.words[first].start : self.words[-1].end].strip("'\"“”")
        value = _as_type(text, types)
        if value is not None:
            self.taken.update(left)
        return value


def _types(schema: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schema, or the alternatives that it is made of; `known` are those that have names."""
    for each in schema.get("anyOf", [schema]):
        name = str(each.get("$ref", "")).removeprefix("#/$defs/")
        yield known.get(name, each)


def _as_type(text: str, types: Iterable[Mapping[str, Any]]) -> Any:
    """The text as one of these types; None where it can be none."""
    for each in types:
        kind = each.get("type")
        if "enum" in each:
            matches = [v for v in each["enum"] if plain(str(v)) == plain(text)]
            if matches:
                return matches[0]
        elif kind == "integer" and text.removeprefix("-").isdecimal():
            return int(text)
        elif kind == "string" or (kind == "number" and _is_number(text)):
            return text
    return None


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdecimal()
