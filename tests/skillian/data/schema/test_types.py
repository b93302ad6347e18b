"""What a column can hold, by the text of its type."""

import pytest

from skillian.connectors.base import ColumnType, Declaration, Table
from skillian.data.schema.engines import LogicalType
from skillian.data.schema.types import logical_type, parse_type, relation

# Engine, text in the catalogue, and the facts that count.
CASES: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("duckdb", "ENUM('a', 'it''s, or')", {"family": "text", "members": ("a", "it's, or")}),
    ("duckdb", "TIMESTAMP WITH TIME ZONE", {"family": "timestamptz", "digits": 6}),
    ("duckdb", "INTEGER[3]", {"family": "array", "length": 3}),
    ("duckdb", "UNION(a INTEGER)", {"family": "other", "name": "UNION(a INTEGER)"}),
    ("postgres", "numeric", {"family": "decimal", "digits": None, "scale": None}),
    ("postgres", "numeric(3,-2)", {"family": "decimal", "digits": 3, "scale": -2}),
    ("postgres", "timestamp(3) with time zone", {"family": "timestamptz", "digits": 3}),
    ("postgres", "interval day to second(3)", {"family": "interval"}),
    ("postgres", "bit varying(8)", {"family": "bits", "length": 8, "fixed": False}),
    ("postgres", '"char"', {"family": "text", "length": 1}),
    ("postgres", "public.mood", {"family": "other"}),
    ("mysql", "int(11)", {"family": "integer", "low": -(2**31)}),
    ("mysql", "int(10) unsigned zerofill", {"family": "integer", "low": 0, "high": 2**32 - 1}),
    ("mysql", "decimal(10,2) unsigned", {"family": "decimal", "digits": 10, "scale": 2}),
    ("mysql", "tinyint(4)", {"family": "integer", "high": 127}),
    ("mysql", "enum('x','Y')", {"family": "text", "members": ("x", "Y")}),
    ("mysql", "set('x','y')", {"family": "text", "members": ("x", "y"), "name": "set"}),
    ("sqlite", "VARCHAR (10)", {"family": "text", "length": 10}),
    ("sqlite", "NATIVE CHARACTER(70)", {"family": "text", "length": 70}),
    ("sqlite", "unsigned big int", {"family": "integer", "high": 2**63 - 1}),
    ("sqlite", "Double Precision", {"family": "float", "digits": 53}),
    ("sqlite", "", {"family": "other", "name": "untyped"}),
    ("spark", "interval day to second", {"family": "interval"}),
    ("clickhouse", "Nullable(DateTime64(9, 'UTC'))", {"family": "timestamptz", "high": 2261}),
    ("clickhouse", "LowCardinality(Nullable(String))", {"family": "text", "open": True}),
    ("clickhouse", "Enum8('a' = 1, 'b, c' = 2)", {"family": "text", "members": ("a", "b, c")}),
)


@pytest.mark.parametrize(("engine", "text", "facts"), CASES, ids=[f"{c[0]} {c[1]}" for c in CASES])
def test_the_text_of_a_type_says_what_it_holds(
    engine: str, text: str, facts: dict[str, object]
) -> None:
    parsed = parse_type(engine, text)
    assert {name: getattr(parsed, name) for name in facts} == facts


PARTS: tuple[tuple[str, str, list[tuple[str, str]]], ...] = (
    ("duckdb", 'STRUCT(a INTEGER, "b c" DECIMAL(10,2))', [("a", "integer"), ("b c", "decimal")]),
    ("spark", "struct<a:int,b:map<string,decimal(10,2)>>", [("a", "integer"), ("b", "map")]),
    ("clickhouse", "Tuple(a Int32, b String)", [("a", "integer"), ("b", "text")]),
    ("clickhouse", "Tuple(Int32, Decimal(18, 4))", [("1", "integer"), ("2", "decimal")]),
    ("duckdb", "MAP(VARCHAR, INTEGER[])", [("", "text"), ("", "array")]),
    ("postgres", "character varying(10)[]", [("", "text")]),
)


def test_parts_of_a_nested_type_are_types() -> None:
    for engine, text, fields in PARTS:
        assert [(name, kind.family) for name, kind in parse_type(engine, text).parts] == fields


def test_the_declaration_has_precedence_over_the_type_that_statements_read() -> None:
    read = {"v": ColumnType("text", "VARCHAR")}
    table = Table("main", "t", read, {"v": Declaration("VARCHAR(10)")}, "sqlite")
    assert logical_type(table, "v").length == 10
    assert logical_type(Table("main", "t", read, engine="duckdb"), "v").length is None


def test_an_engine_that_is_not_known_here_has_types_by_their_kind() -> None:
    kinds = {"n": ColumnType("decimal", "DEC", 4), "x": ColumnType("other", "GEO")}
    table = Table("", "t", kinds, engine="hana")
    assert logical_type(table, "n") == LogicalType("decimal", digits=38, scale=4)
    assert logical_type(table, "x") == LogicalType("other", name="GEO")


# A type, another that is to hold its values, and how they are related.
NESTED = (
    ("duckdb INTEGER[]", "duckdb BIGINT[]", "widens"),
    ("duckdb BIGINT[]", "duckdb INTEGER[]", "loses"),
    ("duckdb VARCHAR[]", "duckdb INTEGER[]", "differs"),
    ("duckdb INTEGER[]", "duckdb INTEGER[][]", "differs"),
    ("duckdb INTEGER[3]", "duckdb INTEGER[]", "widens"),
    ("duckdb INTEGER[]", "duckdb INTEGER[3]", "loses"),
    # PostgreSQL states no depth.
    ("duckdb INTEGER[][]", "postgres integer[]", "widens"),
    ("postgres integer[]", "duckdb INTEGER[]", "equivalent"),
    ("postgres numeric(10,2)[]", "duckdb INTEGER[]", "loses"),
    ("duckdb STRUCT(a INTEGER)", "duckdb STRUCT(A BIGINT)", "widens"),
    ("duckdb STRUCT(a INTEGER)", "duckdb STRUCT(a INTEGER, b INTEGER)", "widens"),
    ("duckdb STRUCT(a INTEGER, b INTEGER)", "duckdb STRUCT(a INTEGER)", "loses"),
    ("duckdb STRUCT(a INTEGER)", "duckdb STRUCT(a VARCHAR)", "differs"),
    ("duckdb STRUCT(a INTEGER)[]", "duckdb STRUCT(a BIGINT)[]", "widens"),
    ("duckdb STRUCT(a INTEGER)[]", "duckdb STRUCT(a INTEGER)", "differs"),
    ("duckdb MAP(VARCHAR, BIGINT)", "duckdb MAP(VARCHAR, INTEGER)", "loses"),
    ("duckdb MAP(VARCHAR, INTEGER)", "duckdb MAP(INTEGER, INTEGER)", "differs"),
)


def test_nested_types_are_related_as_their_parts_are() -> None:
    for a, b, kind in NESTED:
        one, other = (parse_type(*text.split(" ", 1)) for text in (a, b))
        assert relation(one, other).kind == kind, (a, b)
