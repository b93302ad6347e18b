from __future__ import annotations

import sys
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.crossing import cross

from tinyagent.execution.sandbox.worker.codec.budget import MAX_CELLS, MAX_COLUMNS
from tinyagent.execution.sandbox.worker.codec.values import decode, encode
from tinyagent.execution.sandbox.worker.codec.wire import WireError

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

MOMENT = datetime.fromisoformat("1980-01-02T03:04:05.000006")
PLAIN = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "int8": st.integers(-128, 127),
    "uint64": st.integers(0, 2**64 - 1),
    "float64": st.floats(),
    "float32": st.floats(width=32),
    "bool": st.booleans(),
    "str": st.text(st.characters(exclude_categories=["Cs"])) | st.none(),
    "datetime64[us]": st.datetimes() | st.none(),
    "datetime64[ns, Europe/Berlin]": st.datetimes(MOMENT, MOMENT.replace(year=2200)),
    "timedelta64[ns]": st.integers(-(2**62), 2**62),
    "category": st.sampled_from(["x", "y", None]),
    "Int64": st.integers(-(2**63), 2**63 - 1) | st.none(),
    "UInt8": st.integers(0, 255) | st.none(),
    "Float64": st.floats(allow_nan=False) | st.none(),
    "boolean": st.booleans() | st.none(),
    "string": st.text(st.characters(exclude_categories=["Cs"])) | st.none(),
    "object": st.integers() | st.text(st.characters(exclude_categories=[])) | st.none(),
}


@st.composite
def _frames(draw: st.DrawFn) -> Any:
    rows = draw(st.integers(0, 5))
    names = draw(st.lists(st.sampled_from(sorted(PLAIN)), max_size=4))
    columns = [
        pd.Series(draw(st.lists(PLAIN[name], min_size=rows, max_size=rows)), dtype=name)
        for name in names
    ]
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(rows))
    frame.columns = pd.Index(
        draw(st.lists(st.text("ab"), min_size=len(names), max_size=len(names)))
    )
    return frame


@given(_frames())
@settings(max_examples=2 * settings().max_examples)
def test_data_frames_cross(frame: Any) -> None:
    got = cross(frame)
    pd.testing.assert_frame_equal(got, frame, check_column_type=False, check_index_type=False)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1]}, index=["x"]),
        pd.DataFrame({"a": [1, 2]}, index=pd.Index([7, 7], name="key")),
        pd.DataFrame({"a": [1]}, index=pd.RangeIndex(3, 4)),
        pd.DataFrame({"a": [1]}, index=pd.RangeIndex(1, name="n")),
        pd.DataFrame({"a": [1, 2]}, index=pd.date_range("2024-01-01", periods=2, freq="D")),
        pd.DataFrame({"a": [1, 2]}, index=pd.MultiIndex.from_tuples([("x", 1), ("y", 2)])),
        pd.DataFrame({"a": [1, 2]}, index=pd.CategoricalIndex(["x", "y"], name="c")),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=pd.Index([1, 2.5], name="n")),
        pd.DataFrame([[1, 2]], columns=[("a", 1), "b"]),
        pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])),
        pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", 1)], names=["p", None])),
        pd.DataFrame([[1, 2]], columns=pd.date_range("2024-01-01", periods=2, name="day")),
        pd.DataFrame(index=[1, 2]),
        pd.DataFrame(),
        pd.DataFrame({"a": [1], "b": ["x"]})[:0],
        pd.DataFrame({"a": np.arange(6)})[::2],
    ],
    ids=lambda frame: f"{frame.index.names} {list(frame.columns)}",
)
def test_labels_cross(frame: Any) -> None:
    got = cross(frame)
    pd.testing.assert_frame_equal(
        got, frame, check_column_type=False, check_index_type=False, check_freq=False
    )
    assert list(got.columns.names) == list(frame.columns.names)


@pytest.mark.parametrize(
    "cells",
    [
        [Decimal("1.50"), None],
        [date(2024, 1, 1), None],
        [date(2024, 1, 1), MOMENT],
        [time(1), None],
        [b"x", b""],
        ["x", None],
        ["\ud800", "x"],
        [True, None],
        [1, None],
        [1, "a", 2.5],
        [2**70, 1],
        [[1], {"a": (1, 2)}],
        [None, None],
    ],
    ids=str,
)
def test_objects_cross_as_they_are(cells: list[Any]) -> None:
    got = cross(pd.DataFrame({"a": pd.Series(cells, dtype=object)}))["a"]
    assert got.dtype == object
    assert got.tolist() == cells
    assert list(map(type, got)) == list(map(type, cells))


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (pd.Series([1j]), "np.complex128(1j)"),
        (pd.Series([pd.Interval(0, 1)]), "Interval(0, 1, closed='right')"),
        (pd.Series(pd.period_range("2024-01", periods=1, freq="M")), "Period('2024-01', 'M')"),
        (pd.Series([range(2)], dtype=object), "range(0, 2)"),
    ],
    ids=["complex", "interval", "period", "object"],
)
def test_cells_that_are_no_data_cross_as_their_repr_and_say_so(column: Any, text: str) -> None:
    assert cross(pd.DataFrame({"a": column})).loc[0, "a"] == f"<not data, repr only> {text}"


def test_a_sparse_column_comes_back_dense() -> None:
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 5])})
    assert cross(frame)["a"].tolist() == [0, 0, 5]


def test_what_comes_may_be_changed() -> None:
    frame = cross(pd.DataFrame({"a": [1.5, 2.5], "s": ["x", "y"]}))
    frame.loc[0, "a"] = 9
    frame.iloc[1, 1] = "z"
    frame["b"] = frame["a"] * 2
    assert frame.to_dict("list") == {"a": [9.0, 2.5], "s": ["x", "z"], "b": [18.0, 5.0]}


def test_an_arrow_table_comes_back_as_a_data_frame() -> None:
    table = pa.table({"a": pa.chunked_array([[1], [2]]), "b": [[1], [2, 3]], "c": [None, None]})
    got = cross({"t": table})["t"]
    assert got.to_dict("list") == {"a": [1, 2], "b": [[1], [2, 3]], "c": [None, None]}


def test_an_arrow_table_without_rows_keeps_its_columns() -> None:
    table = pa.table({"a": pa.array([], pa.decimal128(38, 2)), "b": pa.nulls(0)})
    assert list(cross(table).columns) == ["a", "b"]
    assert len(cross(table)) == 0


def test_frames_inside_of_other_values_cross() -> None:
    frame = pd.DataFrame({"a": [1]})
    first, second = cross([frame, {"k": (b"x", frame * 2)}])
    assert (first.loc[0, "a"], second["k"][1].loc[0, "a"]) == (1, 2)


def test_without_pandas_a_table_of_arrow_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = bytearray()
    data = encode(pd.DataFrame({"a": [1], 2: [{"k": 1}]}, index=["x"]), blobs)
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = decode(data, bytes(blobs))
    assert table.to_pydict() == {"None": ["x"], "a": [1], "2": ["{'k': 1}"]}


def test_without_pyarrow_a_frame_is_described_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"a": [1]})
    blobs = bytearray()
    data = encode(frame, blobs)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert encode(frame, bytearray()) == {"$": "repr", "v": repr(frame)}
    with pytest.raises(WireError, match="install pyarrow to take it"):
        decode(data, bytes(blobs))


def test_too_large_frames_are_not_sent_and_the_fix_is_named() -> None:
    with pytest.raises(WireError, match="4,194,304 cells in one value; select or aggregate first"):
        encode(pd.DataFrame({"a": np.zeros(MAX_CELLS + 1, "int8")}), bytearray())
    with pytest.raises(WireError, match="4,097 columns, at most 4,096 cross; select first"):
        encode(pd.DataFrame(np.zeros((1, MAX_COLUMNS + 1))), bytearray())
    half = pd.DataFrame({"a": np.zeros(MAX_CELLS // 2, "int8")})
    assert len(cross([half, half])) == 2
    with pytest.raises(WireError, match="cells in one value"):
        encode([half, half, half], bytearray())


def test_a_frame_at_the_depth_limit_is_described() -> None:
    value: Any = pd.DataFrame({"a": [1]})
    for _ in range(99):
        value = [value]
    got = cross(value)
    for _ in range(99):
        (got,) = got
    assert got.startswith("<not data, repr only>    a")
    (shallower,) = value
    assert cross(shallower) is not None


@pytest.mark.parametrize("levels", [97, 98])
def test_what_is_in_a_frame_counts_its_levels(levels: int) -> None:
    frame = pd.DataFrame({"a": [[1], "x"]})
    frame.columns.name = ("b", "c")
    value: Any = frame
    for _ in range(levels):
        value = [value]
    got = cross(value)
    for _ in range(levels):
        (got,) = got
    is_taken = levels < 98
    assert got["a"][0] == ([1] if is_taken else "<not data, repr only> [1]")
    name = ("b", "c") if is_taken else "<not data, repr only> ('b', 'c')"
    assert name in (got.columns.name, got.index.name)
