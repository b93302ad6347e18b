"""Labels and sinks: where the contents of a run come from, and where they may go.

A label says nothing about trust; a policy maps sources to trust (`tinyagent.provenance`). Labels
are joined, and no operation removes a source. The lattice is that of Denning, "A Lattice Model of
Secure Information Flow" (CACM 19:5, 1976), with named sources in place of levels. A sink is a tool
that changes something or carries data out; its rules say what its arguments may be made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from types import MappingProxyType
from typing import Any, Literal, TypedDict

from tinyagent.core.provenance.rules import Items, Rule
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


Place = tuple[str, ...]
"""Where a value is in the arguments of a call: `(".items", "[]", ".id")`."""


def place_of(path: str) -> Place:
    """The place that a path such as `items[].id` names."""
    steps: list[str] = []
    for name in path.split("."):
        plain = name.removesuffix("[]")
        steps += [f".{plain}", "[]"] if name != plain else [f".{name}"]
    return tuple(steps)


class Sink:
    """The rules of one tool.

    Args:
        arguments: A rule for each argument by name; also as keyword arguments. `"items[].id"` and
            `"address.city"` are rules for values inside an argument; the longest one holds. An
            argument without a rule is `"own_words"`.
        control: `"trusted"` if the call may only be made while the model has read nothing
            untrusted, whatever its arguments are.
        readers: The argument that names who receives the others, or all that do; `"public"` (the
            default) for anybody, which also holds for a call that names nobody; `"nobody"` for a
            tool that sends nothing.
        asked: Words that ask for the call: once the model has read something untrusted, the user's
            request or a trusted item must have a word that begins with one of them.

    Example:
        `Sink(to=["user", "contacts.email"], body="readable", readers="to")`
    """

    __slots__ = ("_places", "arguments", "asked", "control", "readers", "receivers", "rules")

    def __init__(
        self,
        arguments: Mapping[str, Rule] = MappingProxyType({}),
        /,
        *,
        control: Literal["any", "trusted"] = "any",
        readers: str | Sequence[str] = "public",
        asked: Sequence[str] = (),
        **rules: Rule,
    ) -> None:
        self.rules: Mapping[str, Rule] = {**arguments, **rules}
        self._places = {place_of(path): rule for path, rule in self.rules.items()}
        self.arguments = frozenset(place[0][1:] for place in self._places)
        """The arguments that have a rule, or hold a value that has one."""
        self.control: Literal["any", "trusted"] = control
        self.readers = readers if isinstance(readers, str) else tuple(readers)
        named = (readers,) if isinstance(readers, str) else tuple(readers)
        self.receivers = () if named in {("public",), ("nobody",)} else named
        """The arguments that name who receives the others."""
        self.asked = tuple(asked)

    def rule(self, place: Place) -> Rule:
        """The rule of the value at a place, or of what it is in."""
        for end in range(len(place), 0, -1):
            if place[:end] in self._places:
                return self._places[place[:end]]
        return "own_words"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sink) and self._key == other._key

    def __hash__(self) -> int:
        return hash((self.control, self.readers, self.asked, tuple(self.rules)))

    def __repr__(self) -> str:
        return (
            f"Sink({dict(self.rules)!r}, control={self.control!r}, readers={self.readers!r},"
            f" asked={self.asked!r})"
        )

    @property
    def _key(self) -> tuple[Any, ...]:
        return dict(self.rules), self.control, self.readers, self.asked


UNDECLARED = Sink(control="trusted")
"""The sink of a tool that nobody has declared."""


class Hints(TypedDict, total=False):
    """What a tool says of itself; those of an MCP server are the server's words.

    Attributes:
        read_only: It changes nothing.
        destructive: What it changes cannot be restored.
        open_world: Its arguments leave the machine, or its results come from elsewhere.
    """

    read_only: bool
    destructive: bool
    open_world: bool


Trust = Literal["trusted", "untrusted"] | Items | Callable[[Any], Label]
"""Whether the results of a tool are trusted, or how they are labelled."""
