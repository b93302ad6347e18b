"""Tools that a question requests by their phrases, with arguments by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from skillian.offline.calls import Plan, PlannedCall
from skillian.offline.language.lexicon import LEXICON
from skillian.offline.language.vocabulary import ARTICLES, Vocabulary, Word, plain, split

_BEFORE_VALUES = {"=", "to", "by", "and", "with", "from", *ARTICLES, *LEXICON["aux"]} | {
    *LEXICON["prep"]
}
_PASSED = {*LEXICON["filler"], *LEXICON["which"], *_BEFORE_VALUES, "there"}


def plan_spoken(question: str, vocabulary: Vocabulary) -> Plan | None:
    """The call of the tool with the longest phrase in the question; None without one.

    Arguments that the question does not have are omitted. A missing required argument, and a word
    that was not understood, prevent the call.
    """
    reader = _Spoken(question, split(question), set())
    matches = [
        (place, phrase, tool)
        for tool, known in vocabulary.tools.items()
        for phrase in known.phrases
        if (place := reader.place_of(phrase))
    ]
    if not matches:
        return None
    place, phrase, tool = max(matches, key=lambda each: len(each[0]))
    reader.taken.update(place)
    schema = vocabulary.tools[tool].schema
    arguments = reader.arguments(schema, place.stop)
    missing = [plain(name) for name in schema.get("required", ()) if name not in arguments]
    if missing:
        return f"{phrase!r} needs {' and '.join(missing)}."
    left = (word for at, word in enumerate(reader.words) if at not in reader.taken)
    unread = [word.text for word in left if word.plain not in _PASSED]
    return f"I did not understand: {', '.join(unread)}." if unread else PlannedCall(tool, arguments)


@dataclass(slots=True)
class _Spoken:
    """A question; `taken` are the places of understood words."""

    question: str
    words: Sequence[Word]
    taken: set[int]

    def place_of(self, phrase: str) -> range:
        """The first place of the words of a phrase, in a row and not taken; empty if nowhere."""
        wanted = plain(phrase)
        for start, length in product(range(len(self.words)), range(1, 1 + len(wanted.split()))):
            place = range(start, start + length)
            text = " ".join(word.plain for word in self.words[start : place.stop])
            if text == wanted and self.taken.isdisjoint(place):
                return place
        return range(0)

    def arguments(self, schema: Mapping[str, Any], behind: int) -> dict[str, Any]:
        """The arguments; `behind` is the place where the phrase ends."""
        known: Mapping[str, Any] = schema.get("$defs", {})
        values: dict[str, Any] = {}
        types = {
            name: [
                known.get(str(each.get("$ref", "")).removeprefix("#/$defs/"), each)
                for each in own.get("anyOf", [own])
            ]
            for name, own in schema.get("properties", {}).items()
        }
        for name, own in types.items():
            values[name] = self._named(name, own)
            for value in (str(value) for each in own for value in each.get("enum", ())):
                place = self.place_of(value) if values[name] is None else None
                values[name] = self._taken(value, own, place) if place else values[name]
        missing = [name for name in schema.get("required", ()) if values.get(name) is None]
        left = range(self._after(behind), len(self.words))
        if len(missing) == 1 and left and self.taken.isdisjoint(left):
            text = self.question[self.words[left[0]].start : self.words[-1].end]
            values[missing[0]] = self._taken(text.strip("'\"“”"), types[missing[0]], left)
        return {name: value for name, value in values.items() if value is not None}

    def _named(self, name: str, types: Iterable[Mapping[str, Any]]) -> Any:
        """What stands behind the argument's name: "company 1001", "company = 1001"."""
        place = self.place_of(name)
        at = self._after(place.stop)
        if not place or at == len(self.words) or at in self.taken:
            return None
        return self._taken(self.words[at].text, types, range(place.start, at + 1))

    def _after(self, at: int) -> int:
        """The first place from here on whose word may be a value."""
        words = enumerate(self.words[at:], at)
        return next((at for at, word in words if word.plain not in _BEFORE_VALUES), len(self.words))

    def _taken(self, text: str, types: Iterable[Mapping[str, Any]], places: range) -> Any:
        """The text as one of these types, whose words are taken; None where it can be none."""
        value = next((each for own in types if (each := _as_type(text, own)) is not None), None)
        self.taken.update(places if value is not None else ())
        return value


def _as_type(text: str, schema: Mapping[str, Any]) -> Any:
    kind, digits = schema.get("type"), text.removeprefix("-")
    if "enum" in schema:
        return next((each for each in schema["enum"] if plain(str(each)) == plain(text)), None)
    if kind == "integer":
        return int(text) if digits.isdecimal() else None
    is_number = kind == "number" and digits.replace(".", "", 1).isdecimal()
    return text if kind == "string" or is_number else None
