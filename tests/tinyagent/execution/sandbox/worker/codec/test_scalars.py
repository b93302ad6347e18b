from __future__ import annotations

import subprocess
import sys
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from tinyagent.execution.sandbox.worker.codec.scalars import as_python
from tinyagent.execution.sandbox.worker.codec.values import decode, encode

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")

MOMENT = datetime.fromisoformat("2024-01-02T03:04:05.000006")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.int8(3), 3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float32(1.5), 1.5),
        (np.float64(1.5), 1.5),
        (np.longdouble(1.5), 1.5),
        (np.bool_(1), True),
        (np.str_("x"), "x"),
        (np.bytes_(b"x"), b"x"),
        (np.datetime64("2024-01-02"), date(2024, 1, 2)),
        (np.datetime64("2024-01-02T03:04:05.000006789"), MOMENT),
        (np.timedelta64(1500, "ns"), timedelta(microseconds=1)),
        (np.datetime64("NaT"), None),
        (pd.NaT, None),
        (pd.NA, None),
        (pd.Timestamp("2024-01-02 03:04:05.000006"), MOMENT),
        (pd.Timedelta(hours=1), timedelta(hours=1)),
    ],
)
def test_scalars_of_libraries_cross_as_those_of_python(value: Any, plain: Any) -> None:
    blobs = bytearray()
    data = encode([value, {"k": value}], blobs)
    got = decode(data, bytes(blobs))
    assert got == [plain, {"k": plain}]
    assert type(got[0]) is type(plain)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.arange(2), "array([0, 1])"),
        (np.complex64(1j), "np.complex64(1j)"),
        (np.datetime64("300000-01-01"), "np.datetime64('300000-01-01')"),
        (pd.Interval(0, 1), "Interval(0, 1, closed='right')"),
        (pd.Series([], dtype=float, name="s"), "Series([], Name: s, dtype: float64)"),
    ],
    ids=["array", "complex", "far date", "interval", "series"],
)
def test_what_python_has_no_word_for_is_described(value: Any, text: str) -> None:
    assert encode(value, bytearray()) == {"$": "repr", "v": text}


def test_what_is_not_foreign_stays_what_it_is() -> None:
    for value in (None, 1, "x", [1], object()):
        assert as_python(value) is value


def test_no_library_is_loaded_to_encode_plain_values() -> None:
    program = (
        "import sys\n"
        "from tinyagent.execution.sandbox.worker.codec.values import decode, encode\n"
        "decode(encode([1, {'a': object()}, {2: (3,)}], bytearray()), b'')\n"
        "print(*{'numpy', 'pandas', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b""
