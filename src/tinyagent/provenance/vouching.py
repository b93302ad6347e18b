"""Who vouches for a value: a verbatim search in the user's request and in results of tools.

Vouching is a membership test, which is weaker than following the flow of data: whoever wrote the
text that a model has read may still choose among the values that are vouched for. So values of
fewer than three characters and bare numbers are never vouched for by a text, and every character
counts. Only a `Form` says what may be spelled otherwise.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from tinyagent.core.provenance import Label, normal
from tinyagent.core.untrusted import as_array, as_object

MIN_CHARACTERS = 3
_MAX_LEAVES = 100_000
_MAX_DEPTH = 50
_MAX_PLACES = 1_000
_WINDOW = 300

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d)", re.ASCII)
_NUMBER = re.compile(r"[+-]?[\d.,]+%?")
_POSSESSIVE = re.compile("['\u2019]s(?!\\w)")
Scalar = str | float | bool
"""A value that holds no others."""

_JOINS = "@.+-_/:#?=&%~'\u2019!*$^|\\`{}"
"""Characters that make one word of what stands on both sides of them: addresses, names, URLs."""
_URL_JOINS = _JOINS + ",;()[]"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value inside an argument; `path` is the way to it."""

    path: str
    value: Scalar | None


def leaves(value: object, path: str, depth: int = 0) -> Iterator[Leaf]:
    """All values inside a JSON value, the keys of objects among them.

    Raises:
        ValueError: It is nested more than 50 levels deep.
    """
    if depth > _MAX_DEPTH:
        raise ValueError(f"{path}: nested more than {_MAX_DEPTH} levels deep")
    if value is None or isinstance(value, str | float | int | bool):
        yield Leaf(path, value)
    elif isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value)
        for name, item in entries.items():
            yield Leaf(f"{path}: key", str(name))
            yield from leaves(item, f"{path}.{name}", depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for at, item in enumerate(cast("Iterable[Any]", value)):
            yield from leaves(item, f"{path}[{at}]", depth + 1)
    else:
        yield Leaf(path, str(value))


def can_be_vouched_for(value: str) -> bool:
    """Whether a text is long enough to mean only one thing, and no bare number."""
    return len(value) >= MIN_CHARACTERS and _NUMBER.fullmatch(value) is None


def is_said_in(value: str, text: str, form: str = "") -> bool:
    """Whether the value is in the text as whole words.

    Args:
        value: It counts with all its characters.
        text: Where it must be.
        form: Of the value, whose spellings mean the same; see `Form`.
    """
    wanted, given = normal(value, form), normal(text, form)
    if not can_be_vouched_for(wanted):
        return False
    moment = _MOMENT.fullmatch(wanted) if form == "date" else None
    if moment:  # "at 10:00 on 2024-05-20" names the moment 2024-05-20 10:00
        return all(has_words(part, given) for part in moment.groups())
    return has_words(wanted, given)


def has_words(wanted: str, given: str) -> bool:
    """Whether a text contains another one as whole words."""
    return next(_places(wanted, given), None) is not None


def times_in(value: str, text: str) -> int:
    """How often the value is in the text, as whole words."""
    return sum(1 for _ in _places(value, text))


def _places(wanted: str, given: str) -> Iterator[int]:
    """The places where it stands as whole words, among its first 1,000."""
    at = given.find(wanted)
    for _ in range(_MAX_PLACES):
        if at < 0:
            return
        end = at + len(wanted)
        if not _is_part(wanted, given[max(at - _WINDOW, 0) : at], given[end : end + _WINDOW]):
            yield at
        at = given.find(wanted, at + 1)


def _is_part(wanted: str, before: str, after: str) -> bool:
    """Whether a value is only a part of a longer word."""
    left = "" if not before or before[-1].isspace() else before.rsplit(maxsplit=1)[-1]
    right = "" if not after or after[0].isspace() else after.split(maxsplit=1)[0]
    if not left and not right:
        return False
    is_url = "/" in left or "/" in wanted or "/" in right
    if not is_url and "@" not in wanted and _POSSESSIVE.match(right):
        right = right[2:]
    joins = _URL_JOINS if is_url else _JOINS
    left, right = left.rstrip(joins), right.lstrip(joins)
    return (left != "" and _is_in_word(left[-1])) or (right != "" and _is_in_word(right[0]))


def _is_in_word(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character) in {"Mn", "Mc", "Me", "Cf"}


@dataclass(slots=True)
class Record:
    """A text that a model has read: a tool's result, or material in the task.

    Attributes:
        tool: Its source.
        value: The result as JSON.
        arguments: Of its call, as far as others may have written them.
        known: The paths of those that somebody vouched for; a result may repeat the other ones.
        vouches: Whether it may vouch for values; errors do not.
        own: Its label, without what its arguments were made of.
    """

    tool: str
    value: Any
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    known: frozenset[str] = frozenset()
    vouches: bool = True
    own: Label = field(default_factory=Label)
    _whole: dict[tuple[str, str], frozenset[str]] = field(
        default_factory=dict[tuple[str, str], frozenset[str]], repr=False
    )
    _echoes: list[str] | None = field(default=None, repr=False)
    _entries: list[tuple[str, Scalar]] | None = field(default=None, repr=False)
    _texts: dict[str | None, str] = field(default_factory=dict[str | None, str], repr=False)

    def holds(self, value: Scalar, field_name: str | None, form: str = "") -> bool:
        """Whether the value is a whole value of the result, or of one of its fields."""
        if not isinstance(value, str):
            if isinstance(value, bool) or field_name is None:
                return False
            wanted = f"#{value!r}"
        elif field_name is None and not can_be_vouched_for(value):
            return False
        else:
            wanted = normal(value, form)
        return wanted in self._values(field_name or "", form) and not self._is_echo(value)

    def contains(self, value: str, field_name: str | None, form: str = "") -> bool:
        """Whether the value is in a text of the result, as whole words."""
        wanted = normal(value, form)
        return (
            can_be_vouched_for(wanted)
            and has_words(wanted, normal(self.text(field_name), form))
            and not self._is_echo(value)
        )

    def text(self, field_name: str | None = None) -> str:
        """All texts of the result, or of one of its fields, one after the other."""
        if field_name not in self._texts:
            self._texts[field_name] = "\0".join(
                value
                for name, value in self._all()
                if isinstance(value, str) and field_name in (None, name)
            )
        return self._texts[field_name]

    def _is_echo(self, value: Scalar) -> bool:
        """Whether the call may have put the value into its result.

        It is a part of an argument, or is put together of nothing but arguments.
        """
        wanted = str(value).casefold()
        is_number = not isinstance(value, str)
        rest = wanted
        if self._echoes is None:
            self._echoes = sorted(echoes_of(self.arguments, self.known), key=len, reverse=True)
        for echo in self._echoes:
            if has_words(wanted, echo) if is_number else wanted in echo:
                return True
            rest = rest.replace(echo, " ")
        return rest != wanted and not any(map(str.isalnum, rest))

    def _values(self, name: str, form: str) -> frozenset[str]:
        """Its whole values in one spelling; those of all fields for the empty name."""
        key = (name, form)
        if key not in self._whole:
            self._whole[key] = frozenset(
                normal(value, form) if isinstance(value, str) else f"#{value!r}"
                for field_name, value in self._all()
                if name in ("", field_name)
            )
        return self._whole[key]

    def _all(self) -> list[tuple[str, Scalar]]:
        """Its values with their fields, at most 100,000; too deep ones vouch for nothing."""
        if self._entries is None:
            self._entries = _entries(self.value)
        return self._entries


def _entries(value: object) -> list[tuple[str, Scalar]]:
    """The values of a result with their fields; this is called with all of a large result."""
    found: list[tuple[str, Scalar]] = []
    waiting: list[tuple[str, object, int]] = [("", value, 0)]
    while waiting and len(found) < _MAX_LEAVES:
        name, item, depth = waiting.pop()
        if isinstance(item, str | float | int):
            found.append((name, item))
        elif depth >= _MAX_DEPTH or item is None:
            continue
        elif isinstance(item, dict):
            entries = cast("dict[object, object]", item)
            waiting += [(str(key), each, depth + 1) for key, each in entries.items()]
        elif isinstance(item, list | tuple | set | frozenset):
            waiting += [(name, each, depth + 1) for each in cast("Iterable[object]", item)]
        else:
            found.append((name, str(item)))
    return found


def as_json(value: object, text: str) -> object:
    """A tool's value as JSON: the value itself if it is, otherwise its text, read as JSON.

    Args:
        value: What the tool returned.
        text: What the model is shown of it.
    """
    is_json = isinstance(value, str | float | int) or as_object(value) is not None
    if is_json or as_array(value) is not None:
        return value
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def echoes_of(arguments: Mapping[str, Any], vouched: Iterable[str] = ()) -> frozenset[str]:
    """The values of the arguments that nobody vouched for: a result that repeats them does not.

    Args:
        arguments: Those of the call.
        vouched: The paths of the arguments that somebody vouched for.
    """
    known = set(vouched)
    return frozenset(
        str(leaf.value).casefold()
        for name, argument in arguments.items()
        for leaf in leaves(argument, name)
        if leaf.path not in known and leaf.value not in (None, "")
    )
