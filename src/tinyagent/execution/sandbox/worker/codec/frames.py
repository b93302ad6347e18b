"""Arrays and data frames of a snapshot: numpy's, pandas', polars' and pyarrow's own formats.

Each is read again as soon as it is written, and refused if it is not the same.
"""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from .refusal import CannotKeepError

Write = Callable[[Any], Any]


def write(value: Any, item: Write) -> list[Any] | None:
    """An array or a data frame as JSON; None if the value is neither.

    Args:
        value: Any value.
        item: Writes a value within it.

    Raises:
        CannotKeepError: It would not come back as it is.
    """
    kind = cast("type[object]", type(value))
    numpy: Any = sys.modules.get("numpy")
    pandas: Any = sys.modules.get("pandas")
    written: list[Any] | None = None
    if numpy is not None and (kind is numpy.ndarray or isinstance(value, numpy.generic)):
        written = _array(numpy, value)
    elif pandas is not None and kind is pandas.DataFrame:
        columns = [_column(value.iloc[:, n].array, item) for n in range(value.shape[1])]
        written = ["pandas", _index(value.index, item), _index(value.columns, item), columns]
    elif pandas is not None and kind is pandas.Series:
        written = ["series", _index(value.index, item), _column(value.array, item), value.name]
    elif pandas is not None and isinstance(value, pandas.Index):
        written = ["labels", _index(value, item)]
    elif kind.__module__.partition(".")[0] == "polars" and kind.__name__ == "DataFrame":
        sink = io.BytesIO()
        value.write_ipc(sink)
        return ["polars", _text(sink.getvalue())]
    elif kind.__module__.partition(".")[0] == "pyarrow" and kind.__name__ == "Table":
        arrow: Any = sys.modules["pyarrow"]
        output = arrow.BufferOutputStream()
        with arrow.ipc.new_stream(output, value.schema) as stream:
            stream.write_table(value)
        return ["arrow", _text(output.getvalue().to_pybytes())]
    if written is not None and written[0] in {"pandas", "series", "labels"}:
        _check(value, written)
    return written


def read(data: list[Any], item: Write) -> Any:
    """The array or data frame that `write` was given; `item` reads a value within it.

    Raises:
        ValueError: `write` would never write this.
    """
    kind, *rest = data
    if kind in {"array", "scalar"}:
        np: Any = import_module("numpy")

        array = np.load(io.BytesIO(_bytes(rest[0])), allow_pickle=False)
        array.flags.writeable = rest[1]
        return array[()] if kind == "scalar" else array
    if kind == "polars":
        pl: Any = import_module("polars")

        return pl.read_ipc(io.BytesIO(_bytes(rest[0])), use_pyarrow=False)
    if kind == "arrow":
        pa: Any = import_module("pyarrow.ipc")

        return pa.open_stream(_bytes(rest[0])).read_all()
    return _read_pandas(kind, rest, item)


def _read_pandas(kind: str, rest: list[Any], item: Write) -> Any:
    pd: Any = import_module("pandas")

    if kind == "series":
        index, column, name = rest
        return pd.Series(_values(column, item), index=_read_index(index, item), name=name)
    if kind == "labels":
        return _read_index(rest[0], item)
    if kind != "pandas":
        raise ValueError("an unknown kind of table")
    index, names, columns = rest
    rows = _read_index(index, item)
    frame = pd.DataFrame(
        {n: pd.Series(_values(column, item), index=rows) for n, column in enumerate(columns)},
        index=rows,
    )
    frame.columns = _read_index(names, item)
    return frame


def _array(numpy: Any, value: Any) -> list[Any]:
    kind = "array" if type(value) is numpy.ndarray else "scalar"
    if value.dtype.hasobject:
        raise CannotKeepError("ndarray", "it holds objects; keep a list")
    sink = io.BytesIO()
    numpy.save(sink, value, allow_pickle=False)
    return [kind, _text(sink.getvalue()), kind == "scalar" or bool(value.flags.writeable)]


def _column(array: Any, item: Write) -> list[Any]:
    """The values of a column: as an array where numpy has their type, otherwise one by one."""
    numpy: Any = sys.modules["numpy"]
    plain: Any = getattr(array, "dtype", None)
    if isinstance(plain, numpy.dtype) and not plain.hasobject:
        return ["array", *_array(numpy, numpy.asarray(array).copy())[1:]]
    is_text = str(plain) in {"str", "string"}
    values = [None if _is_missing(one) or (is_text and one != one) else one for one in array]  # noqa: PLR0124 - NaN
    return ["list", str(plain), [item(one) for one in values]]


def _is_missing(value: Any) -> bool:
    pandas: Any = sys.modules["pandas"]
    return value is pandas.NA or value is pandas.NaT


def _values(column: list[Any], item: Write) -> Any:
    pd: Any = import_module("pandas")

    if column[0] == "array":
        return read(column, item)
    return pd.array([item(one) for one in column[2]], dtype=column[1])


def _index(index: Any, item: Write) -> list[Any]:
    pandas: Any = sys.modules["pandas"]
    if type(index) is pandas.RangeIndex:
        return ["range", index.start, index.stop, index.step, item(index.name)]
    if isinstance(index, pandas.MultiIndex):
        raise CannotKeepError("DataFrame", "its index has several levels; keep reset_index() of it")
    frequency = getattr(index, "freqstr", None)
    if frequency is not None and not isinstance(index, pandas.DatetimeIndex):
        frequency = None  # it is part of the type
    return ["index", _column(index.array, item), item(index.name), frequency]


def _read_index(data: list[Any], item: Write) -> Any:
    pd: Any = import_module("pandas")

    if data[0] == "range":
        return pd.RangeIndex(data[1], data[2], data[3], name=item(data[4]))
    index = pd.Index(_values(data[1], item), name=item(data[2]))
    if data[3] is not None:
        index.freq = data[3]
    return index


def _check(value: Any, written: list[Any]) -> None:
    """Check that the table comes back as it is.

    Raises:
        CannotKeepError: It does not.
    """
    kind = type(value).__name__
    from .rebuild import ObjectReader  # noqa: PLC0415 - they use each other

    try:
        again = read(written, ObjectReader({}, lambda _: False).value)
        same = type(again) is type(value) and again.equals(value)
        same = same and not getattr(value, "attrs", None)
        if written[0] == "pandas":
            same = same and list(again.dtypes) == list(value.dtypes)
            same = same and _are_same(again.columns, value.columns)
        else:
            same = same and again.dtype == value.dtype and again.name == value.name
        if written[0] != "labels":
            again, value = again.index, value.index
        same = same and _are_same(again, value)
    except (TypeError, ValueError, KeyError, IndexError, RuntimeError):
        same = False
    if not same:
        raise CannotKeepError(kind, "its types would change; keep to_dict('records') of it")


def _are_same(index: Any, other: Any) -> bool:
    """Whether two indexes are the same in all that they hold."""
    return bool(
        type(index) is type(other)
        and index.equals(other)
        and index.dtype == other.dtype
        and index.names == other.names
        and getattr(index, "freq", None) == getattr(other, "freq", None)
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
