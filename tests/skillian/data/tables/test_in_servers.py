"""Two tables of one MySQL server are compared there, if that is exact; merges of ClickHouse."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.skillian.data.tables.comparing import compare
from tests.support.clickhouse import in_clickhouse, needs_clickhouse
from tests.support.mysql import Database
from tests.support.postgres import Database as Postgres

from skillian.data.declare.rules import Rule, Rules
from skillian.data.declare.sources import Connections, registry_of
from skillian.errors import InvalidInputError


@pytest.fixture
def names(mysql_database: Database) -> list[str]:
    for side in "ab":
        mysql_database.execute(
            f"CREATE TABLE {side} (id INT, day DATE, v TEXT, n INT, PRIMARY KEY (day, id));"  # noqa: S608 - ours
            f"INSERT INTO {side} SELECT seq, '2024-01-01', 'x', 5 FROM seq_1_to_60"
        )
    return [f"{mysql_database.url}#{side}" for side in "ab"]


async def test_the_tables_are_joined_by_their_primary_keys(
    names: list[str], mysql_database: Database
) -> None:
    statement = (await compare(*names)).proof.sql
    plan = mysql_database.execute(f"EXPLAIN {statement}")
    assert [row for row in plan if "PRIMARY" in map(str, row) and "eq_ref" in map(str, row)]


INEXACT: tuple[dict[str, Any], ...] = (
    {"rules": Rules(all=Rule(trim=True))},
    {"rules": Rules(types={"number": Rule(absolute=Decimal(1))})},
    *({"key": ("id",)}, {"multiset": True}),
)


async def test_what_the_server_cannot_do_exactly_is_staged(names: list[str]) -> None:
    for question in INEXACT:
        assert (await compare(*names, **question)).proof.place == "workspace", question


async def test_dates_that_do_not_exist_are_not_null_and_not_the_same(
    mysql_database: Database,
) -> None:
    days = "('0000-00-00', 1), ('2024-00-15', 2), ('2024-01-00', 3), ('2024-01-01', 4)"
    mysql_database.execute("CREATE TABLE t (day DATE, n INT, PRIMARY KEY (day))")
    mysql_database.execute(f"INSERT INTO t VALUES {days}")  # noqa: S608 - ours
    table = f"{mysql_database.url}#t"
    result = await compare(table, table)
    assert (result.proof.place, result.rows.matched) == ("database", 4)
    result = await compare(table, table, key=("n",), columns=("n",), filters={"day": None})
    assert result.rows.rows_a == 0
    async with Connections(registry_of({"t": mysql_database.url}, {}, Path())) as opened:
        connector = opened.get("t")
        grouped = "SELECT CAST(day AS CHAR) AS day, COUNT(*) AS n FROM t GROUP BY t.day"
        assert len((await connector.run(grouped, {})).to_pylist()) == 4


@pytest.mark.parametrize("question", [{}, {"multiset": True}])
async def test_a_column_without_the_right_to_read_it_is_not_called_equal(
    postgres_database: Postgres, postgres_reader: str, question: dict[str, Any]
) -> None:
    for side in "ab":
        postgres_database.execute(
            f"CREATE TABLE {side} (id INT, v TEXT, hidden TEXT, PRIMARY KEY (id));"  # noqa: S608 - ours
            f"INSERT INTO {side} VALUES (1, 'x', '{side}');"
            f"GRANT SELECT (id, v) ON {side} TO reader"
        )
    reader = [f"{postgres_reader}#{side}" for side in "ab"]
    for names in (reader, [f"{postgres_database.url}#a", reader[1]]):
        result = await compare(*names, **question)
        assert result.rows.are_equal
        assert not result.equal
        assert [(each.column, each.side) for each in result.not_compared] == [("hidden", "both")]
        assert not result.schema.differences
        assert result.coverage.left_out == ("hidden",)
    result = await compare(*names, **question, ignore=("hidden",))
    assert result.equal


async def test_a_table_with_more_columns_than_postgres_returns_is_staged(
    postgres_database: Postgres,
) -> None:
    columns = ", ".join(f"c{index} SMALLINT" for index in range(560))
    for side, value in (("a", 7), ("b", 8)):
        postgres_database.execute(f"CREATE TABLE {side} (id INT PRIMARY KEY, {columns})")
        rows = f"(1, 7), (2, {value})"
        postgres_database.execute(f"INSERT INTO {side} (id, c0) VALUES {rows}")  # noqa: S608 - ours
    result = await compare(*(f"{postgres_database.url}#{side}" for side in "ab"))
    assert (result.rows.matched, result.rows.differing) == (1, 1)


TEXTS = {
    "inet": ("1.2.3.4", "1.2.3.4/24", "::1"),
    "macaddr": ("08:00:2b:01:02:03", "08:00:2b:01:02:04", "08:00:2b:01:02:05"),
    "bit varying(3)": ("1", "10", "01"),
    '"char"': ("a", "b", " "),
}


async def test_values_with_one_text_are_keys(
    postgres_database: Postgres, postgres_reader: str
) -> None:
    for kind, keys in TEXTS.items():
        for side in "ab":
            cells = zip(keys, ("x", "y", side), strict=True)
            rows = ", ".join(f"('{key}', '{value}')" for key, value in cells)
            postgres_database.execute(
                f"DROP TABLE IF EXISTS {side}; CREATE TABLE {side} (k {kind}, v TEXT);"  # noqa: S608 - ours
                f"GRANT SELECT ON {side} TO reader; INSERT INTO {side} VALUES {rows}, (NULL, 'z')"
            )
        for url in (postgres_database.url, postgres_reader):  # in the database, and copied
            result = await compare(f"{postgres_database.url}#a", f"{url}#b", key=("k",))
            assert (kind, result.rows.matched, result.rows.differing) == (kind, 3, 1)
    for kind in ("jsonb", "interval", "int4range"):
        postgres_database.execute(f"DROP TABLE a; CREATE TABLE a (k {kind})")
        name = f"{postgres_database.url}#a"
        with pytest.raises(InvalidInputError, match=f"rows cannot be matched by values of {kind}"):
            await compare(name, name, key=("k",))


FIRST = "(1, 10, 1), (2, 20, 1)"
# The columns of an engine, rows that are inserted one after the other, and a file of those left.
MERGED: dict[str, tuple[str, str, str, str]] = {
    "ReplacingMergeTree(n)": ("v Int32, n Int32", FIRST, "(1, 11, 2)", "id,v,n\n1,11,2\n2,20,1\n"),
    "ReplacingMergeTree(n, gone)": (
        "v Int32, n Int32, gone UInt8",
        *("(1, 10, 1, 0), (2, 20, 1, 0)", "(1, 10, 2, 1)", "id,v,n,gone\n2,20,1,0\n"),
    ),
    "CollapsingMergeTree(n)": (
        *("v Int32, n Int8", FIRST, "(1, 10, -1), (1, 11, 1)", "id,v,n\n1,11,1\n2,20,1\n"),
    ),
    "SummingMergeTree": ("v Int32, n Int32", FIRST, "(1, 5, 1)", "id,v,n\n1,15,2\n2,20,1\n"),
    "AggregatingMergeTree": (
        "v SimpleAggregateFunction(max, Int32), n SimpleAggregateFunction(min, Int32)",
        *(FIRST, "(1, 15, 0)", "id,v,n\n1,15,0\n2,20,1\n"),
    ),
}


@needs_clickhouse
@pytest.mark.parametrize("engine", MERGED)
async def test_rows_that_a_merge_removes_are_not_read(tmp_path: Path, engine: str) -> None:
    columns, *inserts, rows = MERGED[engine]
    file = tmp_path / "b.csv"
    file.write_text(rows)
    url = in_clickhouse(
        f"CREATE TABLE t (id Int32, {columns}) ENGINE = {engine} ORDER BY id",
        "SYSTEM STOP MERGES t",
        *(f"INSERT INTO t VALUES {rows}" for rows in inserts),  # noqa: S608 - ours
        "CREATE VIEW w AS SELECT 1 AS id, count() AS n FROM t",
    )
    result = await compare(f"{url}#t", str(file), key=("id",))
    assert result.rows.are_equal, result.sentences
    [remark] = [note for note in result.notes if "FINAL" in note]
    assert engine.partition("(")[0] in remark
    # A view is read as the database shows it.
    file.write_text(f"id,n\n1,{' '.join(inserts).count('(')}\n")
    result = await compare(f"{url}#w", str(file), key=("id",))
    assert result.rows.are_equal, result.sentences


@needs_clickhouse
async def test_filters_of_clickhouse_compare_exactly() -> None:
    url = in_clickhouse(
        "CREATE TABLE t (id Int32, unread Int8 EPHEMERAL 1, t DateTime, n Nullable(DateTime),"
        " z DateTime('Europe/Berlin'), p DateTime64(3), f DateTime64(9),"
        " d Decimal(9, 0)) ENGINE = MergeTree ORDER BY id",
        *(
            f"INSERT INTO t VALUES ({number}, {time}, {other}, {time}, {time}, {time}, 1)"  # noqa: S608 - ours
            for number, time, other in ((1, "'2024-07-01 10:00:00'", "NULL"), (2, "0", "0"))
        ),
    )
    noon, epoch = "2024-07-01T10:00:00", "1970-01-01T00:00:00"
    counts: list[tuple[dict[str, Any], int]] = [
        ({"t": noon, "p": noon, "f": noon, "z": f"{noon}+02:00", "n": None}, 1),
        ({"t": [noon, epoch], "n": [epoch, None], "z": {"ne": f"{noon}.4Z"}}, 2),
        ({"p": {"ne": f"{noon}.0004"}, "d": {"ne": 10**16}}, 2),
    ]
    for filters, count in counts:
        result = await compare(f"{url}#t", f"{url}#t", key=("id",), filters=filters)
        assert (filters, result.rows.rows_a) == (filters, count)
