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
from dataclasses import dataclass
from typing import Any, cast

from tinyagent.core.provenance import Place
from tinyagent.core.provenance.rules import normal
from tinyagent.core.untrusted import as_array, as_object

MIN_CHARACTERS = 3
_MAX_DEPTH = 50
_MAX_PLACES = 1_000
_WINDOW = 300

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d)", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:[.,]\d{3})+|\d+)?(?:[.,]\d*)?%?")
_POSSESSIVE = re.compile("['\u2019]s(?!\\w)")
Scalar = str | float | bool
"""A value that holds no others."""

_JOINS = "@.+-_/:#?=&%~'\u2019!*$^|\\`{}"
"""Characters that make one word of what stands on both sides of them: addresses, names, URLs."""
_URL_JOINS = _JOINS + ",;()[]"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value inside an argument.

    Attributes:
        path: The way to it.
        value: It, or the name of a key.
        place: The way to it for a rule, where all items of a list are in one place.
        is_key: Whether it is the name of a key, whose place is that of its value.
    """

    path: str
    value: Scalar | None
    place: Place
    is_key: bool = False


def leaves(value: object, path: str, place: Place | None = None, depth: int = 0) -> Iterator[Leaf]:
    """All values inside a JSON value, the keys of objects among them.

    Args:
        value: Of an argument.
        path: The name of the argument, or the way to the value.
        place: The same for a rule.
        depth: How deep it is nested.

    Raises:
        ValueError: It is nested more than 50 levels deep.
    """
    place = (f".{path}",) if place is None else place
    if depth > _MAX_DEPTH:
        raise ValueError(f"{path}: nested more than {_MAX_DEPTH} levels deep")
    if value is None or isinstance(value, str | float | int | bool):
        yield Leaf(path, value, place)
    elif isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value)
        for name, item in entries.items():
            inner = (*place, f".{name}")
            yield Leaf(f"{path}: key", str(name), inner, is_key=True)
            yield from leaves(item, f"{path}.{name}", inner, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for at, item in enumerate(cast("Iterable[Any]", value)):
            yield from leaves(item, f"{path}[{at}]", (*place, "[]"), depth + 1)
    else:
        yield Leaf(path, str(value), place)


def leaves_of(arguments: Mapping[str, object]) -> Iterator[Leaf]:
    """All values inside the arguments of a call."""
    return (leaf for name, argument in arguments.items() for leaf in leaves(argument, name))


_INDENT = r"[ \t\xa0\u200b\u3000]{0,80}"
_LINE_ENDS = str.maketrans(dict.fromkeys("\r\v\f\x85\u2028\u2029", "\n"))
_WROTE = "wrote|writes|said|schrieb|écrit|escribió|escreveu|scritto|schreef|skrev"
_QUOTED = re.compile(
    rf"^{_INDENT}(?:[>|\xbb\u203a\uff1e]|&gt;"
    rf"|[^\n]{{0,500}}\b(?:{_WROTE})\b[^\n]{{0,60}}:[ \t\xa0]{{0,80}}$"
    r"|[-_=*]{2,}[^\n]{0,60}\b(?:forwarded|original|weitergeleitete|ursprüngliche)\b"
    r"|begin forwarded message|forwarded (?:message|by|from)|fwd?:"
    r"|\*?(?:from|von|de|da|van)[ \xa0]?:[^\n]{0,300}\n\s{0,80}\*?[^\W\d]\w{0,14}[ \xa0]?:)"
    rf"|<blockquote\b|\b(?<!\bi )(?:{_WROTE})\b[^\n:.!?]{{0,60}}:(?=[\s\"'\u201c\u201e\xab])",
    re.IGNORECASE | re.MULTILINE,
)


_SIGNS = (
    *(">", "|", "&gt;", "<blockquote", "forwarded", "original", "fw:", "fwd:"),
    *(f"{word}{blank}:" for word in ("from", "von", "de", "da", "van") for blank in ("", " ")),
    *(word for word in _WROTE.split("|") if word.isascii()),
)
"""An ASCII text without any of these has no quotation."""


def without_quotation(text: str) -> tuple[str, str]:
    """What the writer of a text wrote, and what follows from the first sign of a quotation on.

    A quotation has lines that begin with `>` (RFC 3676) or `|`, or a line such as "Anna wrote:",
    "Original message", "Begin forwarded message:", or the lines "From:" and "Sent:" of a mail. In a
    line it begins behind "Anna wrote:".
    """
    if text.isascii() and not _has_sign(text.lower()):
        return text, ""
    found = _QUOTED.search(text.translate(_LINE_ENDS))
    return (text, "") if found is None else (text[: found.start()], text[found.start() :])


def _has_sign(text: str) -> bool:
    for sign in _SIGNS:  # noqa: SIM110 - this is called for each text that is read
        if sign in text:
            return True
    return False


def can_be_vouched_for(value: str) -> bool:
    """Whether a text is long enough to mean only one thing, and no bare number."""
    return len(value) >= MIN_CHARACTERS and _NUMBER.fullmatch(value) is None


def named(name: str, value: str) -> list[str]:
    """How a text says a value behind the name of its argument, such as "room 12" or "Room: 12"."""
    words = name.replace("_", " ")
    return [f"{one}{gap}{value}" for one in (words, words.capitalize()) for gap in (" ", ": ")]


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


def begins_a_word(wanted: str, given: str) -> bool:
    """Whether a text has a word, or words, that begin with another one."""
    at = given.find(wanted)
    while at > 0 and _is_in_word(given[at - 1]):
        at = given.find(wanted, at + 1)
    return at >= 0


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
        for leaf in leaves_of(arguments)
        if leaf.path not in known and leaf.value not in (None, "")
    )
