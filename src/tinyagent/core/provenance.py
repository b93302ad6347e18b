"""Labels and sinks: where the contents of a run come from, and where they may go.

A label says nothing about trust; a policy maps sources to trust (`tinyagent.provenance`). Labels
are joined, and no operation removes a source. The lattice is that of Denning, "A Lattice Model of
Secure Information Flow" (CACM 19:5, 1976), with named sources in place of levels. A sink is a tool
that changes something or carries data out; its rules say what its arguments may be made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, reduce
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlsplit

from tinyagent.core.untrusted import as_array, as_object

MAX_SOURCES = 64
OUTER = "../"
"""Begins the sources of a run's caller."""
_MAX_NAME = 200
_MAX_NAMES = 256


@dataclass(frozen=True, slots=True)
class Label:
    """Where something comes from, and who may read it.

    Attributes:
        sources: What it was made of: `user`, `operator`, the name of a tool, `file:name`.
            `unknown` stands for any, and so does a label of more than 64; only the user may read
            it.
        readers: Who may read it; None for everybody.
    """

    sources: frozenset[str] = frozenset()
    readers: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if len(self.sources) > MAX_SOURCES or (len(self.sources) > 1 and "unknown" in self.sources):
            object.__setattr__(self, "sources", frozenset({"unknown"}))
        if "unknown" in self.sources:
            only_user = frozenset({"user"})
            readers = only_user if self.readers is None else self.readers & only_user
            object.__setattr__(self, "readers", readers)

    def __or__(self, other: Label) -> Label:
        """The label of what is made of both: all sources, and only common readers."""
        if other.sources <= self.sources and other.readers in (None, self.readers):
            return self
        if self.sources <= other.sources and self.readers in (None, other.readers):
            return other
        if self.readers is None or other.readers is None:
            readers = self.readers if other.readers is None else other.readers
        else:
            readers = self.readers & other.readers
        return Label(self.sources | other.sources, readers)

    def allows(self, readers: frozenset[str]) -> bool:
        """Whether all of `readers` may read it."""
        return self.readers is None or readers <= self.readers

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        out: dict[str, Any] = {"sources": sorted(self.sources)}
        return out if self.readers is None else out | {"readers": sorted(self.readers)}

    @classmethod
    def from_dict(cls, data: object) -> Label:
        """Read the JSON form; what is missing or cannot be read is `UNKNOWN`."""
        entry = as_object(data) or {}
        sources, readers = _names(entry, "sources"), _names(entry, "readers")
        if not sources or (readers is None and entry.get("readers") is not None):
            return UNKNOWN
        return _label_of(sources, readers)


def _names(entry: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    names = as_array(entry.get(key))
    if names is None or len(names) > _MAX_NAMES:
        return None
    cut = tuple([name[:_MAX_NAME] for name in names if isinstance(name, str)])
    return cut if len(cut) == len(names) else None


@lru_cache(maxsize=256)  # the messages of a conversation share few labels
def _label_of(sources: tuple[str, ...], readers: tuple[str, ...] | None) -> Label:
    return Label(frozenset(sources), None if readers is None else frozenset(readers))


def label_to_dict(label: Label | None) -> dict[str, Any]:
    """What the JSON form of something has for its label: nothing if it has none."""
    return {} if label is None else {"label": label.to_dict()}


def label_from_dict(data: Mapping[str, Any]) -> Label | None:
    """The label of something, from its JSON form; None if it has none."""
    return Label.from_dict(data["label"]) if "label" in data else None


COMMON = frozenset({"user", "operator"})
"""The sources that mean the same in all runs, and that all of them trust."""
USER = Label(frozenset({"user"}))
OPERATOR = Label(frozenset({"operator"}))
UNKNOWN = Label(frozenset({"unknown"}), frozenset({"user"}))
_EMPTY = Label()


def join(labels: Iterable[Label | None]) -> Label:
    """The label of what is made of all of them; what has no label is `UNKNOWN`."""
    return reduce(Label.__or__, (label or UNKNOWN for label in labels), _EMPTY)


@dataclass(frozen=True, slots=True)
class Mark:
    """A span of an answer that repeats what an untrusted source wrote.

    Attributes:
        start: Where it begins in `str(result)`.
        end: Where it ends.
        sources: Which wrote it.
    """

    start: int
    end: int
    sources: frozenset[str]


Word = Literal["any", "own_words", "readable"]


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
        if not isinstance(value, str) or not value.isascii() or not value.isprintable():
            return False
        if "\\" in value or " " in value:
            return False
        try:
            url = urlsplit(value)
        except ValueError:
            return False
        return url.scheme == "https" and url.netloc.lower() in self.hosts


FORMS: Mapping[str, re.Pattern[str]] = {
    "date": re.compile(
        r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
    ),
    "email": re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(\.[\w-]{1,63}){1,8}", re.ASCII),
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
    """Each text of the argument must have a form, and one of the sources must vouch for it.

    What a form leaves open is not compared: the case of a domain, and how the time of a date is
    written.

    Attributes:
        name: `"date"` (ISO 8601, with or without a time), `"email"` or `"url"`.
        sources: As in a list of sources; without any, the form is enough.
    """

    name: str
    sources: Sequence[str] = ()

    def accepts(self, value: object) -> bool:
        """Whether the value is a text of this form."""
        if not isinstance(value, str) or FORMS[self.name].fullmatch(value) is None:
            return False
        try:
            return self.name != "date" or bool(datetime.fromisoformat(value))
        except ValueError:
            return False


def normal(text: str, form: str) -> str:
    """The text with one spelling for all that means the same in what has the form.

    Args:
        text: Any text.
        form: A name of `FORMS`; every text is its own spelling without one.
    """
    if not form:
        return text
    if form == "date":
        return _OPEN[form].sub(r"\1 \2", text)
    return _OPEN[form].sub(lambda found: found[0].lower(), text)


Rule = Sequence[str] | Word | OneOf | Between | Domains | Form
"""What one argument must be made of.

A list of sources that may vouch for it: `"user"` (is in the user's request, as whole words),
`"contacts"` (is a whole value in a result of that tool), `"contacts.email"` (of that field),
`"in:read_page"` (is in a text of that tool's results). `"own_words"`: once the model has read
something untrusted, only what is in the user's request. `"readable"`: whoever receives it may read
all that it was made of. `"any"`: anything. `OneOf`, `Between`, `Domains` and `Form`: a narrow
check of the value itself.
"""


class Sink:
    """The rules of one tool.

    Args:
        arguments: A rule for each argument by name; also as keyword arguments. An argument without
            one is `"own_words"`.
        control: `"trusted"` if the call may only be made while the model has read nothing
            untrusted, whatever its arguments are.
        readers: The argument that names who receives the others, or all that do; `"public"` (the
            default) for anybody, which also holds for a call that names nobody; `"nobody"` for a
            tool that sends nothing.

    Example:
        `Sink(to=["user", "contacts.email"], body="readable", readers="to")`
    """

    __slots__ = ("control", "readers", "rules")

    def __init__(
        self,
        arguments: Mapping[str, Rule] = MappingProxyType({}),
        /,
        *,
        control: Literal["any", "trusted"] = "any",
        readers: str | Sequence[str] = "public",
        **rules: Rule,
    ) -> None:
        self.rules: Mapping[str, Rule] = {**arguments, **rules}
        self.control: Literal["any", "trusted"] = control
        self.readers = readers if isinstance(readers, str) else tuple(readers)

    @property
    def receivers(self) -> tuple[str, ...]:
        """The arguments that name who receives the others."""
        if isinstance(self.readers, str):
            return () if self.readers in {"public", "nobody"} else (self.readers,)
        return self.readers

    def rule(self, argument: str) -> Rule:
        """The rule of an argument."""
        return self.rules.get(argument, "own_words")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sink) and self._key == other._key

    def __hash__(self) -> int:
        return hash((self.control, self.readers, tuple(self.rules)))

    def __repr__(self) -> str:
        return f"Sink({dict(self.rules)!r}, control={self.control!r}, readers={self.readers!r})"

    @property
    def _key(self) -> tuple[Any, ...]:
        return dict(self.rules), self.control, self.readers


UNDECLARED = Sink(control="trusted")
"""The sink of a tool that nobody has declared."""
