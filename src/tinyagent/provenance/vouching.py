"""Who vouches for a value: a verbatim search in the user's request and in results of tools.

Vouching is a membership test, which is weaker than following the flow of data: whoever wrote the
text that a model has read may still choose among the values that are vouched for. So values of
fewer than three characters and bare numbers are never vouched for by a text, and nothing is matched
approximately. Only Unicode normalization (NFC), case and blanks are ignored, and the date and the
time of an ISO timestamp may stand apart.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from tinyagent.core.untrusted import as_array, as_object

MIN_CHARACTERS = 3
_MAX_LEAVES = 100_000
_MAX_DEPTH = 50

_ISO_TIME = re.compile(r"(\d{4}-\d\d-\d\d)t(\d\d:\d\d)")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d)")
_ZERO_SECONDS = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d):00(?:\.0+)?(?![\d.])")
_NUMBER = re.compile(r"[+-]?[\d.,]+%?")
Scalar = str | float | bool
"""A value that holds no others."""

_JOINS = r"@.+\-_/:#?=&%~"
"""Characters that make one word of what stands on both sides of them: addresses, names, URLs."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value inside an argument or a result; `path` is the way to it, `key` its field."""

    path: str
    value: Scalar | None
    key: str = ""


def leaves(value: object, path: str, key: str = "", depth: int = 0) -> Iterator[Leaf]:
    """All values inside a JSON value, the keys of objects among them.

    Raises:
        ValueError: it is nested more than 50 levels deep.
    """
    if depth > _MAX_DEPTH:
        raise ValueError(f"{path}: nested more than {_MAX_DEPTH} levels deep")
    if value is None or isinstance(value, str | float | int | bool):
        yield Leaf(path, value, key)
        return
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value)
        for name, item in entries.items():
            yield Leaf(f"{path}: key", str(name), key="*")
            yield from leaves(item, f"{path}.{name}", str(name), depth + 1)
        return
    if isinstance(value, list | tuple | set | frozenset):
        for at, item in enumerate(cast("Iterable[Any]", value)):
            yield from leaves(item, f"{path}[{at}]", key, depth + 1)
        return
    yield Leaf(path, str(value), key)


@lru_cache(maxsize=512)
def normal(text: str) -> str:
    """The text as it is compared."""
    folded = " ".join(unicodedata.normalize("NFC", text).casefold().split())
    return _ZERO_SECONDS.sub(r"\1", _ISO_TIME.sub(r"\1 \2", folded))


def can_be_vouched_for(value: str) -> bool:
    """Whether a text is long enough to mean only one thing, and no bare number."""
    return len(value) >= MIN_CHARACTERS and _NUMBER.fullmatch(value) is None


def is_said_in(value: str, text: str) -> bool:
    """Whether the value is in the text as whole words; both are normalized here."""
    wanted, given = normal(value), normal(text)
    if not can_be_vouched_for(wanted):
        return False
    moment = _MOMENT.fullmatch(wanted)
    if moment:  # "at 10:00 on 2024-05-20" names the moment 2024-05-20 10:00
        return all(_has_words(part, given) for part in moment.groups())
    return _has_words(wanted, given)


def _has_words(wanted: str, given: str) -> bool:
    return next(_places(wanted, given), None) is not None


def times_in(value: str, text: str) -> int:
    """How often the value is in the text, as whole words."""
    return sum(1 for _ in _places(normal(value), normal(text)))


def _places(wanted: str, given: str) -> Iterator[re.Match[str]]:
    pattern = rf"(?<![\w])(?<![\w][{_JOINS}]){re.escape(wanted)}(?![\w])(?![{_JOINS}]+[\w])"
    return re.finditer(pattern, given)


@dataclass(slots=True)
class Record:
    """One result of a tool: its value, and the arguments of its call that nobody vouched for."""

    tool: str
    value: Any
    echoes: frozenset[str] = frozenset()
    _whole: dict[str, set[str]] | None = field(default=None, repr=False)

    def holds(self, value: Scalar, field_name: str | None) -> bool:
        """Whether the value is a whole value of the result, or of one of its fields."""
        whole = self._values()
        if isinstance(value, str):
            wanted = normal(value)
            if not can_be_vouched_for(wanted) and field_name is None:
                return False
        else:
            wanted = f"#{value!r}"
            if isinstance(value, bool) or field_name is None:
                return False
        if wanted in self.echoes or self._is_assembled(wanted):
            return False
        return wanted in whole.get("" if field_name is None else field_name, ())

    def contains(self, value: str, field_name: str | None) -> bool:
        """Whether the value is in a text of the result, as whole words."""
        wanted = normal(value)
        if any(wanted in echo for echo in self.echoes) or self._is_assembled(wanted):
            return False
        return any(
            is_said_in(value, leaf.value)
            for leaf in _bounded(self.value)
            if isinstance(leaf.value, str) and field_name in (None, leaf.key)
        )

    def _is_assembled(self, wanted: str) -> bool:
        """Whether nothing but echoes makes up the value, as when a tool joins its arguments."""
        rest = wanted
        for echo in sorted(self.echoes, key=len, reverse=True):
            rest = rest.replace(echo, " ")
        return rest != wanted and not any(map(str.isalnum, rest))

    def _values(self) -> dict[str, set[str]]:
        """Its whole values by field; under the empty name, of all fields."""
        if self._whole is None:
            self._whole = {"": set()}
            for leaf in _bounded(self.value):
                if leaf.value is None or leaf.key == "*":
                    continue
                entry = normal(leaf.value) if isinstance(leaf.value, str) else f"#{leaf.value!r}"
                self._whole[""].add(entry)
                self._whole.setdefault(leaf.key, set()).add(entry)
        return self._whole


def _bounded(value: object) -> Iterator[Leaf]:
    """The leaves of a result, at most 100,000; what is nested too deeply vouches for nothing."""
    try:
        for count, leaf in enumerate(leaves(value, "")):
            if count >= _MAX_LEAVES:
                return
            yield leaf
    except ValueError:
        return


def as_json(value: object, text: str) -> object:
    """A tool's value as JSON: the value itself if it is, otherwise its text, read as JSON.

    Args:
        value: what the tool returned.
        text: what the model is shown of it.
    """
    is_json = isinstance(value, str | float | int) or as_object(value) is not None
    if is_json or as_array(value) is not None:
        return value
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def echoes_of(arguments: Mapping[str, Any], vouched: Iterable[str]) -> frozenset[str]:
    """The values of the arguments that nobody vouched for: a result that repeats them does not.

    Args:
        arguments: those of the call.
        vouched: the paths of the arguments that somebody vouched for.
    """
    known = set(vouched)
    found: set[str] = set()
    for name, argument in arguments.items():
        for leaf in leaves(argument, name):
            if leaf.path in known or leaf.value is None:
                continue
            if not isinstance(leaf.value, str):
                found.add(f"#{leaf.value!r}")
            elif wanted := normal(leaf.value):
                found.add(wanted)
    return frozenset(found)
