"""Labels: where the contents of a run come from, and who may read them.

A label says nothing about trust; a policy maps sources to trust (`tinyagent.provenance`). Labels
are joined, and no operation removes a source. The lattice is that of Denning, "A Lattice Model of
Secure Information Flow" (CACM 19:5, 1976), with named sources in place of levels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tinyagent.core.untrusted import as_array, as_object

MAX_SOURCES = 64
_MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Label:
    """Where something comes from, and who may read it.

    Attributes:
        sources: what it was made of: `user`, `operator`, the name of a tool, `file:name`,
            `mcp:server/tool`, `agent:name`. `unknown` stands for any, and so does a label of more
            than 64; only the user may read it.
        readers: who may read it; None for everybody.
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
        return cls(sources, readers)


USER = Label(frozenset({"user"}))
OPERATOR = Label(frozenset({"operator"}))
UNKNOWN = Label(frozenset({"unknown"}), frozenset({"user"}))


def join(labels: Iterable[Label | None]) -> Label:
    """The label of what is made of all of them; what has no label is `UNKNOWN`."""
    return reduce(Label.__or__, (label or UNKNOWN for label in labels), Label())


@dataclass(slots=True)
class Delegation:
    """What passes between a call of an agent and the run that it starts: labels both ways."""

    task: Label
    answer: Label = UNKNOWN


DELEGATION: ContextVar[Delegation | None] = ContextVar("DELEGATION", default=None)
"""Set while a labelled run calls a tool, for the runs that start in it."""


def task_label() -> Label:
    """The label of a task that starts here: the user's, or that of the call that delegates it."""
    delegation = DELEGATION.get()
    return USER if delegation is None else delegation.task


def _names(entry: Mapping[str, Any], key: str) -> frozenset[str] | None:
    names = as_array(entry.get(key))
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return frozenset(str(name)[:_MAX_NAME] for name in names)
