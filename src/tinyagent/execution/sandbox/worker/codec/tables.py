"""Data frames: columns as an Arrow stream, and a layout for what the stream does not hold."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from importlib import import_module
from typing import Any, NamedTuple

from .arrow import FAULTS, may_cross, read_stream, write_stream
from .budget import Budget, check_indexed
from .reprs import REPR_ONLY, attempt, bounded_repr
from .scalars import as_python, loaded
from .wire import WireError, kind_of

# The types of pandas that a column's Arrow type does not show; they go by their names.
NAMED_DTYPES = frozenset(
    {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
    | {"Float32", "Float64", "boolean", "string"}
)
OBJECTS = "object"
CELLS = "cells"
OTHER = ""


class Layout(NamedTuple):
    """The parts of a table that its stream does not hold.

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
        WireError: It is too large.
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
    return Layout(
        [*map(_label, labels)], len(levels), [*map(_label, names)], dtypes, cells
    ), write_stream(sent)


def _levels(frame: Any) -> list[Any]:
    """The levels of an index that has to cross: any but the default one."""
    index = frame.index
    is_range = type(index) is loaded("pandas", "RangeIndex")
    is_default = is_range and index.start == 0 and index.step == 1 and index.name is None
    if is_default and frame.shape[1]:  # without a column, the index has the length
        return []
    return [index.get_level_values(level) for level in range(index.nlevels)]


def _of_pandas(frame: Any, levels: list[Any]) -> _Columns:
    columns = [level.to_series() for level in levels]
    columns += [frame.iloc[:, place] for place in range(frame.shape[1])]
    labels = [*(level.name for level in levels), *frame.columns]
    dtypes = [str(column.dtype) for column in columns]
    shown_dtypes = [name if name in NAMED_DTYPES or name == OBJECTS else OTHER for name in dtypes]
    return _Columns(columns, labels, list(frame.columns.names), shown_dtypes)


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


# Arrow types of which pandas makes an object for each cell, in one go that nothing interrupts.
_OF_OBJECTS = (
    *("decimal", "string", "large_string", "binary", "large_binary"),
    *("date", "time"),
)
_PIECE = 1 << 15


def read_table(layout: Layout, part: memoryview, budget: Budget) -> Any:
    """A pandas data frame; where pandas is missing, a pyarrow table.

    Raises:
        WireError: The other side would never write this, or pyarrow is not installed.
    """
    _check(layout)
    columns = _columns(layout, read_stream(part, budget))
    try:
        pandas = import_module("pandas")
    except ImportError:
        return _arrow_table(layout, columns)
    try:
        return _frame(layout, columns, pandas)
    except FAULTS:
        raise WireError("a data frame that pandas cannot hold") from None


def _check(layout: Layout) -> None:
    labels, levels, names, dtypes, _ = layout
    is_sound = (
        type(levels) is int
        and 0 <= levels <= len(labels)
        and type(dtypes) is list
        and len(dtypes) == len(labels)
        and all(type(dtype) is str for dtype in dtypes)
        and len(names) > 0
        and all(map(is_label, labels + names))
    )
    if not is_sound:
        raise WireError("a data frame whose labels do not fit")


def _columns(layout: Layout, arrays: list[Any]) -> list[Any]:
    """All columns in their order: arrays of the stream and lists of cells."""
    sources: dict[bool, Iterator[Any]] = {True: iter(layout.cells), False: iter(arrays)}
    columns = [next(sources[dtype == CELLS], None) for dtype in layout.dtypes]
    count = len(arrays) + len(layout.cells)
    lengths = {len(column) for column in columns if column is not None}
    if count != len(columns) or None in columns or len(lengths) > 1:
        raise WireError("a data frame whose columns do not fit")
    return columns


def _frame(layout: Layout, columns: list[Any], pandas: Any) -> Any:
    labels, levels, names, dtypes, _ = layout
    pairs = zip(columns, dtypes, strict=True)
    if levels > 1 and columns:
        check_indexed(len(columns[0]), "an index of several levels")
    series = [_series(column, dtype, pandas) for column, dtype in pairs]
    index = _index(series[:levels], labels[:levels], pandas)
    if levels == len(series):
        frame = pandas.DataFrame(index=index)
    else:  # by places: labels may be there twice; copied: Arrow's memory is not to be written to
        frame = pandas.DataFrame(dict(enumerate(series[levels:])), copy=True)
        frame.index = frame.index if index is None else index
    frame.columns = _column_labels(labels[levels:], names, pandas)
    return frame


def _series(column: Any, dtype: str, pandas: Any) -> Any:
    if dtype == CELLS:
        return pandas.Series(column, dtype=object)
    types = import_module("pyarrow").types
    if not any(getattr(types, f"is_{kind}")(column.type) for kind in _OF_OBJECTS):
        return _whole_series(column, dtype, pandas)
    pieces = [column.slice(start, _PIECE) for start in range(0, max(len(column), 1), _PIECE)]
    series = [_whole_series(piece, dtype, pandas) for piece in pieces]
    return series[0] if len(series) == 1 else pandas.concat(series, ignore_index=True)


def _whole_series(column: Any, dtype: str, pandas: Any) -> Any:
    if dtype in NAMED_DTYPES:
        return pandas.Series(pandas.api.types.pandas_dtype(dtype).__from_arrow__(column))
    if dtype != OBJECTS:
        return column.to_pandas()
    types = import_module("pyarrow").types
    if types.is_string(column.type) or types.is_large_string(column.type):
        return pandas.Series(column.to_numpy(zero_copy_only=False), dtype=object)
    return column.to_pandas().astype(object)


def _index(series: list[Any], labels: list[Any], pandas: Any) -> Any:
    if len(series) > 1:
        return pandas.MultiIndex.from_arrays(series, names=labels)
    return pandas.Index(series[0], name=labels[0]) if series else None


def _column_labels(labels: list[Any], names: list[Any], pandas: Any) -> Any:
    if len(names) == 1:
        return pandas.Index(labels, name=names[0], tupleize_cols=False)
    if not all(type(label) is tuple and len(label) == len(names) for label in labels):
        raise ValueError
    return pandas.MultiIndex.from_tuples(labels, names=names)


def _arrow_table(layout: Layout, columns: list[Any]) -> Any:
    pyarrow = import_module("pyarrow")
    for place, dtype in enumerate(layout.dtypes):
        if dtype == CELLS:
            texts = [None if cell is None else str(cell) for cell in columns[place]]
            columns[place] = pyarrow.array(texts, pyarrow.large_string())
    return pyarrow.table(columns, names=[str(label) for label in layout.labels])
