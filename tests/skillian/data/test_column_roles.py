import pytest

from skillian.connectors.base import ColumnType, Kind
from skillian.data.column_roles import Look, role_of
from skillian.data.definitions import Dimension, Measure

INTEGER = ColumnType("integer", "BIGINT")


@pytest.mark.parametrize("kind", ["text", "boolean", "date", "timestamp", "timestamptz"])
def test_what_cannot_be_summed_is_a_dimension(kind: Kind) -> None:
    role = role_of("total amount", ColumnType(kind, kind.upper()), Look(9, 9), "duckdb")
    assert (role.definition, role.remark) == (Dimension(column="total amount"), "")


def test_a_decimal_is_summed() -> None:
    role = role_of("HSL", ColumnType("decimal", "DECIMAL(17,2)", 2), Look(0, 0), "duckdb")
    assert role.definition == Measure(column="HSL", aggregation="sum")


@pytest.mark.parametrize(
    ("name", "is_key"),
    [
        ("company_id", True),
        ("CompanyNo", True),
        ("cost_centre", True),
        ("YEAR", True),
        ("documentCount", False),
        ("account_balance", False),
        ("QTY", False),
    ],
)
def test_the_last_telling_word_of_a_name_decides_on_whole_numbers(name: str, is_key: bool) -> None:  # noqa: FBT001
    for look in (Look(100, 100), Look(100, 1), Look(0, 0)):
        role = role_of(name, INTEGER, look, "duckdb")
        assert isinstance(role.definition, Dimension) is is_key
        assert role.remark == ""
    wide = role_of(name, ColumnType("decimal", "DECIMAL(38,0)"), Look(9, 9), "duckdb")
    assert isinstance(wide.definition, Dimension) is is_key


@pytest.mark.parametrize(
    ("look", "is_key"), [(Look(100, 100), True), (Look(100, 5), True), (Look(100, 60), False)]
)
def test_else_the_values_decide_and_it_is_to_be_checked(look: Look, is_key: bool) -> None:  # noqa: FBT001
    role = role_of("BUKRS", INTEGER, look, "duckdb")
    assert isinstance(role.definition, Dimension) is is_key
    assert role.remark.startswith("check: ")


@pytest.mark.parametrize(
    ("dialect", "cast"),
    [
        ("duckdb", 'CAST("a ""b""" AS DECIMAL(18, 2))'),
        ("postgres", 'CAST("a ""b""" AS DECIMAL(18, 2))'),
        ("mysql", 'CAST(`a "b"` AS DECIMAL(18, 2))'),
    ],
)
@pytest.mark.parametrize("kind", [ColumnType("float", "DOUBLE"), ColumnType("other", "NUMERIC")])
def test_what_is_not_exact_is_cast(kind: ColumnType, dialect: str, cast: str) -> None:
    role = role_of('a "b"', kind, Look(0, 0), dialect)
    assert role.definition == Measure(expression=cast, aggregation="sum")
    assert role.remark.startswith("check: ")


def test_what_is_neither_is_left_out() -> None:
    role = role_of("payload", ColumnType("other", "JSON"), Look(0, 0), "duckdb")
    assert (role.definition, role.remark) == (None, "left out: payload is JSON")
