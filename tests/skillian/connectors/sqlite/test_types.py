"""Values of SQLite, against Python's own exact reading of them; columns that a statement reads."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillian.connectors.base import ColumnType, Table
from skillian.connectors.sqlite.reader import used_columns
from skillian.connectors.sqlite.types import UnfitError, array_of, declared_type

stored = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.decimals(-(10**9), 10**9, places=2).map("{:f}".format)
    | st.dates().map(str)
    | st.datetimes().map(str)
    | st.sampled_from(["true", "0", "1e3", " 1", "x", "20240131", "2024-01-31 10:00Z"])
    | st.binary(max_size=3)
)


def _integer(value: Any) -> object:
    return value if type(value) is int else None


def _text(value: Any) -> object:
    return None if isinstance(value, bytes) else str(value)


def _decimal(value: Any) -> object:
    try:
        number = Decimal(_text(value) or "")  # type: ignore[arg-type]
    except InvalidOperation:
        return None
    fits = number.is_finite() and number.adjusted() < 36
    if not fits or " " in str(value):
        return None
    return number if number == 0 or int(number.as_tuple().exponent) >= -2 else None


def _date(value: Any) -> object:
    try:
        found = date.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return found if str(found) == value else None


READERS: dict[str, Callable[[Any], object]] = {
    "INTEGER": _integer,
    "TEXT": _text,
    "DECIMAL(17,2)": _decimal,
    "DATE": _date,
}


@pytest.mark.parametrize("declared", READERS)
@given(values=st.lists(stored, max_size=6))
def test_a_value_is_read_exactly_or_named(declared: str, values: list[Any]) -> None:
    expected = [None if value is None else READERS[declared](value) for value in values]
    unfit = [
        value
        for value, read in zip(values, expected, strict=True)
        if value is not None and read is None
    ]
    if unfit:
        with pytest.raises(UnfitError) as refused:
            array_of(values, declared_type(declared))
        assert refused.value.value == unfit[0]
    else:
        assert array_of(values, declared_type(declared)).to_pylist() == expected


# None is a time without a zone.
ZONES = (None, UTC, timezone(timedelta(hours=2)))
WITHIN = datetime(1, 1, 2), datetime(9999, 12, 30)  # noqa: DTZ001 - in each zone


@given(st.lists(st.datetimes(*WITHIN, timezones=st.sampled_from(ZONES)), min_size=1))
def test_times_are_read_with_or_without_their_zone(moments: list[datetime]) -> None:
    zoned = [moment for moment in moments if moment.tzinfo]
    local = [moment for moment in moments if not moment.tzinfo]
    for declared, expected in (("TIMESTAMPTZ", zoned), ("DATETIME", local)):
        texts = [moment.isoformat(" ") for moment in expected]
        assert array_of(texts, declared_type(declared)).to_pylist() == expected
    if zoned:
        with pytest.raises(UnfitError):
            array_of([str(zoned[0])], declared_type("DATETIME"))


@pytest.mark.parametrize(
    "value", [3.437195625464025e36, -3.5e36, 1e300, "2e37", "1e999999999", "e", "35" + "0" * 35]
)
def test_a_number_with_too_many_digits_is_not_changed_into_another(value: object) -> None:
    with pytest.raises(UnfitError):
        array_of([1.5, value], declared_type("DECIMAL(17,2)"))
    assert array_of([1.25e20], declared_type("DECIMAL(17,2)")).to_pylist() == [Decimal("1.25e20")]


TEXT = ColumnType("text", "VARCHAR")
TABLES = (
    Table("main", "t", {"a": TEXT, "b": TEXT, "C": TEXT}),
    Table("main", "other", {"a": TEXT, "x y": TEXT}),
)


@pytest.mark.parametrize(
    ("statement", "used"),
    [
        ("SELECT a FROM t", {"t": ("a",)}),
        ('SELECT "T"."c", SUM(B) FROM "main"."T" GROUP BY 1', {"t": ("b", "C")}),
        ("SELECT COUNT(*) FROM t", {"t": ("a",)}),
        ("SELECT * FROM t", {"t": ("a", "b", "C")}),
        ("SELECT u.* FROM t AS u", {"t": ("a", "b", "C")}),
        ("SELECT u FROM t AS u", {"t": ("a", "b", "C")}),
        ("WITH q AS (SELECT b FROM t) SELECT * FROM q", {"t": ("b",)}),
        ("SELECT b FROM t JOIN other USING (a)", {"t": ("a", "b"), "other": ("a",)}),
        ("SELECT b FROM t NATURAL JOIN other", {"t": ("a", "b", "C"), "other": ("a", "x y")}),
        ('SELECT b FROM t WHERE EXISTS (SELECT 1 FROM other WHERE "x y" = t.a)',
         {"t": ("a", "b"), "other": ("a", "x y")}),
        ("SELECT 1", {}),
        ("SELECT (", {}),
    ],
)  # fmt: skip
def test_used_columns(statement: str, used: dict[str, tuple[str, ...]]) -> None:
    assert used_columns(statement, TABLES) == used
