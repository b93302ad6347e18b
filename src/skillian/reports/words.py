"""How reports write keys, numbers and classes."""

from collections.abc import Mapping

from skillian.data.sql.values import jsonable
from skillian.display import printable


def number(value: object) -> str:
    """An amount with all of its digits; `no value` for None."""
    return "no value" if value is None else str(jsonable(value))


def text(value: object) -> str:
    """A value of a key or a row, on one line."""
    return "no value" if value is None else " ".join(printable(str(jsonable(value))).split("\n"))


def key_words(key: Mapping[str, object]) -> str:
    """The key of a group, each value with its dimension."""
    return ", ".join(f"{name} {text(value)}" for name, value in key.items())


def counted(groups: int) -> str:
    """A number of groups, in words."""
    return "1 group" if groups == 1 else f"{groups} groups"
