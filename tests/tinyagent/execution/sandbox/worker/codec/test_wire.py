from __future__ import annotations

import json
import struct
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent.execution.sandbox.worker.codec import wire
from tinyagent.execution.sandbox.worker.codec.wire import (
    MAX_BLOB,
    MAX_JSON,
    Frame,
    FrameReader,
    Kind,
    WireError,
    pack,
)

HEADER = struct.Struct(">BII")
texts = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
bodies = st.dictionaries(texts, st.recursive(scalars, lambda inner: st.lists(inner, max_size=3)))
frames = st.builds(Frame, st.sampled_from(Kind), bodies, st.binary(max_size=50))


def framed(text: str | bytes, blob: bytes = b"", kind: int = Kind.DONE) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return HEADER.pack(kind, len(raw), len(blob)) + raw + blob


@given(st.lists(frames, max_size=5), st.integers(1, 40))
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(
    sent: list[Frame], size: int
) -> None:
    reader = FrameReader()
    stream = b"".join(map(pack, sent))
    got: list[Frame] = []
    for start in range(0, len(stream), size):
        got += reader.feed(stream[start : start + size])
    assert got == sent
    assert all(type(frame.kind) is Kind and type(frame.blob) is bytes for frame in got)


def test_a_frame_that_has_not_ended_waits() -> None:
    data = pack(Frame(Kind.ARTIFACT, {"name": "é"}, b"abc"))
    reader = FrameReader()
    assert all(reader.feed(data[place : place + 1]) == [] for place in range(len(data) - 1))
    assert reader.feed(data[-1:]) == [Frame(Kind.ARTIFACT, {"name": "é"}, b"abc")]
    assert reader.feed(b"") == []


def test_lone_surrogates_become_their_escapes() -> None:
    (frame,) = FrameReader().feed(pack(Frame(Kind.OUTPUT, {"text": "é\ud800\udc80\\ \U0001f600"})))
    assert frame.body == {"text": "é\\ud800\\udc80\\ \U0001f600"}


@pytest.mark.parametrize("body", [{"a": float("nan")}, {"a": object()}, {"a": {1, 2}}])
def test_what_is_not_json_is_not_sent(body: dict[str, Any]) -> None:
    with pytest.raises(WireError, match="the body of a DONE frame is not JSON"):
        pack(Frame(Kind.DONE, body))


def test_a_body_without_end_is_not_sent() -> None:
    body: dict[str, Any] = {}
    body["a"] = body
    with pytest.raises(WireError, match="not JSON"):
        pack(Frame(Kind.DONE, body))


def test_what_is_too_large_is_not_sent_and_the_fix_is_named() -> None:
    with pytest.raises(WireError, match=r"too large for one message: 4,194,3.* a part of it"):
        pack(Frame(Kind.DONE, {"value": "x" * MAX_JSON}))
    with pytest.raises(WireError, match="33,554,433 of data"):
        pack(Frame(Kind.DONE, {}, bytes(MAX_BLOB + 1)))


def test_the_largest_frame_passes() -> None:
    body = {"v": "x" * (MAX_JSON - len('{"v":""}'))}
    assert FrameReader().feed(pack(Frame(Kind.DONE, body, bytes(MAX_BLOB))))[0].body == body


@pytest.mark.parametrize(
    "text",
    [
        *("[]", "1", '"a"', "null", "", "{", "{} ", " {}", "{}{}", "{'a': 1}", '{"a": 1,}'),
        *('{"a": NaN}', '{"a": Infinity}', '{"a": -Infinity}', '{"a": 01}', "\ufeff{}"),
        '{"a": "\n"}',
        f'{{"a": {"9" * 21}}}',
        f'{{"a": -{"9" * 5000}}}',
        '{"a": ' + "[" * 100_000,
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        b'{"a": "\xff"}',
        b'{"a": "\xed\xa0\x80"}',
        "{}".encode("utf-16"),
        "{}".encode("utf-32"),
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_what_is_not_a_json_object_is_refused(text: str | bytes) -> None:
    with pytest.raises(WireError, match="the JSON of a DONE frame"):
        FrameReader().feed(framed(text))


@pytest.mark.parametrize("kind", [0, 11, 15, 30, 255])
def test_an_unknown_kind_is_refused(kind: int) -> None:
    with pytest.raises(WireError, match=f"unknown kind, {kind}"):
        FrameReader().feed(framed("{}", kind=kind))


@pytest.mark.parametrize(
    ("json_size", "blob_size"), [(MAX_JSON + 1, 0), (0, MAX_BLOB + 1), (2**32 - 1, 2**32 - 1)]
)
def test_a_frame_that_is_too_large_is_refused_by_its_header(json_size: int, blob_size: int) -> None:
    with pytest.raises(WireError, match="at most 4,194,304 and 33,554,432 are taken"):
        FrameReader().feed(HEADER.pack(Kind.DONE, json_size, blob_size))


def test_the_limits_count_the_bytes_of_json_and_of_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_JSON", 10)
    monkeypatch.setattr(wire, "MAX_BLOB", 3)
    reader = FrameReader()
    assert len(reader.feed(framed('{"a": 123}', b"abc"))) == 1
    with pytest.raises(WireError, match="at most 10 and 3 are taken"):
        reader.feed(framed('{"a": 1234}'))


@pytest.mark.parametrize("item", ["[],", "{},", "1,", '"",', "[[],[]],"])
def test_a_message_to_the_host_of_too_many_items_is_refused_unread(item: str) -> None:
    text = '{"value":[' + item * 251_000 + "1]}"
    with pytest.raises(WireError, match="more than 250,000 items in one message"):
        FrameReader().feed(framed(text))
    assert len(FrameReader().feed(framed(text, kind=Kind.RUN))) == 1
    body: dict[str, Any] = {"value": [[]] * 251_000}
    with pytest.raises(WireError, match="hand over a part of it, or a data frame"):
        pack(Frame(Kind.DONE, body))
    assert pack(Frame(Kind.RUN, body))


def test_a_message_to_the_host_may_have_exactly_so_many_items() -> None:
    text = '{"value":[' + "1," * (wire.MAX_MARKS - 2) + "1]}"
    assert text.count(",") + text.count("[") + text.count("{") == wire.MAX_MARKS
    for kind in (Kind.DONE, Kind.READY):
        assert len(FrameReader().feed(framed(text, kind=kind))) == 1
        with pytest.raises(WireError, match="more than 250,000 items in one message"):
            FrameReader().feed(framed(text.replace("[", "[1,"), kind=kind))


@pytest.mark.parametrize("size", [1, 7, 100, 65_536, 1 << 20])
def test_a_blob_that_comes_in_pieces_is_whole(size: int) -> None:
    sent = [
        Frame(Kind.DONE, {"n": n}, bytes([n]) * length)
        for n, length in enumerate([0, 1, 70_000, 0, 200_000, 5])
    ]
    stream = b"".join(map(pack, sent))
    if size < 100:
        stream, sent = b"".join(map(pack, sent[:2])), sent[:2]
    reader = FrameReader()
    got: list[Frame] = []
    for start in range(0, len(stream), size):
        got += reader.feed(stream[start : start + size])
    assert got == sent


def test_after_a_fault_nothing_more_is_taken() -> None:
    reader = FrameReader()
    with pytest.raises(WireError, match="unknown kind, 99"):
        reader.feed(framed("{}", kind=99))
    with pytest.raises(WireError, match="unknown kind, 99"):
        reader.feed(framed("{}"))


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ('{"a":' + "[" * 499 + "]" * 499 + "}", True),
        ('{"b":[],"a":' + "[" * 499 + "]" * 499 + "}", True),
        ('{"a":' + "[" * 500 + "]" * 500 + "}", False),
        ('{"a":' + "[" * 600 + "]" * 600 + "}", False),
        (json.dumps({"a": "[" * 600, "b": '\\"[{' * 300}), True),
        (json.dumps({"a": [[]] * 600}), True),
        ('{"a": "' + '\\"' * 200_000 + "[" * 600, False),
    ],
)
def test_a_raised_recursion_limit_does_not_let_deep_json_through(
    text: str,
    is_taken: bool,  # noqa: FBT001 - a column of the table
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "getrecursionlimit", lambda: 10**6)
    monkeypatch.setattr(wire, "_DECODER", _NoDeeperThan500())
    if is_taken:
        assert len(FrameReader().feed(framed(text))) == 1
    else:
        with pytest.raises(WireError, match="cannot be read"):
            FrameReader().feed(framed(text))


class _NoDeeperThan500(json.JSONDecoder):
    """The usual one, which must never see what is deeper."""

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        assert "[" * 501 not in s or '"' + "[" * 501 in s
        return super().raw_decode(s, idx)


def test_a_kind_says_who_may_send_it() -> None:
    to_session = {Kind.RUN, Kind.RETURN, Kind.FILE, Kind.END, Kind.PAUSE, Kind.ORDER}
    to_session |= {Kind.SEED, Kind.SCAN, Kind.TURN, Kind.BRANCH}
    assert {kind for kind in Kind if kind < 16} == to_session
    assert sys.modules["tinyagent.execution.sandbox.worker.codec.wire"] is wire
