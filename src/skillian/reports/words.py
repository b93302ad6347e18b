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


def counted(count: int, unit: str = "group") -> str:
    """A number of groups or rows, in words."""
    return f"{count} {unit}{'' if count == 1 else 's'}"
