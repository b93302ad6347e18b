from __future__ import annotations

import enum
import math
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.crossing import cross

from tinyagent.execution.sandbox.worker.codec.budget import Budget
from tinyagent.execution.sandbox.worker.codec.values import decode, decode_from_code, encode
from tinyagent.execution.sandbox.worker.codec.wire import WireError

anything = st.text(st.characters(exclude_categories=[]), max_size=300)  # lone surrogates, too
offsets = st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(timezone)
zones = st.none() | offsets
hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.binary(max_size=3000).map(lambda raw: int.from_bytes(raw, "big", signed=True))
    | st.floats(allow_nan=False)
    | anything
    | st.binary(max_size=300)
    | st.decimals(allow_nan=False)
    | st.datetimes(timezones=zones).map(lambda moment: moment.replace(fold=0))
    | st.dates()
    | st.times(timezones=zones).map(lambda moment: moment.replace(fold=0))
    | st.timedeltas(),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=8,
)
values = st.recursive(
    hashable | st.just(math.nan) | st.decimals(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(anything | st.just("$"), inner, max_size=4)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.sets(hashable, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=20,
)


@given(values)
@example(time(0, tzinfo=timezone(timedelta(microseconds=-1))))
@example(datetime(2024, 1, 1, tzinfo=timezone(timedelta(microseconds=1))))
def test_values_cross(value: Any) -> None:
    # As reprs, for NaN is not equal to itself, 1 is to True, and 1.0 to 1.
    assert _shape(cross(value)) == _shape(value)


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return "dict", [(_shape(key), _shape(item)) for key, item in value.items()]
    if isinstance(value, set | frozenset):
        return type(value), sorted((_shape(item) for item in value), key=repr)
    if isinstance(value, list | tuple):
        return type(value), [_shape(item) for item in value]
    return type(value), repr(value) if not isinstance(value, int) else hex(value)


@pytest.mark.parametrize("length", [0, 255, 256, 257, 5000])
@pytest.mark.parametrize("letter", ["a", "é", "\ud800", "\0"])
def test_strings_of_any_length_cross(length: int, letter: str) -> None:
    text = letter * length
    assert cross(text) == text
    assert cross({text: [text]}) == {text: [text]}


def test_large_parts_are_sent_next_to_the_json() -> None:
    blobs = bytearray(b"already there")
    data = encode([b"abc", "x" * 300], blobs)
    assert data == [{"$": "bytes", "at": 13, "n": 3}, {"$": "str", "at": 16, "n": 300}]
    assert bytes(blobs[13:]) == b"abc" + b"x" * 300
    assert decode(data, bytes(blobs)) == [b"abc", "x" * 300]


def test_plain_data_is_plain_json() -> None:
    value = {"a": [1, 2.5, None, True, "é"], "b": {"c": {}}}
    assert encode(value, bytearray()) == value


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Name(enum.StrEnum):
    ADA = "ada"


class Loud(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise AssertionError

    __len__ = __repr__ = __str__  # type: ignore[assignment]


class Deceiving(dict[str, int]):
    def items(self) -> Any:
        raise AssertionError

    keys = values = __iter__ = items


Pair = namedtuple("Pair", "left right")  # noqa: PYI024 - the old kind is met, too


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Level.LOW, 1),
        (Name.ADA, "ada"),
        (Pair(1, 2), (1, 2)),
        (OrderedDict(a=1), {"a": 1}),
        (defaultdict(int, {1: 2}), {1: 2}),
        (bytearray(b"ab"), b"ab"),
    ],
)
def test_kinds_of_plain_types_cross_as_these(value: Any, plain: Any) -> None:
    got = cross([value, {"k": value}])
    assert got == [plain, {"k": plain}]
    assert type(got[0]) is type(plain)


def test_what_a_subclass_says_of_itself_is_not_asked() -> None:
    (text, mapping) = cross([Loud("x"), Deceiving(a=1)])
    assert type(text) is str
    assert (text, mapping) == ("x", {"a": 1})
    assert cross(Twisted()) == "<not data, repr only> \\ud800 twisted"


def test_a_time_zone_becomes_its_offset() -> None:
    moment = datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    assert cross(moment) == moment
    assert cross(moment).tzinfo == timezone(timedelta(hours=2))
    assert cross(datetime(2024, 1, 1, tzinfo=UTC)).tzinfo is UTC
    assert cross(time(1, tzinfo=ZoneInfo("Europe/Berlin"))) == time(1)


class Failing:
    def __repr__(self) -> str:
        raise OSError


class NoZone(tzinfo):
    def utcoffset(self, _moment: datetime | None) -> timedelta:
        raise OSError

    tzname = dst = utcoffset  # type: ignore[assignment]


class Talkative:
    def __repr__(self) -> str:
        return "é" * 10_000


class Twisted:
    def __repr__(self) -> str:
        return Loud("\ud800 twisted")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Color.RED, "<Color.RED: 'red'>"),
        (1 + 2j, "(1+2j)"),
        (range(3), "range(0, 3)"),
        (Talkative(), "é" * 1997 + "..."),
        (datetime(2024, 1, 1, tzinfo=NoZone()), None),
    ],
)
def test_what_is_not_data_crosses_as_its_repr_and_reports_it(value: Any, text: str | None) -> None:
    got = cross({"k": [value]})["k"][0]
    assert got.startswith("<not data, repr only> ")
    assert text is None or got == f"<not data, repr only> {text}"


def test_a_repr_that_fails_is_reported_to_fail() -> None:
    assert "Failing object at 0x" in cross(Failing())
    assert cross(Failing()).endswith(", whose repr fails")


def test_what_contains_itself_is_described_where_it_would_begin_again() -> None:
    value: list[Any] = [1]
    value.append({"again": value})
    assert cross(value) == [1, {"again": "<not data, repr only> [1, {'again': [1, {...}]}]"}]
    twice = [1]
    assert cross([twice, twice]) == [[1], [1]]


def _nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def test_a_hundred_levels_cross_and_deeper_ones_are_described() -> None:
    assert cross(_nested(100)) == _nested(100)
    got = cross(_nested(5000))
    for _ in range(100):
        (got,) = got
    assert got.startswith("<not data, repr only> [")


def test_what_many_share_is_not_written_out_for_ever() -> None:
    value: Any = [0]
    for _ in range(60):
        value = [value, value]
    with pytest.raises(WireError, match="more than 1,000,000 items in one value; hand over"):
        encode(value, bytearray())


@pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: (inner,),
        lambda inner: {1: inner},
        lambda inner: {"$": inner},
        lambda inner: {"k": inner},
        lambda inner: frozenset({inner}),
    ],
)
def test_a_hundred_levels_of_any_kind_cross(wrap: Callable[[Any], Any]) -> None:
    value: Any = 0
    for _ in range(100):
        value = wrap(value)
    assert cross(value) == value


@pytest.mark.parametrize(
    "data",
    [
        *(math.inf, math.nan, b"x", (1,), Decimal(1)),
        *({"$": "pickle", "v": ""}, {"$": None}, {"$": []}, {"$": {}}, {"$": "tuple"}),
        {"$": "tuple", "v": [], "x": 1},
        *({"$": "tuple", "v": 1}, {"$": "tuple", "v": {}}, {"$": "set", "v": [[1]]}),
        *({"$": "set", "v": [{"$": "decimal", "v": "sNaN"}]}, {"$": "set", "v": "ab"}),
        *({"$": "dict", "v": [1]}, {"$": "dict", "v": [[1]]}, {"$": "dict", "v": [[[], 1]]}),
        *({"$": "repr", "v": 1}, {"$": "repr", "v": ["x"]}),
        *({"$": "int", "v": 1}, {"$": "int", "v": "12"}, {"$": "int", "v": "0x_1"}),
        *({"$": "float", "v": "1.5"}, {"$": "float", "v": 1.5}, {"$": "float", "v": []}),
        *({"$": "decimal", "v": "1e5"}, {"$": "decimal", "v": 1}, {"$": "decimal", "v": " 1"}),
        *({"$": "decimal", "v": "1E+99999999999999999999"}, {"$": "decimal", "v": "x"}),
        *({"$": "datetime", "v": "2024-01-01"}, {"$": "datetime", "v": 5}),
        *({"$": "date", "v": "20240101"}, {"$": "date", "v": ["2024-01-01"]}),
        *({"$": "time", "v": "T01:00"}, {"$": "time", "v": "x" * 10**6}),
        *({"$": "timedelta", "v": [1, 2]}, {"$": "timedelta", "v": [0, 0, -1]}),
        *({"$": "timedelta", "v": [10**12, 0, 0]}, {"$": "timedelta", "v": [0.0, 0, 0]}),
    ],
    ids=lambda data: ascii(data)[:40],
)
def test_what_encode_never_writes_is_refused(data: Any) -> None:
    with pytest.raises(WireError):
        decode([data], b"")


@pytest.mark.parametrize(
    ("start", "size"),
    [(-1, 2), (0, -1), (0, 5), (5, 0), (4, 1), (2**63, 2**63), (0.0, 1), (0, 1.0), (False, True),
     ("0", 1), (None, 1), ([], 1), (-(2**64), 2**64 + 1)],
)  # fmt: skip
@pytest.mark.parametrize("tag", ["str", "bytes"])
def test_a_part_outside_of_the_data_is_refused(tag: str, start: Any, size: Any) -> None:
    with pytest.raises(WireError, match="a part of the data"):
        decode({"$": tag, "at": start, "n": size}, b"abcd")


@pytest.mark.parametrize("second", [0, 1, 2])
def test_a_part_is_used_once(second: int) -> None:
    parts = [{"$": "bytes", "at": 0, "n": 3}, {"$": "bytes", "at": second, "n": 1}]
    with pytest.raises(WireError, match="used before"):
        decode(parts, b"abcd")


@pytest.mark.parametrize("letter", ["a", "é", "€", "\U0001f600", "\ud800"])
@pytest.mark.parametrize("shift", range(4))
def test_text_that_is_read_in_pieces_is_whole(letter: str, shift: int) -> None:
    text = "a" * shift + letter * 70_000
    assert cross(text) == text


def test_bytes_that_are_copied_in_pieces_are_whole() -> None:
    data = bytes(range(256)) * 1000
    assert cross([data, b"x", data]) == [data, b"x", data]


def test_code_may_send_less_than_the_host() -> None:
    encode("x" * (5 << 20), bytearray())
    with pytest.raises(WireError, match="a text of 5,242,880 bytes, at most 4,194,304"):
        encode("x" * (5 << 20), bytearray(), Budget(of_code=True))
    with pytest.raises(WireError, match="more than 250,000 items in one value"):
        encode([0] * 250_001, bytearray(), Budget(of_code=True))
    with pytest.raises(WireError, match="at most 4,194,304"):
        decode_from_code([{"$": "str", "at": 0, "n": 5 << 20}], b"x" * (5 << 20))


def test_the_fields_of_a_message_from_code_share_their_budget_and_their_data() -> None:
    half = [0] * 150_000
    decode_from_code([half], b"")
    with pytest.raises(WireError, match="more than 250,000 items"):
        decode_from_code([half, half], b"")
    part = {"$": "bytes", "at": 0, "n": 2}
    with pytest.raises(WireError, match="used before"):
        decode_from_code([part, part], b"ab")


@pytest.mark.parametrize("raw", [b"\xff" * 70_000, b"a" * 65_535 + b"\x80" * 9, b"\x80" * 99_999])
def test_long_text_that_is_not_utf8_is_refused(raw: bytes) -> None:
    with pytest.raises(WireError, match="not UTF-8"):
        decode({"$": "str", "at": 0, "n": len(raw)}, raw)


def test_text_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(WireError, match="not UTF-8"):
        decode({"$": "str", "at": 0, "n": 1}, b"\xff")


def test_deep_and_wide_values_are_refused() -> None:
    assert decode(_nested(100), b"") == _nested(100)
    with pytest.raises(WireError, match="nested deeper than 100"):
        decode(_nested(101), b"")
    with pytest.raises(WireError, match="more than 1,000,000 items"):
        decode([[0] * 500_000, [0] * 500_000], b"")


@pytest.mark.parametrize("kind", [dict, list])
def test_levels_of_any_container_are_counted(kind: type[Any]) -> None:
    value: Any = 0
    for _ in range(101):
        value = {"k": value} if kind is dict else [value]
    with pytest.raises(WireError, match="nested deeper than 100"):
        decode(value, b"")
