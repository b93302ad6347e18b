from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from skillian.connectors.base import ColumnType
from skillian.data.sql.values import Value, coerce, jsonable
from skillian.errors import InvalidInputError

TYPES = {
    "text": ColumnType("text", "VARCHAR"),
    "integer": ColumnType("integer", "BIGINT"),
    "decimal": ColumnType("decimal", "DECIMAL(17,2)", 2),
    "boolean": ColumnType("boolean", "BOOLEAN"),
    "date": ColumnType("date", "DATE"),
    "timestamp": ColumnType("timestamp", "TIMESTAMP"),
    "timestamptz": ColumnType("timestamptz", "TIMESTAMP WITH TIME ZONE"),
    "other": ColumnType("other", "BLOB"),
}


@pytest.mark.parametrize(
    ("kind", "given", "typed"),
    [
        ("text", "1001", "1001"),
        ("text", 1001, "1001"),
        ("text", "o'neil\x00", "o'neil\x00"),
        ("text", date(2024, 1, 31), "2024-01-31"),
        ("integer", "007", 7),
        ("integer", 7.0, 7),
        ("integer", 2**100, 2**100),
        ("decimal", 0.1, Decimal("0.1")),
        ("decimal", " -12.50 ", Decimal("-12.50")),
        ("decimal", 5, Decimal(5)),
        ("boolean", "True", True),
        ("boolean", False, False),
        ("date", "2024-01-31", date(2024, 1, 31)),
        ("timestamp", "2024-01-31T10:00", datetime(2024, 1, 31, 10)),  # noqa: DTZ001 - a time without zone
        ("timestamptz", "2024-01-31T10:00+02:00", datetime(2024, 1, 31, 8, tzinfo=UTC)),
    ],
)
def test_values_take_the_type_of_the_column(kind: str, given: object, typed: Value) -> None:
    value = coerce("x", given, TYPES[kind])
    assert (value, type(value)) == (typed, type(typed))


REFUSED: dict[str, tuple[object, ...]] = {
    "decimal": ("abc", "NaN", "1e999999", "1e-40", "1e-30000000000", "0e30000000000", True),
    "integer": ("1.5", "9" * 39),
    "text": (1.5, True, "\ud800", ["x"]),
    "boolean": (1,),
    "date": ("31.01.2024", 20240131),
    "timestamp": ("2024-01-31T10:00+02:00",),
    "timestamptz": ("2024-01-31T10:00", "0001-01-01T00:00:00+05:00"),
    "other": (b"x",),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_value_of_another_type_is_refused_by_name(kind: str) -> None:
    for given in REFUSED[kind]:
        with pytest.raises(InvalidInputError) as refused:
            coerce("company", given, TYPES[kind])
        assert str(refused.value).startswith(f"'company' ({TYPES[kind].sql}) takes ")
        assert repr(given) in str(refused.value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Decimal("1E+3"), "1000"),
        (Decimal("0.10"), "0.10"),
        (2**53, 2**53),
        (2**53 + 1, "9007199254740993"),
        (True, True),
        (date(2024, 1, 31), "2024-01-31"),
        (None, None),
    ],
)
def test_json_loses_no_digit(value: object, written: object) -> None:
    assert jsonable(value) == written
    assert type(jsonable(value)) is type(written)
