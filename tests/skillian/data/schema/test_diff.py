"""How two schemas differ."""

import pytest

from skillian.connectors.base import ColumnType, Declaration, Table
from skillian.data.query.relation import split_url
from skillian.data.schema.diff import compare_schemas, pair_columns
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
    ("duckdb INTEGER", "postgres integer", None, False),
    ("postgres boolean", "mysql tinyint(1)", None, False),
    ("postgres bigint", "sqlite INTEGER", None, False),
    ("mysql varchar(10)", "postgres character varying(10)", None, False),
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
    assert [each.aspect for each in diff.differences] == [
        *("collation", "nullability", "order", "primary key")
    ]
    assert diff.sentences == (
        "column 'v' has the collation utf8mb4_general_ci in one, utf8mb4_bin in two",
        "column 'w' may be NULL in one, but not in two",
        "the columns of one and two are in another order, from 'v'",
        "the primary key is id in one, w in two",
    )
    assert not diff.findings


def test_collations_of_two_engines_differ_only_if_one_ignores_case() -> None:
    ignoring = table("mysql", ("v", "text"), v=Declaration(collation="utf8mb4_general_ci"))
    exact = table("mysql", ("v", "text"), v=Declaration(collation="utf8mb4_bin"))
    postgres = table("postgres", ("v", "character varying(16383)"), v=Declaration(collation="C"))
    assert [d.aspect for d in compare_schemas(ignoring, postgres).differences] == [
        *("type", "collation")
    ]
    assert [d.aspect for d in compare_schemas(exact, postgres).differences] == ["type"]


URLS = {
    "duckdb:///a.duckdb#main.t": ("duckdb:///a.duckdb", "main.t"),
    "postgres://u:p#w@host/db": ("postgres://u:p#w@host/db", ""),
    "postgres://u:p#w@host/db#t": ("postgres://u:p#w@host/db", "t"),
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
