"""Sinks: what must hold for the arguments of a call that changes something or carries data out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlsplit

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


Rule = Sequence[str] | Word | OneOf | Between | Domains
"""What one argument must be made of.

A list of sources that may vouch for it: `"user"` (stands in the user's request), `"contacts"` (is a
whole value in a result of that tool), `"contacts.email"` (of that field), `"in:read_page"` (stands
in a text of that tool's results). `"own_words"`: once the model has read something untrusted, only
what stands in the user's request. `"readable"`: whoever receives it may read all that it was made
of. `"any"`: anything. `OneOf`, `Between` and `Domains`: a narrow check of the value itself.
"""


class Sink:
    """The rules of one tool.

    Args:
        arguments: a rule for each argument by name; also as keyword arguments. An argument without
            one is `"own_words"`.
        control: `"trusted"` if the call may only be made while the model has read nothing
            untrusted, whatever its arguments are.
        readers: the argument that names who receives the others, or `"public"` (the default).

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
        readers: str = "public",
        **rules: Rule,
    ) -> None:
        self.rules: Mapping[str, Rule] = {**arguments, **rules}
        self.control = control
        self.readers = readers

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
