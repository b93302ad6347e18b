"""What types hold, by their texts, and how two schemas differ."""

import pytest

from skillian.connectors.base import ColumnType, Declaration, Table
from skillian.data.query.relation import split_url
from skillian.data.schema.diff import compare_schemas, pair_columns
from skillian.data.schema.engines import LogicalType
from skillian.data.schema.types import logical_type, parse_type, relation
from skillian.errors import InvalidInputError, UnknownNameError


def table(engine: str, *columns: tuple[str, str], **declared: Declaration) -> Table:
    kinds = {name: ColumnType("other", text) for name, text in columns}
    return Table("main", "t", kinds, declared, engine)


PAIRS: tuple[tuple[list[str], list[str], dict[str, str], dict[str, str]], ...] = (
    (["id", "v"], ["v", "id"], {}, {"id": "id", "v": "v"}),
    (["Id"], ["ID"], {}, {"Id": "ID"}),
    (["id", "ID"], ["ID"], {}, {"ID": "ID"}),
    (["id"], ["ID", "Id"], {}, {}),
    (["id", "ID"], ["Id"], {}, {}),
    (["old"], ["new"], {"OLD": "New"}, {"old": "new"}),
    (["v", "w"], ["v", "x"], {"v": "x"}, {"v": "x"}),
)


def test_columns_pair_by_mapping_then_name_then_case() -> None:
    for a, b, mapping, pairs in PAIRS:
        assert pair_columns(a, b, mapping) == pairs


def test_a_mapping_must_name_columns_once() -> None:
    with pytest.raises(UnknownNameError, match="no column 'x' in a"):
        pair_columns(["v"], ["w"], {"x": "w"})
    with pytest.raises(UnknownNameError, match="no column 'x' in b"):
        pair_columns(["v"], ["w"], {"v": "x"})
    with pytest.raises(InvalidInputError, match="mapped to column 'w' of b"):
        pair_columns(["v", "u"], ["w"], {"v": "w", "u": "W"})


LOSSES: tuple[tuple[str, str, str | None, bool], ...] = (
    ("postgres boolean", "mysql tinyint(1)", None, False),
    ("postgres integer", "postgres bigint", "all of its values and more", False),
    ("postgres bigint", "postgres integer", "values outside its range", True),
    ("postgres numeric(10,4)", "postgres numeric(10,2)", "loses digits", True),
    ("postgres text", "postgres character varying(5)", "what is longer", True),
    ("duckdb VARCHAR", "postgres character varying(5)", "what is longer", False),
    ("postgres integer", "postgres text", "different kinds", True),
    ("duckdb TIMESTAMP", "duckdb TIMESTAMP WITH TIME ZONE", "time zone", True),
)


def column(written: str) -> Table:
    engine, _, kind = written.partition(" ")
    return table(engine, ("v", kind))


@pytest.mark.parametrize(("a", "b", "words", "finding"), LOSSES)
def test_types_that_lose_are_findings(a: str, b: str, words: str | None, *, finding: bool) -> None:
    diff = compare_schemas(column(a), column(b))
    assert bool(diff.findings) is finding
    assert [words in sentence for sentence in diff.sentences if words] == [True] * bool(words)
    assert bool(diff.differences) is (words is not None)


def test_types_that_are_guessed_are_never_findings() -> None:
    guessed = Table("", "f", {"v": ColumnType("text", "VARCHAR")}, engine="files", inferred=True)
    diff = compare_schemas(guessed, table("postgres", ("v", "integer")))
    words = "column 'v' is read as VARCHAR in a, integer in b: values of different kinds"
    assert diff.sentences == (words,)
    assert not diff.findings
    for text in ("uuid", "json", "time without time zone", "character(3)"):
        assert not compare_schemas(guessed, table("postgres", ("v", text))).differences
    number = Table("", "f", {"v": ColumnType("integer", "BIGINT")}, engine="files", inferred=True)
    assert not compare_schemas(number, table("postgres", ("v", "numeric(10,2)"))).differences


def test_null_order_collation_and_key_are_differences_but_not_findings() -> None:
    a = table(
        "mysql",
        *(("id", "int"), ("v", "text"), ("w", "int")),
        id=Declaration(nullable=False, key=1),
        v=Declaration(nullable=True, collation="utf8mb4_general_ci"),
        w=Declaration(nullable=True),
    )
    b = table(
        "mysql",
        *(("id", "int"), ("w", "int"), ("v", "text")),
        id=Declaration(nullable=False),
        v=Declaration(nullable=True, collation="utf8mb4_bin"),
        w=Declaration(nullable=False, key=1),
    )
    diff = compare_schemas(a, b, names=("one", "two"))
    words = {
        "collation": "utf8mb4_general_ci in one, utf8mb4_bin in two",
        "nullability": "'w' may be NULL in one, but not in two",
        "order": "of one and two are in another order, from 'v'",
        "primary key": "is id in one, w in two",
    }
    assert [each.aspect for each in diff.differences] == [*words]
    assert all(each in said for each, said in zip(words.values(), diff.sentences, strict=True))
    assert not diff.findings


def test_a_column_without_the_right_to_read_it_is_a_finding_on_its_side_only() -> None:
    whole = table("postgres", ("id", "int4"), ("v", "text"))
    partly = table("postgres", ("id", "int4"), v=Declaration("text"))
    for a, b, count in ((whole, partly, 1), (partly, whole, 1), (partly, partly, 2)):
        diff = compare_schemas(a, b)
        assert [(each.column_a, each.column_b) for each in diff.findings] == [("v", "v")] * count
        assert (diff.only_in_a, diff.only_in_b) == ((), ())
        assert not compare_schemas(a, b, ignore=["v"]).differences


def test_collations_of_two_engines_differ_only_if_one_ignores_case() -> None:
    ignoring = table("mysql", ("v", "text"), v=Declaration(collation="utf8mb4_general_ci"))
    exact = table("mysql", ("v", "text"), v=Declaration(collation="utf8mb4_bin"))
    postgres = table("postgres", ("v", "character varying(16383)"), v=Declaration(collation="C"))
    for table_a, aspects in ((ignoring, ["type", "collation"]), (exact, ["type"])):
        found = compare_schemas(table_a, postgres).differences
        assert [each.aspect for each in found] == aspects


URLS = {
    "duckdb:///a.duckdb#main.t": ("duckdb:///a.duckdb", "main.t"),
    "postgres://u:p#w@host/db": ("postgres://u:p#w@host/db", ""),
    "postgres://u:p#w@host/db#t": ("postgres://u:p#w@host/db", "t"),
    "duckdb:///a.duckdb#a%23b%2Fc": ("duckdb:///a.duckdb", "a#b/c"),
    "file.csv": ("file.csv", ""),
}


def test_the_table_follows_the_url() -> None:
    assert {text: split_url(text) for text in URLS} == URLS


MAY_FIT = (
    ("postgres text", "mysql varchar(20)", False),
    ("postgres bigint", "mysql int", False),
    ("postgres timestamp without time zone", "mysql date", False),
    ("postgres timestamp with time zone", "duckdb TIMESTAMP", True),
    ("postgres text", "postgres character varying(20)", True),
    ("postgres integer", "duckdb VARCHAR", True),
)


def test_what_may_be_lost_between_two_engines_is_none_if_every_value_fits() -> None:
    for a, b, is_finding in MAY_FIT:
        diff = compare_schemas(column(a), column(b))
        assert len(diff.findings) == 1
        assert bool(diff.where_values_fit(["v"]).findings) == is_finding, (a, b)
        assert diff.where_values_fit([]) == diff


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
