"""Data frames of pandas as Arrow tables, whose columns of Python objects get one type each."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from skillian.connectors.arrow import arrow

_FAULTS = (arrow.ArrowException, TypeError, ValueError, OverflowError)
_INT64 = range(-(2**63), 2**63)


def arrow_of_pandas(frame: Any) -> Any:
    """A pandas data frame as an Arrow table.

    Raises:
        ArrowInvalid: A column has no type, with its name.
    """
    whole = frame.copy(deep=False)
    for position, kind in enumerate(frame.dtypes):
        if str(kind) == "object":
            whole.isetitem(position, _as_decimals(frame.iloc[:, position]))
    try:
        rows = arrow.Table.from_pandas(whole, preserve_index=False)
    except _FAULTS as error:
        for column in frame.columns:
            try:
                arrow.Table.from_pandas(whole[[column]], preserve_index=False)
            except _FAULTS as fault:
                reason = _fault(frame[column], fault)
                raise arrow.ArrowInvalid(f"column {str(column)!r}: {reason}") from None
        raise arrow.ArrowInvalid(reason_of(error)) from None
    for column, read in zip(frame.columns, rows.columns, strict=True):
        if _is_object(frame[column].dtype) and not _holds(read, whole[column]):
            order = " (sets have no order)" if arrow.types.is_nested(read.type) else ""
            exact = f"not all values are exactly of type {read.type}{order}"
            reason = _several(frame[column]) or exact
            raise arrow.ArrowInvalid(f"column {str(column)!r}: {reason}")
    return rows


def reason_of(error: Exception) -> str:
    """What a library says of an error, in one line."""
    is_arrow = isinstance(error, arrow.ArrowException) and error.args
    text, _, _ = str(error.args[0] if is_arrow else error).partition("\n")
    return text.partition(". Detail: Python")[0].rpartition("Invalid: ")[2].rstrip(".")


def _is_object(kind: Any) -> bool:
    categories = getattr(kind, "categories", None)
    return str(kind if categories is None else categories.dtype) == "object"


def _types(values: Any) -> set[type]:
    return set(map(type, values[values.notna()]))


def _fault(values: Any, error: Exception) -> str:
    """Why a column has no type in Arrow, whose words on objects are about its own code."""
    if not _is_object(values.dtype):
        return f"it is {values.dtype}: {reason_of(error)}"
    return _several(values) or f"not all values of type {_names(values)} can be read"


def _several(values: Any) -> str:
    is_several = len(_types(values)) > 1
    return f"it has values of several types: {_names(values)}" if is_several else ""


def _names(values: Any) -> str:
    return ", ".join(sorted(kind.__name__ for kind in _types(values)))


def _as_decimals(values: Any) -> Any:
    """Whole numbers beyond 64 bits or among decimals as decimals, which Arrow does not make."""
    kinds = _types(values)
    if not kinds or not kinds <= {int, Decimal}:
        return values
    if Decimal not in kinds and all(each in _INT64 for each in values[values.notna()]):
        return values
    return values.map(Decimal, na_action="ignore")


def _holds(read: Any, values: Any) -> bool:
    """Whether Arrow data has exactly the Python objects that it was made of."""
    if arrow.types.is_string(read.type):
        return True  # Arrow makes texts of texts only
    has_value = read.is_valid().to_numpy()
    after, before = read.drop_null().to_pylist(), values[has_value].tolist()
    if arrow.types.is_nested(read.type):
        return all(map(_is_same, after, before))
    are_truths = arrow.types.is_boolean(read.type)
    return after == before and {*map(_is_truth, before)} <= {are_truths}


def _is_truth(value: object) -> bool:
    return type(value).__name__ in {"bool", "bool_"}  # of NumPy


def _is_same(after: Any, before: Any) -> bool:
    if isinstance(before, set | frozenset):
        return False  # it has no order, and a list has
    kind = type(after).__name__
    if kind == "list":
        return len(after) == len(before) and all(map(_is_same, after, before))
    if kind == "dict":
        return before.keys() <= after.keys() and all(
            _is_same(part, before.get(name)) for name, part in after.items()
        )
    if _is_truth(after) != _is_truth(before):
        return False
    return after is None or bool(after == before or after != after)  # noqa: PLR0124 - NaN
