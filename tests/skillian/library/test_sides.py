"""What `skillian.compare` compares: data frames of each kind, files, databases, queries."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
import pytest
from tests.support.postgres import Database

import skillian
from skillian.errors import InvalidInputError, QueryError, SkillianError

_arrow: Any = pa  # pyarrow carries no types
ROWS: dict[str, list[Any]] = {
    "id": [1, 2, 3],
    "name": ["Ann", "Bob", None],
    "amount": [Decimal("1.10"), Decimal("2.20"), None],
    "day": [date(2026, 1, 1), None, date(2026, 1, 3)],
    "at": [datetime(2026, 1, 1, 12, tzinfo=UTC), None, datetime(2026, 1, 3, tzinfo=UTC)],
    "open": [True, False, None],
}
MORNING = datetime.fromisoformat("2024-01-01 05:00")
OTHER = ROWS | {"name": ["Ann", "Bobby", None]}
KINDS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "arrow": _arrow.table,
    "reader": lambda rows: _arrow.table(rows).to_reader(),
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pandas": pd.DataFrame,
    "pandas of Arrow": lambda rows: _arrow.table(rows).to_pandas(types_mapper=pd.ArrowDtype),
    "relation": lambda rows: _relation(_arrow.table(rows)),
}


def _relation(table: Any) -> Any:
    return duckdb.connect().from_arrow(table)


def _objects(*values: Any) -> Any:
    return pd.DataFrame({"v": pd.Series(values, dtype=object)})


def _failing() -> Any:
    batches = (1 // each for each in (0,))
    return _arrow.RecordBatchReader.from_batches(_arrow.schema({"v": _arrow.int64()}), batches)


def _of_arrow(values: list[Any], kind: Any) -> Any:
    return _arrow.table({"v": _arrow.array(values, kind)})


def _extended(name: str, parameters: str) -> Any:
    """The schema of a column `v` of an extension type that nobody has registered."""
    metadata = {"ARROW:extension:name": name, "ARROW:extension:metadata": parameters}
    return _arrow.schema([_arrow.field("v", _arrow.int64(), metadata=metadata)])


_MONTHS = pd.PeriodIndex(["2020-01"], freq="M")
_TO_NUMBER = _arrow.map_(_arrow.string(), _arrow.int64())
_NOT_UTF8 = _arrow.array([b"\xff"]).view(_arrow.string())


@pytest.mark.parametrize("other", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_each_kind_are_compared_with_each_other(kind: str, other: str) -> None:
    a, b = KINDS[kind], KINDS[other]
    assert skillian.compare(a(ROWS), b(ROWS), key="id").equal
    found = skillian.compare(a(ROWS), b(OTHER), key="id")
    assert [row["name b"] for row in found.rows().to_arrow().to_pylist()] == ["Bobby"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            _arrow.array(["x", "y"]).dictionary_encode(),
            _arrow.array(["x", "z"]).dictionary_encode(),
        ),
        (
            _arrow.array(["x", "y"], _arrow.large_string()),
            _arrow.array(["x", "z"], _arrow.string_view()),
        ),
        (_arrow.array([[1, 2], [3]]), _arrow.array([[1, 2], [4]])),
        (_arrow.array([{"p": 1}, {"p": 2}]), _arrow.array([{"p": 1}, {"p": 3}])),
        (_arrow.array([b"x", b"y"]), _arrow.array([b"x", b"z"], _arrow.large_binary())),
        (_arrow.array([time(1), time(2)]), _arrow.array([time(1), time(3)])),
        (_arrow.array([1.5, 2.5], _arrow.float16()), _arrow.array([1.5, 2.0], _arrow.float32())),
        (
            _arrow.array([Decimal("1.10"), Decimal("2.20")], _arrow.decimal256(40, 2)),
            _arrow.array([Decimal("1.1"), Decimal("2.3")], _arrow.decimal64(5, 1)),
        ),
        (_arrow.array([1, 2], _arrow.uint64()), _arrow.array([1, 3], _arrow.int8())),
        (
            _arrow.array([1, 2], _arrow.timestamp("ns")),
            _arrow.array([1, 3], _arrow.timestamp("ns")),
        ),
        (
            _arrow.array([1, 2], _arrow.timestamp("s", "Europe/Berlin")),
            _arrow.array([1, 3], _arrow.timestamp("s", "UTC")),
        ),
        (_arrow.array([float("nan"), 1.0]), _arrow.array([float("nan"), float("inf")])),
        (_arrow.nulls(2), _arrow.array([None, "x"])),
        (_arrow.array([None, {"x": None}]), _arrow.nulls(2)),
        (
            _arrow.array([1000, 2000], _arrow.duration("ns")),
            _arrow.array([1, 3], _arrow.duration("us")),
        ),
        (
            _arrow.array([(1, 2, 3000), (0, 0, 0)], _arrow.month_day_nano_interval()),
            _arrow.array([(1, 2, 3000), (0, 1, 0)], _arrow.month_day_nano_interval()),
        ),
        (
            _arrow.array([Decimal("1E+3"), Decimal("2E+3")], _arrow.decimal128(5, -3)),
            _arrow.array([1000, 2001]),
        ),
    ],
    ids=lambda array: str(array.type),
)
def test_a_type_of_arrow_is_compared_exactly(one: Any, other: Any) -> None:
    a, b = (_arrow.table({"id": [1, 2], "v": each}) for each in (one, other))
    found = skillian.compare(a, b, key="id", accept="schema:*")
    assert found.rows().to_arrow()["id"].to_pylist() == [2], found.summary
    again = skillian.compare(a, _arrow.table({"id": [1, 2], "v": one}), key="id")
    assert again.equal, again.summary


def test_python_objects_of_one_kind_are_read() -> None:
    frame = pd.DataFrame(
        {
            "id": [1, 2],
            "mixed": pd.Series([1, Decimal("1.10")], dtype=object),
            "items": pd.Series([{"p": (1, None)}, {"q": [2]}], dtype=object),
            "large": pd.Series([2**64, None], dtype=object),
            "first": pd.Series([Decimal("0.1"), 2**70], dtype=object),
            "zero": pd.Series([Decimal("0E-40"), 0], dtype=object),
            "flag": pd.Series([float("nan"), True], dtype=object),
            "at": pd.Series([pd.NaT, MORNING], dtype=object),
        }
    )
    assert skillian.compare(frame, frame, key="id").equal


def test_the_named_levels_of_an_index_are_columns() -> None:
    a = pd.DataFrame({"v": [1, 2]}, index=pd.Index([7, 8], name="id"))
    b = pd.DataFrame({"id": [8, 7], "v": [2, 1]}, index=[5, 6])
    found = skillian.compare(a, b, key="id", accept="schema:*")
    assert found.equal, found.summary
    assert [column.a for column in found.columns] == ["v"]
    levels = pd.MultiIndex.from_tuples([(7, "x"), (8, "y")], names=["id", None])
    found = skillian.compare(a.set_axis(levels), b, key="id")
    assert found.counts["matched"] == 2


def test_columns_whose_names_differ_only_in_case_are_numbered_as_in_files() -> None:
    a = pd.DataFrame([[1, 2, 3]], columns=["id", "v", "V"])
    found = skillian.compare(a, pl.DataFrame({"id": [1], "V": [4], "v": [2]}), key="id")
    assert {column.a: column.mismatches for column in found.columns} == {"v_2": 0, "V_1": 1}


def test_json_of_duckdb_is_compared_as_that() -> None:
    a, b = (
        duckdb.sql(f"SELECT 1 AS id, '{text}'::JSON AS v")
        for text in ('{"a":1,"b":2}', '{"b":2,"a":1}')
    )
    assert skillian.compare(a, b, key="id").equal


def test_a_frame_is_read_where_it_is_and_stays_as_it_was() -> None:
    frame = pd.DataFrame({"v": [1, 2]}, index=pd.Index([7, 8], name="id"))
    skillian.compare(frame, frame)
    assert list(frame.columns) == ["v"]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"id": [1, 2], "v": [1, "x"]}), "'v'|column v"),
        (pd.DataFrame([[1, 2]], columns=["id", ""]), "its column 2 has no name"),
        (pd.DataFrame([[1, 2]], columns=["id", "a\0b"]), r"name 'a\\x00b' holds a NUL"),
        (pl.DataFrame({"v\0": [1]}), r"name 'v\\x00' holds a NUL"),
        (pl.DataFrame({"v": [[{"v\0": 1}]]}), r"name 'v\\x00' holds a NUL"),
        (_arrow.record_batch({"v\0": [1]}), r"name 'v\\x00' holds a NUL"),
        (_of_arrow([{"v\0": 1}], _arrow.struct({"v\0": _arrow.int64()})), "holds a NUL"),
        (pd.DataFrame([[1, 2]], columns=["id", "id"]), "columns 'id' and 'id' have the same name"),
        (_arrow.table([[1], [2]], names=["v", "v"]), "columns 'v' and 'v' have the same name"),
        (
            pd.DataFrame({"id": [1]}, index=pd.Index([1], name="id")),
            "columns 'id' and 'id' have the same name",
        ),
        (pd.DataFrame({"v": _MONTHS}), "'v' is extension<pandas.period"),
        (pd.DataFrame({"v": pd.Categorical(_MONTHS)}), "'v' is extension<pandas.period"),
        (
            pd.DataFrame({"id": [1]}, index=pd.CategoricalIndex(_MONTHS, name="v")),
            "'v' is extension<pandas.period",
        ),
        (_arrow.table(pd.DataFrame({"v": _MONTHS})), "'v' is extension<pandas.period"),
        (
            _arrow.table(pd.DataFrame({"v": _MONTHS})).to_pandas(types_mapper=pd.ArrowDtype),
            "'v' is extension<pandas.period",
        ),
        (pd.DataFrame({"v": pd.cut([1], [0, 2])}), "'v' is extension<pandas.interval"),
        (_arrow.table([[1]], _extended("pandas.period", '{"freq": "M"}')), "'v' is pandas.period"),
        (pd.DataFrame({"id": [1], "v": [2**300]}), "'v': not all values of type int can be read"),
        (pd.DataFrame({"v": pd.arrays.SparseArray([0])}), r"Sparse pandas data \(column v\)"),
        (
            _objects(date(2024, 1, 1), MORNING),
            "'v': it has values of several types: date, datetime",
        ),
        (_objects(MORNING, MORNING.replace(tzinfo=UTC)), "'v': not all"),
        (_objects(MORNING, pd.Timestamp(1)), "'v': .* several types: Timestamp, datetime"),
        (_objects(time(1, tzinfo=UTC)), "'v': not all"),
        (_objects("x", b"x"), "'v': .* several types: bytes, str"),
        (_objects("1", 1), "'v': .* several types: int, str"),
        (_objects(*[1.5, True]), "'v': .* several types: bool, float"),
        (_objects([1.5, True]), "'v': not all"),
        (_objects({0, 8}), r"'v': not all .*\(sets have no order\)"),
        (_objects({"p": [frozenset()]}), "'v': not all"),
        (_objects({"a\0b": 1}), "holds a NUL"),
        (_objects({"a": 1, "A": 2}), "'v': its fields a, A differ only in case"),
        (_objects(1j), "'v': not all values of type complex can be read"),
        (_objects(Decimal("Infinity")), "'v': not all values of type Decimal"),
        (_objects(Decimal("1E-39")), "'v': .* would cause data loss"),
        (_objects({"p": [date(2024, 1, 1)]}, {"p": [MORNING]}), "'v': not all"),
        (_objects(date(2024, 1, 1), MORNING).astype("category"), "'v': .* several types"),
        (_objects("\ud83d"), "'v': not all"),
        (pl.DataFrame({"v": pl.Series([{1}], dtype=pl.Object)}), "'v' holds Python objects"),
        (pl.DataFrame({"v": [[2**70]]}), "'v' is Int128, which Arrow does not have; convert"),
        (_of_arrow([1], _arrow.duration("ns")), "'v': Casting from duration"),
        (_of_arrow([[1]], _arrow.list_(_arrow.duration("ns"))), "'v': durations have nanoseconds"),
        (_of_arrow([(0, 0, 1)], _arrow.month_day_nano_interval()), "'v': durations have nano"),
        (_of_arrow([2**62], _arrow.timestamp("s")), "'v': .* out of bounds"),
        (_of_arrow([[("k", 1), ("k", 2)]], _TO_NUMBER), "'v' cannot be read: .*duplicate key"),
        (_of_arrow([[1.5]], _arrow.list_(_arrow.float16())), "'v' cannot be read: "),
        (_arrow.table({"v": _NOT_UTF8}), "'v': Invalid UTF8 sequence"),
        (_of_arrow([Decimal(10**50)], _arrow.decimal256(60, 0)), "'v': Decimal value does not fit"),
        (pd.DataFrame(), "it has no columns"),
        (pl.LazyFrame({"v": [1]}).select("w"), 'cannot be read: unable to find column "w"'),
        (duckdb.sql("SELECT error('torn') AS v"), "cannot be read: .*torn"),
        (duckdb.sql("SELECT '12:00:00+01'::TIMETZ AS v"), "'v' is TIME WITH TIME ZONE"),
        (duckdb.sql("SELECT [5::VARIANT] AS v"), "'v' is VARIANT"),
        (duckdb.sql("SELECT 5::UHUGEINT AS v"), "'v' is UHUGEINT"),
        (duckdb.sql(f"SELECT {2**127 - 1} AS v"), "'v': Decimal value .* does not fit"),
        (_failing(), "by zero; convert"),
        ([1, 2], "a list cannot be compared; compare a path"),
        (pd.Series([1, 2]), "a Series cannot be compared"),
        (pl.Series([1, 2]), "a Series cannot be compared"),
    ],
)
def test_a_frame_that_is_not_a_table_is_refused(frame: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words) as caught:
        skillian.compare(pd.DataFrame({"id": [1]}), frame, names=("old", "new"))
    assert "new" in str(caught.value)


def test_a_frame_is_compared_with_files_and_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"id": [1, 2], "name": ["Ann", "Bob"]})
    frame.write_csv("people.csv")
    frame.write_parquet("people.parquet")
    frame.write_ndjson("people.jsonl")
    with duckdb.connect("shop.duckdb") as shop:
        shop.execute("CREATE TABLE people AS SELECT * FROM frame")
    for other in (
        "people.csv",
        Path("people.parquet"),
        tmp_path / "people.jsonl",
        "shop.duckdb#people",
        "duckdb:///shop.duckdb#people",
        skillian.sql("SELECT id, name FROM people", "duckdb:///shop.duckdb"),
    ):
        found = skillian.compare(other, frame, key="id", accept="schema:*")
        assert found.equal, found.summary


def test_two_queries_of_one_database_are_compared_in_it(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as shop:
        shop.execute("CREATE TABLE t AS SELECT 1 AS id, 'x' AS v UNION ALL SELECT 2, 'y'")
    url = f"duckdb:///{path}"
    a = skillian.sql("SELECT id, v FROM t", url)
    b = skillian.sql("SELECT id, v FROM t WHERE id = 1", url)
    found = skillian.compare(a, b, key="id", names=("all", "one"))
    assert found.sentences[0] == "1 row is only in all; 1 row matches."
    assert url not in repr(a)
    sums = skillian.compare(a, b, measures="id", by="v")
    assert sums.counts["missing_in_b"] == 1


def test_a_query_of_sqlite_is_evaluated_by_sqlite(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as shop:
        shop.execute("CREATE TABLE t AS SELECT 1 AS id, 'Ann' AS n UNION SELECT 2, 'ANN'")
    url = f"sqlite:///{tmp_path / 'shop.sqlite'}"
    query = skillian.sql("SELECT id FROM t WHERE n LIKE 'Ann'", url)
    assert skillian.compare(query, _arrow.table({"id": [1, 2]}), key="id").equal


def test_texts_that_a_collation_finds_equal_are_different(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as shop:
        for name, text in (("a", "'A'"), ("b", "'a'")):
            select = f"SELECT {text} COLLATE NOCASE AS id, 1 AS v UNION ALL SELECT 'b', 2"
            shop.execute(f"CREATE TABLE {name} AS {select}")
    a, b = f"{path}#a", f"{path}#b"
    frame = _arrow.table({"id": ["a", "b"], "v": [1, 2]})
    for other in (b, frame):
        for options in ({"key": "id"}, {"multiset": True}):
            counts = skillian.compare(a, other, **options).counts
            assert [counts[name] for name in ("matched", "only_in_a", "only_in_b")] == [1, 1, 1]
        sums = skillian.compare(a, other, measures="v", by="id").counts
        assert [sums[name] for name in ("match", "missing_in_a", "missing_in_b")] == [1, 1, 1]
    assert skillian.compare(a, b, key="id", where={"id": "a"}).counts["only_in_b"] == 1


def test_a_query_that_is_not_one_select_is_refused(tmp_path: Path) -> None:
    url = f"duckdb:///{tmp_path / 'shop.duckdb'}"
    with pytest.raises(QueryError):
        skillian.compare(skillian.sql("DROP TABLE t", url), _arrow.table(ROWS))


def test_a_frame_is_compared_with_a_table_of_postgresql(postgres_database: Database) -> None:
    postgres_database.execute(
        "CREATE TABLE people (id integer PRIMARY KEY, name text, amount numeric(10, 2));"
        "INSERT INTO people VALUES (1, 'Ann', 1.10), (2, 'Bob', 2.20), (3, NULL, NULL)"
    )
    frame = pl.DataFrame({name: ROWS[name] for name in ("id", "name", "amount")})
    url = postgres_database.url
    found = skillian.compare(f"{url}#people", frame, key="id", accept="schema:*")
    assert found.equal, found.summary
    changed = frame.with_columns(amount=pl.col("amount") + Decimal("0.01"))
    query = skillian.sql("SELECT id, amount FROM people", url)
    found = skillian.compare(query, changed, key="id", columns=["amount"])
    assert found.counts["differing"] == 2, found.summary
    sums = skillian.compare(f"{url}#people", changed, measures=["amount"], by=["name"])
    assert [row["amount b - a"] for row in sums.rows().to_arrow().to_pylist()] == [
        Decimal("0.01"),
        Decimal("0.01"),
    ]


def test_declared_sources_are_found(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("Id,Amount\n1,2.50\n2,3.50\n")
    (tmp_path / "sources.yaml").write_text(
        "connections: {files: 'files:///.'}\n"
        "sources:\n"
        "  old:\n"
        "    connection: files\n"
        "    table: old.csv\n"
        "    dimensions: {id: {column: Id}}\n"
        "    measures: {amount: {column: Amount, aggregation: sum}}\n"
    )
    frame = pl.DataFrame({"id": [1, 2], "amount": [Decimal("2.50"), Decimal("3.51")]})
    found = skillian.compare(
        "old", frame, measures="amount", by="id", sources=tmp_path / "sources.yaml"
    )
    assert found.counts["match"] == 1
    with pytest.raises(SkillianError, match="nearest first: old"):
        skillian.compare("odl", frame, sources=tmp_path / "sources.yaml")


def test_a_frame_may_have_the_name_of_another_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"id": [1]})
    frame.write_csv("b.csv")
    assert skillian.compare("b.csv", frame, names=("a", "b.csv")).equal


def test_nothing_is_left_open() -> None:
    def opened() -> int:
        return len([*Path("/proc/self/fd").iterdir()])

    skillian.compare(_arrow.table(ROWS), _arrow.table(OTHER))
    before = opened()
    for _ in range(3):
        found = skillian.compare(_arrow.table(ROWS), _arrow.table(OTHER))
        assert len(found.rows()) == 1
        del found
    assert opened() == before


def test_a_stream_is_not_both_sides() -> None:
    table = _arrow.table({"id": [1]})
    reader = table.to_reader()
    with pytest.raises(InvalidInputError, match="read only once"):
        skillian.compare(reader, reader)
    relation = _relation(table)
    assert skillian.compare(relation, relation, key="id").equal
