"""Sealed: what the code holds in place of a value that it may not see, and lists of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from .wire import WireError

_MAX_TEXT = 300
_MAX_SHOWN = 5_000
_USE = (
    "this value is sealed: its content is not here. Pass it to a tool as it is or inside a text,"
    " or work on it with apart(function, value, gives=type)"
)


class Sealed:
    """A stand-in for a value that only the host holds.

    It can be stored, copied, put into lists, dicts and texts, and passed to tools. Whatever needs
    its content raises a TypeError.

    Args:
        token: What the host knows it by, which nobody can guess.
        shown: What it looks like: its type and where it comes from.
    """

    __slots__ = ("shown", "token")

    def __init__(self, token: str, shown: str) -> None:
        self.token = token
        self.shown = shown

    def __repr__(self) -> str:
        """Its type and where it comes from."""
        return self.shown

    def __str__(self) -> str:
        """The text that its content replaces when a tool receives it."""
        return self.token

    def __format__(self, spec: str) -> str:
        """As `str`; its content cannot be formatted here."""
        return self.token if not spec else _refuse()

    def __hash__(self) -> int:
        """Of itself, not of its content."""
        return hash(self.token)

    def __eq__(self, other: object) -> bool:
        """Whether both are the same stand-in; another one's content is not known."""
        if isinstance(other, Sealed) and self.token == other.token:
            return True
        return _refuse()

    def __add__(self, other: object) -> str:
        """A text that contains it."""
        return self.token + str(other) if isinstance(other, str | Sealed) else _refuse()

    def __radd__(self, other: object) -> str:
        """A text that contains it."""
        return other + self.token if isinstance(other, str) else _refuse()

    def __getattr__(self, name: str) -> NoReturn:
        """It has none of the attributes of its content."""
        raise AttributeError(f"no attribute {name!r}: {_USE}")


def _refuse(*_: object) -> NoReturn:
    raise TypeError(_USE)


for _name in (
    *("bool", "len", "iter", "getitem", "contains", "int", "float", "index", "call", "reversed"),
    *("lt", "le", "gt", "ge", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "abs"),
    *("rsub", "rmul", "rtruediv", "rfloordiv", "rmod", "rpow", "round", "complex", "bytes"),
):
    setattr(Sealed, f"__{_name}__", _refuse)


class SealedList(list[Any]):
    """A list of stand-ins, which is printed without its length: that is decided by others too.

    Args:
        items: The stand-ins, or objects of them.
        shown: What it looks like.
    """

    __slots__ = ("shown",)

    def __init__(self, items: Iterable[Any] = (), shown: str = "") -> None:
        super().__init__(items)
        self.shown = shown

    def __repr__(self) -> str:
        """The kind of its items, and their sources."""
        return self.shown


def write_sealed(value: Sealed) -> dict[str, Any]:
    """The stand-in as JSON."""
    return {"$": "sealed", "v": [str(value.token), str(value.shown)]}


def shown_from(data: Any) -> str:
    """The shape of a list of stand-ins, from JSON.

    Raises:
        WireError: It is not a text, or too long.
    """
    if type(data) is not str or len(data) > _MAX_SHOWN:
        raise WireError("a sealed list that is none")
    return data


def read_sealed(data: Any) -> Sealed:
    """The stand-in from JSON.

    Raises:
        WireError: It is not a stand-in.
    """
    match data:
        case [str() as token, str() as shown] if max(len(token), len(shown)) <= _MAX_TEXT:
            return Sealed(token, shown)
        case _:
            raise WireError("a sealed value that is none")
