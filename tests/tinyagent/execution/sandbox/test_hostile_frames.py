"""What a hostile session may send: the host answers all of it with WireError, in bounded memory."""

from __future__ import annotations

import json
import random
import resource
import struct
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tinyagent.execution.sandbox.channel import ENCODED, read
from tinyagent.execution.sandbox.worker.codec.values import encode
from tinyagent.execution.sandbox.worker.codec.wire import Frame, FrameReader, Kind, WireError, pack

FRAMES = 100_000
TABLES = 3_000
MAX_GROWTH = 256 << 20
HEADER = struct.Struct(">BII")
DONE = {
    "error": None,
    "out_of_memory": False,
    "value": 1,
    "value_text": "1",
    "tail": "",
    "skipped": 0,
    "remarks": ["a remark"],
    "token": "",
}
RICH: dict[str, Any] = {
    "text": "naïve \ud800 " * 30,
    "keyed": {1: (2, {3.5}), None: frozenset({b"x"})},
    "numbers": [2**80, float("nan"), -1.5, True],
    "bytes": b"\0\1" * 50,
    "$": {"$": 1},
}
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**19, 1.5, 1e308, -0.0),
    *("", "$", "nan", "\ud800", "0x" + "f" * 90, [], {}, [[]]),
    *({"$": "str"}, {"$": []}, {"$": "bytes", "at": 0, "n": 1}),
    *({"$": "tuple", "v": [1]}, {"$": "dict", "v": [[1, 2]]}, {"$": "set", "v": [[]]}),
    *({"$": "int", "v": "0x1"}, {"$": "decimal", "v": "1e9"}, {"$": "datetime", "v": "9999"}),
    {"$": "timedelta", "v": [10**9, 0, 0]},
]


def receive(data: bytes) -> list[Any]:
    """What the host makes of the bytes: each frame is checked, and its values are decoded."""
    values = []
    for packet in FrameReader().split(data):
        frame = read(packet)
        for name in ENCODED.get(frame.kind, ()):
            value = frame.body[name]
            assert name != "args" or type(value) is list
            assert name not in {"kwargs", "metadata"} or type(value) is dict
            values.append(value)
    return values


def _samples() -> list[Frame]:
    blobs = bytearray()
    value = encode(RICH, blobs)
    final = {"value": value, "metadata": encode({"unit": "EUR", "raw": b"x" * 9}, blobs)}
    call_blobs = bytearray()
    args = encode([RICH, "x"], call_blobs)
    call = {"id": 3, "name": "look_up", "args": args, "kwargs": {"key": [1, "a"]}}
    return [
        Frame(Kind.READY, {}),
        Frame(Kind.FORKED, {"pid": 77}),
        Frame(Kind.OUTPUT, {"text": "one\ntwo é"}),
        Frame(Kind.CALL, call, bytes(call_blobs)),
        Frame(Kind.FINAL, final, bytes(blobs)),
        Frame(Kind.ARTIFACT, {"name": "plot.png", "media_type": "image/png"}, b"\x89PNG"),
        Frame(Kind.DONE, DONE),
        Frame(Kind.EXITED, {"pid": 77, "status": 9}),
        Frame(Kind.SWEPT, {"killed": 2, "memory": False, "pool": ""}),
        Frame(Kind.FAILED, {"error": "no"}),
    ]


def _table_frame() -> Frame:
    pd = pytest.importorskip("pandas")
    columns = {
        "n": [1, 2, 3],
        "f": [1.5, None, 2.5],
        "s": ["a", None, "é"],
        "t": pd.date_range("2024-01-01", periods=3, tz="Europe/Berlin"),
        "c": pd.Categorical(["x", "y", "x"]),
        "i": pd.array([1, None, 3], dtype="Int64"),
        "o": [1, "a", [2]],
    }
    blobs = bytearray()
    value = encode(pd.DataFrame(columns, index=["p", "q", "r"]), blobs)
    return Frame(Kind.FINAL, {"value": value, "metadata": {}}, bytes(blobs))


SAMPLES = _samples()


def _noise(rng: random.Random) -> bytes:
    return rng.randbytes(rng.randrange(40))


def _noise_in_a_frame(rng: random.Random) -> bytes:
    text = rng.randbytes(rng.randrange(30))
    blob = rng.randbytes(rng.randrange(10))
    return HEADER.pack(rng.choice(list(Kind)), len(text), len(blob)) + text + blob


def _cut(rng: random.Random) -> bytes:
    data = pack(rng.choice(SAMPLES))
    return data[: rng.randrange(len(data))]


def _with_bytes_changed(rng: random.Random) -> bytes:
    return _changed(rng, pack(rng.choice(SAMPLES)))


def _changed(rng: random.Random, whole: bytes) -> bytes:
    data = bytearray(whole)
    for _ in range(rng.randrange(1, 6)):
        place = rng.randrange(len(data))
        action = rng.randrange(4)
        if action == 0:
            data[place] = rng.randrange(256)
        elif action == 1:
            data[place] ^= 1 << rng.randrange(8)
        elif action == 2:
            data[place:place] = data[: rng.randrange(20)]
        else:
            del data[place : place + rng.randrange(9)]
        data = data or bytearray(b"\0")
    return bytes(data)


def _with_another_header(rng: random.Random) -> bytes:
    sizes = [0, 1, 100, 4 << 20, (4 << 20) + 1, 32 << 20, (32 << 20) + 1, 2**32 - 1]
    return HEADER.pack(rng.randrange(256), rng.choice(sizes), rng.choice(sizes)) + b"{}"


def _with_json_changed(rng: random.Random) -> bytes:
    kind, body, blob = rng.choice(SAMPLES)
    body = json.loads(json.dumps(body))
    for _ in range(rng.randrange(1, 4)):
        _change(rng, body)
    raw = json.dumps(body, allow_nan=True).encode()
    return HEADER.pack(kind, len(raw), len(blob)) + raw + blob


def _change(rng: random.Random, data: Any) -> None:
    """Go down to some place and put something odd there."""
    while True:
        keys = list(data) if isinstance(data, dict) else list(range(len(data)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(data[key], dict | list) and data[key] and rng.random() < 0.7:
            data = data[key]
            continue
        if isinstance(data, dict) and rng.random() < 0.2:
            data[rng.choice(["$", "v", "at", "n", "x"])] = data.pop(key)
        else:
            data[key] = json.loads(json.dumps(rng.choice(ODD)))
        return


ATTACKS: list[Callable[[random.Random], bytes]] = [
    _noise,
    _noise_in_a_frame,
    _cut,
    _with_bytes_changed,
    _with_another_header,
    _with_json_changed,
]


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def test_nothing_but_a_wire_error_comes_of_a_hundred_thousand_frames() -> None:
    rng = random.Random(20)  # noqa: S311 - the same frames each time
    before = _peak()
    outcomes: Counter[tuple[str, str]] = Counter()
    for number in range(FRAMES):
        attack = ATTACKS[number % len(ATTACKS)]
        try:
            receive(attack(rng))
        except WireError:
            outcomes[attack.__name__, "refused"] += 1
        else:
            outcomes[attack.__name__, "taken"] += 1
    assert _peak() - before < MAX_GROWTH
    assert outcomes["_with_json_changed", "refused"] > 1_000
    assert outcomes["_with_json_changed", "taken"] > 1_000


def test_nothing_but_a_wire_error_comes_of_corrupted_data_frames() -> None:
    rng = random.Random(21)  # noqa: S311 - as above
    frame = _table_frame()
    assert receive(pack(frame))
    before = _peak()
    outcomes: Counter[str] = Counter()
    for _ in range(TABLES):
        changed = bytearray(frame.blob)
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(len(changed))
            changed[place] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, changed[place] ^ 1])
        try:
            receive(pack(frame._replace(blob=bytes(changed))))
        except WireError as error:
            outcomes[str(error)] += 1
        else:
            outcomes["taken"] += 1
    assert _peak() - before < MAX_GROWTH
    assert outcomes["taken"] > 0
    assert outcomes["a data frame whose columns cannot be read"] > 0
