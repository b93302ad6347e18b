from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.support.crossing import cross

from tinyagent.execution.sandbox.worker.codec.values import decode, encode
from tinyagent.execution.sandbox.worker.codec.wire import WireError

HUGE = [
    *(10**4300, -(10**4300), [1 << 20_000], {1 << 20_000: 1}),
    *(Decimal("1E+4300"), Decimal("1E-4301"), Decimal("1E+20000000"), Decimal("9" * 5000)),
    *(Decimal("0E-20000000"), {"a": (Decimal("1E-20000000"),)}),
]


@pytest.mark.parametrize("value", HUGE, ids=lambda value: type(value).__name__)
def test_a_number_of_too_many_digits_is_not_sent(value: Any) -> None:
    with pytest.raises(WireError, match=r"of more than 4,300 digits"):
        encode(value, bytearray())


@pytest.mark.parametrize(
    "data",
    [
        {"$": "int", "v": "0x" + "f" * 4000},
        {"$": "int", "v": "0x" + "f" * 3_000_000},
        {"$": "decimal", "v": "1E+20000000"},
        {"$": "decimal", "v": "1E-20000000"},
        {"$": "decimal", "v": "0E-20000000"},
        {"$": "decimal", "v": "9" * 3_000_000},
        {"$": "decimal", "v": "NaN" + "9" * 3_000_000},
    ],
    ids=lambda data: data["v"][:12],
)
def test_a_number_of_too_many_digits_is_refused(data: Any) -> None:
    for value in (data, {"k": [data]}, {"$": "tuple", "v": [data]}):
        with pytest.raises(WireError, match="cannot be read"):
            decode(value, b"")


@pytest.mark.parametrize(
    "value", [10**4299, -(10**4299), Decimal("1E+4299"), Decimal("-1E-4300"), Decimal("9" * 4300)]
)
def test_the_longest_numbers_cross_and_can_be_written_out(value: Any) -> None:
    assert cross(value) == value
    assert str(int(value)).strip("-0") in {"", "1", "9" * 4300}


@pytest.mark.parametrize("value", [-(2**63), -(2**63) - 1, 2**64 - 1, 2**64])
def test_a_number_of_64_bits_is_plain_and_a_larger_one_is_tagged(value: int) -> None:
    is_plain = -(2**63) <= value < 2**64
    data = encode(value, bytearray())
    assert data == (value if is_plain else {"$": "int", "v": hex(value)})
    assert cross(value) == value


def test_the_text_of_a_decimal_has_at_most_4320_characters() -> None:
    longest = {"$": "decimal", "v": "NaN" + "9" * 4317}
    assert encode(Decimal(longest["v"]), bytearray()) == longest
    assert str(decode(longest, b"")) == longest["v"]
    with pytest.raises(WireError, match=r"of more than 4,300 digits"):
        encode(Decimal("NaN" + "9" * 4318), bytearray())
    with pytest.raises(WireError, match="cannot be read"):
        decode({"$": "decimal", "v": "NaN" + "9" * 4318}, b"")


def test_the_text_of_an_integer_has_at_most_3575_characters() -> None:
    assert decode({"$": "int", "v": "0x" + "1".zfill(3573)}, b"") == 1
    with pytest.raises(WireError, match="cannot be read"):
        decode({"$": "int", "v": "0x" + "1".zfill(3574)}, b"")
