"""Rules: what one argument of a call must be made of, and which items of a result are trusted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal
from urllib.parse import urlsplit

Word = Literal["any", "own_words", "readable", "unmarked"]


@dataclass(frozen=True, slots=True)
class Items:
    """Each object of a result that has this field is an item with a label of its own.

    The field says who wrote the item. It must be set by the service, never taken from the text:
    whoever can write it can pretend to be somebody else.

    Attributes:
        by: Its name, such as `"sender"`; the value is a text.
    """

    by: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """The argument must be one of these values."""

    values: Sequence[str | float | bool]

    def accepts(self, value: object) -> bool:
        """Whether the value is one of them, of the same type."""
        return any(type(value) is type(known) and value == known for known in self.values)


@dataclass(frozen=True, slots=True)
class Between:
    """The argument must be a number from `low` to `high`, both included."""

    low: float
    high: float

    def accepts(self, value: object) -> bool:
        """Whether the value is a number in the range."""
        return (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and self.low <= value <= self.high
        )


@dataclass(frozen=True, slots=True)
class Domains:
    """The argument must be an `https` URL on one of these hosts, without a user or a port.

    The path and the query are not checked: who serves the host reads them.
    """

    hosts: Sequence[str]

    def accepts(self, value: object) -> bool:
        """Whether the value is such a URL."""
        return host_of(value, "https") in self.hosts


@dataclass(frozen=True, slots=True)
class Under:
    """The argument must be the path of something below one of these folders.

    A path with `..`, a backslash, `~` or a character that cannot be printed is refused. Links in
    the file system are not followed: the tool must not follow them either.
    """

    folders: Sequence[str]

    def accepts(self, value: object) -> bool:
        """Whether the value is such a path."""
        if not isinstance(value, str) or not value.isprintable() or re.search(r"[\\~%]", value):
            return False
        parts = _parts(value)
        if ".." in parts or value.startswith("//"):  # a share, on some systems
            return False
        return any(
            value.startswith("/") == folder.startswith("/")
            and len(parts) > len(_parts(folder))
            and parts[: len(_parts(folder))] == _parts(folder)
            for folder in self.folders
        )


def _parts(path: str) -> list[str]:
    """The names of a path; the first one is empty for an absolute one."""
    start = [""] if path.startswith("/") else []
    return start + [part for part in path.split("/") if part not in {"", "."}]


FORMS: Mapping[str, re.Pattern[str]] = {
    "date": re.compile(
        r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
    ),
    "email": re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(\.[\w-]{1,63}){1,8}", re.ASCII),
    "number": re.compile(r"[+-]?\d{1,20}(\.\d{1,20})?", re.ASCII),
    "word": re.compile(r"\w[\w -]{2,63}"),
    "url": re.compile(
        r"(https?://)?[\w-]{1,63}(\.[\w-]{1,63}){1,8}(:\d{1,5})?([/?#]\S*)?", re.ASCII
    ),
}
_OPEN: Mapping[str, re.Pattern[str]] = {
    "date": re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::00(?:\.0{1,9})?(?![\d.]))?", re.ASCII),
    "email": re.compile(r"@[\w.-]+", re.ASCII),
    "url": re.compile(r"\b(?:http|HTTP)[sS]?://[^\s/?#]+", re.ASCII),
}
"""What may be spelled in several ways without meaning anything else."""


@dataclass(frozen=True, slots=True)
class Form:
    """Each value of the argument must have a form, and one of the sources must vouch for it.

    What a form leaves open is not compared: the case of a domain or of a word, how the time of a
    date is written, and the digits of a number (`1,200` and `1200.00` are the same, and so are
    `two` and `2`).

    Attributes:
        name: `"date"` (ISO 8601, with or without a time), `"email"`, `"number"`, `"url"`, or
            `"word"` (one of the words that the tool allows).
        sources: As in a list of sources; without any, the form is enough. Numbers among them are
            allowed as they are.
    """

    name: str
    sources: Sequence[str | float] = ()

    def accepts(self, value: object) -> bool:
        """Whether the value is of this form."""
        if self.name == "number" and isinstance(value, int | float):
            return not isinstance(value, bool)
        if not isinstance(value, str) or FORMS[self.name].fullmatch(value) is None:
            return False
        try:
            return self.name != "date" or bool(datetime.fromisoformat(value))
        except ValueError:
            return False


@dataclass(frozen=True, slots=True)
class KnownLink:
    """The argument must be a link that was read, on a host that one of the sources names.

    A result contains it as it is, with nothing appended, so it carries nothing out.

    Attributes:
        sources: As in a list of sources; they vouch for the host.
    """

    sources: Sequence[str]

    def accepts(self, value: object) -> bool:
        """Whether the value is a URL of the web, without a user or a port."""
        return bool(host_of(value, "https") or host_of(value, "http"))


@dataclass(frozen=True, slots=True)
class FormOf:
    """The values are what a form asks for: free where the user's request names its host.

    Only a value that the model has read elsewhere must be vouched for.

    Attributes:
        argument: The argument of the same call that holds the address of the form.
    """

    argument: str


Rule = Sequence[str] | Word | OneOf | Between | Domains | Under | Form | KnownLink | FormOf
"""What one argument must be made of.

A list of sources that may vouch for it: `"user"` (is in the user's request, as whole words),
`"contacts"` (is a whole value in a result of that tool), `"contacts.email"` (of that field),
`"in:read_page"` (is in a text of that tool's results), `"trusted"` (of a trusted tool or item, as
whole words or a whole value), `"own"` (is a whole value of what lists the user's own things),
`"seen"` (is a whole value of any result), `"default"` (is what the tool takes without it).

`"own_words"`: once the model has read something untrusted, only what is in the user's request.
`"readable"`: whoever receives it may read all that it was made of. `"unmarked"`: the same, and it
repeats no address, link, long number or run of five words that an untrusted source wrote. `"any"`:
anything. `OneOf`, `Between`, `Domains`, `Under`, `Form`, `KnownLink` and `FormOf`: a narrow check
of the value itself.
"""


def normal(text: str, form: str) -> str:
    """The text with one spelling for all that means the same in what has the form.

    Args:
        text: Any text.
        form: A name of `FORMS`; every text is its own spelling without one.
    """
    if form == "word":
        return text.casefold()
    if form == "date":
        return _OPEN[form].sub(r"\1 \2", text)
    if form not in _OPEN:
        return text
    return _OPEN[form].sub(lambda found: found[0].lower(), text)


def host_of(url: object, scheme: str) -> str:
    """The host of a URL of this scheme without a user or a port; empty for anything else."""
    if not isinstance(url, str) or not url.isascii() or not url.isprintable():
        return ""
    if re.search(r"[\\ ]", url):
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = parts.netloc.lower()
    return host if parts.scheme == scheme and re.fullmatch(r"[a-z0-9.-]+", host) else ""


_HOSTS = re.compile(r"(?<![\w@.-])(?:https?://)?((?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24})(?![\w@-])")
_SPOKEN = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = re.compile(
    rf"(?<![\w.,:/#+-])(?<!\d[ \xa0])\d{{1,20}}(?:[.,]\d{{1,20}})*(?![\w:/-]|[.,]\d|[ \xa0]\d)"
    rf"|\b(?:{'|'.join(_SPOKEN)})\b",
    re.ASCII | re.IGNORECASE,
)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def hosts_in(text: str) -> frozenset[str]:
    """The hosts that a text names, by themselves or in URLs."""
    return frozenset(_HOSTS.findall(text.lower()))


def numbers_in(text: str) -> frozenset[Decimal]:
    """The numbers in a text that are not a part of a date, a time, a code or a name."""
    return frozenset(
        number for found in _NUMBERS.findall(text) if (number := as_number(found)) is not None
    )


def as_number(text: str) -> Decimal | None:
    """The number that a text is; None if it is none, or may be read in two ways."""
    if text.lower() in _SPOKEN:
        return Decimal(_SPOKEN.index(text.lower()) + 1)
    plain = text.replace(",", "") if _GROUPED.fullmatch(text) else text
    return Decimal(plain) if FORMS["number"].fullmatch(plain) else None
