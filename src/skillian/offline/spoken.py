"""Tools that a question requests by their phrases, with arguments by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillian.offline.calls import Plan, PlannedCall
from skillian.offline.language.lexicon import ARTICLES, LEXICON
from skillian.offline.language.vocabulary import Vocabulary, Word, plain, split

_BEFORE_VALUES = frozenset(
    (*"= to by and with from".split(), *ARTICLES, *LEXICON["aux"], *LEXICON["prep"])  # noqa: SIM905
)
_PASSED = frozenset(
    (*LEXICON["filler"], *LEXICON["show"], *LEXICON["which"], *_BEFORE_VALUES, "there")
)

ArgumentTypes = Sequence[Mapping[str, Any]]
"""The types of an argument: JSON schemas, one of which must match."""


def plan_spoken(question: str, vocabulary: Vocabulary) -> Plan | None:
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
    schema = vocabulary.tools[tool].schema
    reader = _Arguments(question, words, {*range(start, end)})
    arguments = reader.read(schema, end)
    missing = [plain(name) for name in schema.get("required", ()) if name not in arguments]
    if missing:
        return f"{phrase!r} needs {' and '.join(missing)}."
    left = (word for at, word in enumerate(words) if at not in reader.taken)
    unread = [word.text for word in left if word.plain not in _PASSED]
    return f"I did not understand: {', '.join(unread)}." if unread else PlannedCall(tool, arguments)


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
    taken: set[int]

    def read(self, schema: Mapping[str, Any], behind: int) -> dict[str, Any]:
        """The arguments; `behind` is the place where the phrase ends."""
        known: Mapping[str, Any] = schema.get("$defs", {})
        types = {name: _types(each, known) for name, each in schema.get("properties", {}).items()}
        values: dict[str, Any] = {}
        for name, each in types.items():
            value = self._named(name, each)
            values[name] = self._one_of(each) if value is None else value
        missing = [name for name in schema.get("required", ()) if values.get(name) is None]
        if len(missing) == 1:
            values[missing[0]] = self._rest(behind, types[missing[0]])
        return {name: value for name, value in values.items() if value is not None}

    def _named(self, name: str, types: ArgumentTypes) -> Any:
        """What stands behind the argument's name: "company 1001", "company = 1001"."""
        place = _find(self.words, plain(name).split())
        if place is None or place[0] in self.taken:
            return None
        at = self._after(place[1])
        if at == len(self.words) or at in self.taken:
            return None
        return self._taken(self.words[at].text, types, range(place[0], at + 1))

    def _one_of(self, types: ArgumentTypes) -> Any:
        """A word that is one of the argument's own values."""
        for value in (str(value) for each in types for value in each.get("enum", ())):
            place = _find(self.words, plain(value).split())
            if place is not None and place[0] not in self.taken:
                return self._taken(value, types, range(*place))
        return None

    def _rest(self, behind: int, types: ArgumentTypes) -> Any:
        """What is said behind the phrase, as it is written: all of it is the one argument."""
        left = range(self._after(behind), len(self.words))
        if not left or self.taken & {*left}:
            return None
        text = self.question[self.words[left[0]].start : self.words[-1].end]
        return self._taken(text.strip("'\"“”"), types, left)

    def _after(self, at: int) -> int:
        """The first place from here on whose word may be a value."""
        while at < len(self.words) and self.words[at].plain in _BEFORE_VALUES:
            at += 1
        return at

    def _taken(self, text: str, types: ArgumentTypes, places: Iterable[int]) -> Any:
        """The text as one of these types, whose words are taken; None where it can be none."""
        value = _as_type(text, types)
        self.taken.update(places if value is not None else ())
        return value


def _types(schema: Mapping[str, Any], known: Mapping[str, Any]) -> ArgumentTypes:
    """The schema, or the alternatives that it is made of; `known` are those that have names."""
    names = [(each, str(each.get("$ref", ""))) for each in schema.get("anyOf", [schema])]
    return [known.get(name.removeprefix("#/$defs/"), each) for each, name in names]


def _as_type(text: str, types: ArgumentTypes) -> Any:
    for each in types:
        kind = each.get("type")
        digits = text.removeprefix("-")
        if "enum" in each:
            matches = [value for value in each["enum"] if plain(str(value)) == plain(text)]
            if matches:
                return matches[0]
        elif kind == "integer" and digits.isdecimal():
            return int(text)
        elif kind == "string" or (kind == "number" and digits.replace(".", "", 1).isdecimal()):
            return text
    return None
