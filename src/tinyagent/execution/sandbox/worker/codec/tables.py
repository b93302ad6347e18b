"""What a data frame is to both sides: columns as an Arrow stream, and its layout beside it."""

from __future__ import annotations

from typing import Any, NamedTuple

from .foreign import loaded
from .wire import kind_of

# The types of pandas that a column's Arrow type does not tell; they stand for themselves.
NAMED_DTYPES = frozenset(
    {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
    | {"Float32", "Float64", "boolean", "string"}
)
OBJECTS = "object"
CELLS = "cells"
OTHER = ""


class Layout(NamedTuple):
    """What the stream does not hold.

    `labels` of all columns, those of the index first; `levels`, how many these are, 0 for the
    default index; `names` of the levels of the column labels; `dtypes`, one of the words above for
    each column; `cells` of the columns that are not in the stream, in their order.
    """

    labels: list[Any]
    levels: int
    names: list[Any]
    dtypes: list[str]
    cells: list[list[Any]]


def is_table(value: Any) -> bool:
    """Whether it is a data frame of pandas or a table of pyarrow. Imports neither."""
    return is_pandas(value) or issubclass(type(value), loaded("pyarrow", "Table") or ())


def is_pandas(value: Any) -> bool:
    """Whether it is a data frame of pandas."""
    return issubclass(type(value), loaded("pandas", "DataFrame") or ())


def is_label(label: Any) -> bool:
    """Whether it can be looked up, in a time that cannot be stretched."""
    if issubclass(kind_of(label), tuple):
        return all(map(is_label, label))
    return not isinstance(label, list | dict | set | frozenset | bytearray) and not is_table(label)
