"""Streams made to break whoever reads them."""

from __future__ import annotations

import os
import pickle
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tinyagent.execution.sandbox.worker.codec.arrow import read_stream, write_stream
from tinyagent.execution.sandbox.worker.codec.budget import MAX_COLUMNS, MAX_INDEXED, Budget
from tinyagent.execution.sandbox.worker.codec.values import decode, encode
from tinyagent.execution.sandbox.worker.codec.wire import WireError

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
ipc = pytest.importorskip("pyarrow.ipc")

LABELS: dict[str, Any] = {"levels": 0, "names": [None], "cells": []}


def stream(*batches: Any, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, batches[0].schema, options=ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def batch(*arrays: Any, fields: list[Any] | None = None, **rest: Any) -> Any:
    fields = fields or [pa.field(str(n), array.type) for n, array in enumerate(arrays)]
    return pa.RecordBatch.from_arrays(list(arrays), schema=pa.schema(fields, **rest))


def tag(size: int, **changes: Any) -> dict[str, Any]:
    return {"$": "frame", "at": 0, "n": size, "labels": ["a"], "dtypes": [""], **LABELS, **changes}


ONE = pa.array([1, 2])


def test_what_is_written_is_read() -> None:
    arrays = [ONE, pa.array(["a", None]), pa.array(["x", "x"]).dictionary_encode()]
    assert read_stream(bytes(write_stream(arrays)), Budget()) == arrays
    assert read_stream(bytes(write_stream([])), Budget()) == []


class Evil:
    def __reduce__(self) -> Any:
        return os.mkdir, ("canary",)


def extension(name: str, metadata: bytes) -> Any:
    keys = {"ARROW:extension:name": name, "ARROW:extension:metadata": metadata}
    return pa.field("0", pa.int64(), metadata=keys)


@pytest.mark.parametrize(
    "data",
    [
        stream(batch(ONE, fields=[extension("arrow.py_extension_type", pickle.dumps(Evil()))])),
        stream(batch(ONE, fields=[extension("pandas.period", b'{"freq": "M"}')])),
        stream(batch(ONE, fields=[extension("arrow.opaque", b"{}")])),
        stream(batch(ONE, fields=[extension("unheard.of", b"")])),
    ],
    ids=["pickle", "pandas", "arrow", "unknown"],
)
def test_extension_types_are_refused_unread(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WireError, match="not an Arrow stream"):
        decode(tag(len(data)), data)
    assert list(tmp_path.iterdir()) == []


def _pandas_metadata() -> Any:
    frame = pd.DataFrame({"0": [1]}, index=["x"])
    return pa.RecordBatch.from_pandas(frame[["0"]], preserve_index=False)


@pytest.mark.parametrize(
    "data",
    [
        stream(_pandas_metadata()),
        stream(batch(ONE, fields=[pa.field("0", pa.int64(), metadata={"a": "b"})])),
        stream(batch(ONE, fields=[pa.field("name", pa.int64())])),
        stream(batch(pa.array([[1], [2]]))),
        stream(batch(pa.array([{"a": 1}]))),
        stream(batch(pa.nulls(3))),
        stream(batch(pa.array([b"ab"], pa.binary(2)))),
        stream(batch(pa.array([[1]], pa.list_(pa.int64(), 1)))),
        stream(batch(pa.RunEndEncodedArray.from_arrays(pa.array([3], pa.int32()), pa.array([1])))),
        stream(batch(pa.array([True]).dictionary_encode())),
        stream(batch(pa.array([], pa.map_(pa.string(), pa.string())))),
        stream(batch(pa.array(["a"], pa.string_view()))),
    ],
    ids=range(12),
)
def test_schemas_that_are_never_written_are_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        read_stream(data, Budget())


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
@pytest.mark.parametrize("column", [pa.array([0] * 1000), pa.array(["a"] * 99).dictionary_encode()])
def test_compressed_columns_are_refused_unread(codec: str, column: Any) -> None:
    with pytest.raises(WireError, match="not an Arrow stream"):
        read_stream(stream(batch(column), compression=codec), Budget())


def test_a_stream_is_one_batch_and_nothing_else() -> None:
    good = stream(batch(ONE))
    words = pa.array(["a"]).dictionary_encode()
    assert len(read_stream(good, Budget())) == 1
    for data in (
        stream(batch(ONE), batch(ONE)),
        stream(batch(words), batch(pa.array(["b"]).dictionary_encode())),
        good[: good.index(b"\xff\xff\xff\xff", 8)] + struct.pack("<iI", -1, 0),
        good + b"\0",
        good + good,
        good[:-8],
        good[:-1],
        good[8:],
        b"",
        b"\0" * 64,
        b"\xff" * 64,
    ):
        with pytest.raises(WireError, match=r"not an Arrow stream|not one batch"):
            read_stream(data, Budget())


@pytest.mark.parametrize("rows", [2**62, 2**40, 5_000_000])
def test_rows_without_bytes_are_refused_before_they_are_made(rows: int) -> None:
    few = stream(batch(pa.nulls(77)))
    many = few.replace(struct.pack("<q", 77), struct.pack("<q", rows))
    assert many != few
    with pytest.raises(WireError, match="cells in one value"):
        read_stream(many, Budget())


def test_more_or_fewer_rows_than_the_columns_hold_are_refused() -> None:
    good = stream(batch(pa.array([1, 2, 3])))
    for rows in (0, 2, 4, 1000, -1, 2**63 - 1):
        changed = good.replace(struct.pack("<q", 3), struct.pack("<q", rows), 1)
        assert changed != good
        with pytest.raises(WireError):
            read_stream(changed, Budget())


def test_columns_that_share_their_bytes_are_refused() -> None:
    long, short = pa.array(["x" * 5000]), pa.array(["y" * 100])
    good = stream(batch(long, short))
    offsets, data = struct.pack("<qq", 0, 8), struct.pack("<qq", 8, 5000)
    assert offsets in good
    assert data in good
    shared = bytearray(good)
    second = good.index(data) + len(data)  # validity, offsets, data of the second column
    shared[second + 16 : second + 48] = offsets + data
    with pytest.raises(WireError, match="more than was sent"):
        read_stream(bytes(shared), Budget())


def test_text_that_is_not_utf8_and_wrong_offsets_are_refused() -> None:
    good = stream(batch(pa.array(["abcd", "efgh"])))
    offsets = struct.pack("<iii", 0, 4, 8)
    assert offsets in good
    for changed in (
        good.replace(b"abcd", b"\xff\xff\xff\xff"),
        good.replace(offsets, struct.pack("<iii", 0, 9, 8)),
        good.replace(offsets, struct.pack("<iii", 0, 4, 2**30)),
        good.replace(offsets, struct.pack("<iii", -4, 4, 8)),
    ):
        with pytest.raises(WireError, match="cannot be read"):
            read_stream(changed, Budget())


@pytest.mark.parametrize("zone", ["../../etc/passwd", "Nowhere/Land", "x" * 1000, "\0", "+99:99"])
def test_a_time_zone_that_is_not_valid_is_refused(zone: str) -> None:
    data = stream(batch(pa.array([1], pa.timestamp("us", zone))))
    with pytest.raises(WireError):
        decode(tag(len(data)), data)


def test_categories_that_are_there_twice_are_refused() -> None:
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", "a"]))
    data = stream(batch(words))
    with pytest.raises(WireError, match="pandas cannot hold"):
        decode(tag(len(data)), data)


def test_a_date_that_python_has_not_is_refused() -> None:
    data = stream(batch(pa.array([2**31 - 1], pa.date32())))
    with pytest.raises(WireError, match="pandas cannot hold"):
        decode(tag(len(data)), data)


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": []},
        {"labels": ["a", "b"], "dtypes": ["", ""]},
        {"labels": "a"},
        {"labels": [[1]]},
        {"labels": [{"$": "set", "v": [1]}]},
        {"labels": [{"$": "tuple", "v": [{"$": "frozenset", "v": [1]}]}]},
        {"dtypes": []},
        {"dtypes": [1]},
        {"dtypes": ["cells"]},
        {"dtypes": [None]},
        {"dtypes": "x"},
        {"levels": 2},
        {"levels": -1},
        {"levels": True},
        {"levels": 0.0},
        {"names": []},
        {"names": [None, None]},
        {"names": None},
        {"cells": [[1, 2]]},
        {"cells": {}},
        {"cells": [1]},
        {"labels": ["a", "b"], "dtypes": ["", "cells"], "cells": [[1]]},
        {"n": 0},
        {"n": 8},
    ],
    ids=str,
)
def test_labels_that_do_not_fit_are_refused(changes: dict[str, Any]) -> None:
    data = stream(batch(ONE))
    assert decode(tag(len(data)), data)["a"].tolist() == [1, 2]
    with pytest.raises(WireError):
        decode({**tag(len(data)), **changes}, data)


def test_many_small_frames_are_refused() -> None:
    data = stream(batch(ONE))
    frames = [{**tag(len(data)), "at": place * len(data)} for place in range(1025)]
    with pytest.raises(WireError, match="cells in one value"):
        decode(frames, data * len(frames))


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "string", "object", "UInt8", "nonsense"])
@pytest.mark.parametrize(
    "array", [ONE, pa.array(["a", "b"]), pa.array([1.5, None]), pa.array([b"\xff", b""])], ids=str
)
def test_a_wrong_type_is_refused_or_left_alone(dtype: str, array: Any) -> None:
    data = stream(batch(array))
    try:
        decode(tag(len(data), dtypes=[dtype]), data)
    except WireError as error:
        assert "pandas cannot hold" in str(error)  # noqa: PT017 - both outcomes are right


def _nested(depth: int) -> Any:
    kind = pa.int8()
    for _ in range(depth):
        kind = pa.struct([pa.field("x", kind), pa.field("y", kind)])
    return kind


@pytest.mark.parametrize(
    "kinds",
    [
        [_nested(1)],
        [_nested(10)],
        [pa.list_(pa.int8())],
        [pa.map_(pa.int8(), pa.int8())],
        [pa.dictionary(pa.int8(), pa.list_(pa.int8()))],
        [pa.int8()] * (MAX_COLUMNS + 1),
    ],
    ids=["struct", "nested", "list", "map", "dictionary", "columns"],
)
def test_nested_types_and_too_many_columns_are_refused_before_any_library_reads_them(
    kinds: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = pa.schema([pa.field(str(n), kind) for n, kind in enumerate(kinds)]).empty_table()
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, empty.schema) as writer:
        writer.write_batch(
            pa.RecordBatch.from_arrays(
                [c.combine_chunks() for c in empty.columns], schema=empty.schema
            )
        )
    data = bytes(sink.getvalue())
    monkeypatch.delattr(ipc, "open_stream")
    with pytest.raises(WireError, match="not an Arrow stream"):
        decode(tag(len(data)), data)


@pytest.mark.parametrize("scale", [-20_000_000, -1001, 1001, 2**31 - 1])
def test_decimals_with_absurd_exponents_are_refused(scale: int) -> None:
    column = pa.array([1], pa.int64()).cast(pa.decimal128(38, 0))
    column = pa.Array.from_buffers(pa.decimal128(38, scale), 1, column.buffers())
    data = stream(batch(column))
    with pytest.raises(WireError, match="cannot be read"):
        decode(tag(len(data)), data)


def test_columns_of_objects_that_are_made_in_pieces_are_whole() -> None:
    texts = [None if n % 7 == 0 else str(n) for n in range(100_000)]
    frame = pd.DataFrame({"a": texts, "s": pd.array(texts, dtype="string")})
    frame["d"] = pd.Series([Decimal(n) for n in range(100_000)], dtype=object)
    blobs = bytearray()
    got = decode(encode(frame, blobs), bytes(blobs))
    pd.testing.assert_frame_equal(got, frame)


def test_what_has_to_be_hashed_at_once_is_bounded() -> None:
    many = MAX_INDEXED + 1
    index = pd.MultiIndex.from_arrays([range(many), range(many)])
    with pytest.raises(WireError, match=r"index of several levels of 100,001.*reset_index"):
        encode(pd.DataFrame({"a": range(many)}, index=index), bytearray())
    words = pd.Categorical(range(many))
    with pytest.raises(WireError, match=r"column of categories of 100,001.*astype"):
        encode(pd.DataFrame({"a": words}), bytearray())
    data = stream(batch(pa.array(range(many)).dictionary_encode()))
    with pytest.raises(WireError, match="column of categories"):
        decode(tag(len(data)), data)
    data = stream(batch(pa.array(range(many)), pa.array(range(many)), pa.array(range(many))))
    changes: dict[str, Any] = {"labels": ["a", "b", "c"], "dtypes": [""] * 3, "levels": 2}
    with pytest.raises(WireError, match="index of several levels"):
        decode(tag(len(data), **changes), data)
