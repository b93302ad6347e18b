"""Data frames on their way out."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from importlib import import_module
from typing import Any, NamedTuple

from .arrow import may_cross, write_stream
from .budget import Budget, check_indexed
from .foreign import as_python, loaded
from .reprs import REPR_ONLY, attempt, bounded_repr
from .tables import CELLS, NAMED_DTYPES, OBJECTS, OTHER, Layout, is_label, is_pandas


class _Columns(NamedTuple):
    """A table's columns with their labels and pandas' types, those of its index first."""

    columns: list[Any]
    labels: list[Any]
    names: list[Any]
    dtypes: list[str]


def write_table(table: Any, budget: Budget) -> tuple[Layout, memoryview] | None:
    """The table's layout and its stream; None where pyarrow is missing.

    A column of objects goes as one of Arrow's if they are all of one type that Arrow keeps (what is
    missing comes back as None then), else cell by cell. A column of another type that Arrow has
    none for becomes one of texts that say so.

    Raises:
        WireError: it is too large.
    """
    pyarrow = attempt(import_module, "pyarrow")
    if pyarrow is None:
        return None
    levels = _levels(table) if is_pandas(table) else []
    budget.take_table(table.shape[0], len(levels) + table.shape[1])
    if len(levels) > 1:
        check_indexed(table.shape[0], "an index of several levels")
    columns, labels, names, dtypes = _of_pandas(table, levels) if is_pandas(table) else _of(table)
    pairs = zip(columns, dtypes, strict=True)
    arrays = [_array(column, dtype, pyarrow) for column, dtype in pairs]
    for place, (column, dtype) in enumerate(zip(columns, dtypes, strict=True)):
        if arrays[place] is None and dtype == OBJECTS:
            dtypes[place] = CELLS
        elif arrays[place] is None:
            arrays[place] = pyarrow.array(map(_as_text, column.array), pyarrow.large_string())
    sent = [array for array in arrays if array is not None]
    categories = [len(getattr(array, "dictionary", ())) for array in sent]
    check_indexed(max(categories, default=0), "a column of categories")
    budget.take_cells(sum(categories))
    cells = [list(column) for column, dtype in zip(columns, dtypes, strict=True) if dtype == CELLS]
    shown = [*map(_label, labels)]
    return Layout(shown, len(levels), [*map(_label, names)], dtypes, cells), write_stream(sent)


def _levels(frame: Any) -> list[Any]:
    """The levels of an index that has to cross: any but the default one."""
    index = frame.index
    is_range = type(index) is loaded("pandas", "RangeIndex")
    is_default = is_range and index.start == 0 and index.step == 1 and index.name is None
    if is_default and frame.shape[1]:  # without a column it is the index that tells the length
        return []
    return [index.get_level_values(level) for level in range(index.nlevels)]


def _of_pandas(frame: Any, levels: list[Any]) -> _Columns:
    columns = [level.to_series() for level in levels]
    columns += [frame.iloc[:, place] for place in range(frame.shape[1])]
    labels = [*(level.name for level in levels), *frame.columns]
    dtypes = [str(column.dtype) for column in columns]
    told = [name if name in NAMED_DTYPES or name == OBJECTS else OTHER for name in dtypes]
    return _Columns(columns, labels, list(frame.columns.names), told)


def _of(table: Any) -> _Columns:
    columns = [column if may_cross(column.type) else column.to_pylist() for column in table.columns]
    dtypes = [OBJECTS if type(column) is list else OTHER for column in columns]
    return _Columns(columns, list(table.column_names), [None], dtypes)


def _array(column: Any, dtype: str, pyarrow: Any) -> Any:
    """The column as one array; None if a plain array of Arrow's cannot hold it."""
    if dtype == OBJECTS and not _is_uniform(column):
        return None
    is_arrow = isinstance(column, pyarrow.ChunkedArray)
    array = column if is_arrow else attempt(pyarrow.array, column)
    if array is None:  # a sparse column, perhaps
        array = attempt(pyarrow.array, column.to_numpy())
    if isinstance(array, pyarrow.ChunkedArray):
        array = array.combine_chunks()
    return array if array is not None and may_cross(array.type) else None


def _is_uniform(column: Any) -> bool:
    """Whether Arrow would give back all objects as they are: not so with a time among dates."""
    if type(column) is list:
        return False
    kinds = set(map(type, column.dropna()))
    return len(kinds) == 1 and kinds <= {str, bytes, bool, Decimal, date}


def _as_text(cell: Any) -> str | None:
    return None if as_python(cell) is None else REPR_ONLY + bounded_repr(cell)


def _label(label: Any) -> Any:
    return label if is_label(as_python(label)) else bounded_repr(label)
