"""Data frames on their way in."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from .arrow import FAULTS, read_stream
from .budget import Budget, check_indexed
from .tables import CELLS, NAMED_DTYPES, OBJECTS, Layout, is_label
from .wire import WireError

# Arrow types of which pandas makes an object for each cell, in one go that nothing interrupts.
_OF_OBJECTS = (
    *("decimal", "string", "large_string", "binary", "large_binary"),
    *("date", "time"),
)
_PIECE = 1 << 15


def read_table(layout: Layout, part: memoryview, budget: Budget) -> Any:
    """A pandas data frame; where pandas is missing, a pyarrow table.

    Raises:
        WireError: the other side would never write this, or pyarrow is not installed.
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
