import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillian.connectors.base import Declaration
from skillian.connectors.sqlite import reader
from skillian.connectors.sqlite.connector import SQLiteConnector
from skillian.connectors.sqlite.reader import SQLiteFile
from skillian.connectors.sqlite.types import UnfitError, array_of, declared_type
from skillian.data.sql.admission import admit_query
from skillian.errors import QueryError, UnreadableColumnError


class Lite(SQLiteConnector):
    """A connector to a file that a test writes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "lite", timeout=60)
        self.path = path

    def write(self, script: str) -> None:
        with closing(sqlite3.connect(self.path)) as database:
            database.executescript(script)

    async def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in (await self.run(statement, {})).to_pylist()]

    async def view_rows(self, query: str) -> list[tuple[Any, ...]]:
        view = await self.view(query)
        return await self.rows(f'SELECT * FROM "{view.schema}"."{view.name}" ORDER BY 1')  # noqa: S608 - ours


@pytest.fixture
async def lite(tmp_path: Path) -> AsyncIterator[Lite]:
    folder = tmp_path / "secret folder"
    folder.mkdir()
    opened = Lite(folder / "a'%20?b.db")
    yield opened
    await opened.aclose()


async def test_a_database_to_which_another_program_writes(
    lite: Lite, monkeypatch: pytest.MonkeyPatch
) -> None:
    lite.write("CREATE TABLE t (a INT)")
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0))
    with closing(sqlite3.connect(lite.path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(QueryError, match="another program writes"):
            await lite.catalog()
    assert await lite.rows("SELECT * FROM t") == []


async def test_the_catalogue_has_tables_and_views(lite: Lite) -> None:
    lite.write(
        'CREATE TABLE "select ""x""" (a INTEGER PRIMARY KEY, "Größe" NUMERIC(9,2), g AS (a * 2));'
        ' CREATE VIEW v AS SELECT "Größe" AS size, COUNT(*) AS n FROM "select ""x""";'
        "CREATE VIEW broken AS SELECT * FROM gone;"
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR(5) NOT NULL, c);"
        "CREATE TABLE loose (a TEXT, b TEXT, PRIMARY KEY (b, a))",
    )
    tables = {table.name: table for table in await lite.catalog()}
    assert sorted(tables) == ["broken", "loose", 'select "x"', "t", "v"]
    assert tables["t"].declared == {
        "a": Declaration("INTEGER", nullable=False, key=1),
        "b": Declaration("VARCHAR(5)", nullable=False),
        "c": Declaration("", nullable=True),
    }
    # SQLite allows NULL in any other primary key.
    assert tables["loose"].primary_key == ("b", "a")
    assert [each.nullable for each in tables["loose"].declared.values()] == [True, True]
    assert [each.nullable for each in tables["v"].declared.values()] == [None, None]
    assert list(tables['select "x"'].columns) == ["a", "Größe", "g"]
    assert tables["v"].columns["size"].scale == 2
    with pytest.raises(QueryError, match="view 'broken' cannot be read"):
        _ = [*tables["broken"].columns]


@pytest.mark.parametrize(
    ("declared", "value", "shown"),
    [
        ("DECIMAL(17,2)", "9e999", "inf"),
        ("REAL", "'much'", "'much'"),
        ("TIMESTAMP", "'2024-01-31 25:00'", "'2024-01-31 25:00'"),
        ("TIMESTAMP", "'2024-01-31 10:00Z'", "'2024-01-31 10:00Z'"),
        ("TIMESTAMP", "1706695200", "1706695200"),
        ("BOOLEAN", "2", "2"),
        ("BLOB", "'text'", "'text'"),
    ],
)
async def test_a_value_that_does_not_fit_its_type_is_named(
    lite: Lite, declared: str, value: str, shown: str
) -> None:
    lite.write(f'CREATE TABLE t ("a b" {declared}, c TEXT)')
    lite.write(f"INSERT INTO t VALUES ({value}, 1)")  # noqa: S608 - written above
    with pytest.raises(QueryError) as refused:
        await lite.run('SELECT "a b" FROM t', {})
    assert f"table 't', column 'a b' holds {shown}, which is not exactly" in str(refused.value)
    assert await lite.rows("SELECT c FROM t") == [("1",)]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SELECT id FROM t WHERE n LIKE 'Ann'", [(1,), (2,)]),
        ("SELECT id FROM t WHERE n = 'Ann'", [(1,)]),
        ("SELECT id FROM t WHERE n = 'ANN'", [(2,)]),
        ("SELECT id / 2 AS h, MAX(id, 2) AS m FROM t; -- half", [(0, 2), (1, 2)]),
        ("SELECT 0.1 + 0.2 AS f", [(0.1 + 0.2,)]),
        ("SELECT CAST(v AS TEXT) AS v FROM t", [("7",), ("x",)]),
        ("SELECT v || '' AS v, TYPEOF(v) AS [of] FROM t", [("7", "integer"), ("x", "text")]),
        ("SELECT DATETIME(86400, 'unixepoch') AS d", [("1970-01-02 00:00:00",)]),
        ("SELECT n FROM t ORDER BY w, n LIMIT 1", [("ANN",)]),
    ],
)
async def test_a_query_is_evaluated_by_sqlite(lite: Lite, query: str, found: list[Any]) -> None:
    lite.write(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n TEXT, v INTEGER, w INTEGER);"
        "INSERT INTO t VALUES (1, 'Ann', 7, 1), (2, 'ANN', 'x', NULL)",
    )
    admit_query(query, lite.query_dialect)
    assert await lite.rows("SELECT COUNT(w) FROM t") == [(1,)]
    assert await lite.view_rows(query) == found
    assert [each.name for each in await lite.catalog()] == ["t"]


async def test_the_types_of_a_query_are_found_however_long_it_takes(
    lite: Lite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_STEPS", 1)
    query = "SELECT SUM(a) AS total FROM t"
    lite.write(f"CREATE TABLE t (a INT); INSERT INTO t VALUES (1); CREATE VIEW v AS {query}")  # noqa: S608 - ours
    _, view = await lite.catalog()
    assert view.columns["total"].kind == "other"
    assert (await lite.view(query)).columns["total"].kind == "integer"
    assert await lite.view_rows(query) == [(1,)]


async def test_a_query_is_read_again_when_the_file_has_changed(lite: Lite) -> None:
    lite.write("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    query = "SELECT a + 1 AS b FROM t"
    assert await lite.view_rows(query) == [(2,)]
    lite.write("UPDATE t SET a = 'x'")
    assert await lite.view_rows(query) == [(1,)]
    await lite.aclose()
    assert await lite.view_rows(query) == [(1,)]
    with pytest.raises(UnreadableColumnError):
        await lite.view_rows("SELECT a FROM t")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT a, b AS A FROM t", "two columns named 'A'"),
        ("SELECT c FROM t", "no such column: c"),
        ("SELECT GREATEST(a, 1) AS a FROM t", "no such function"),
        ("SELECT a FROM t QUALIFY a", "syntax error"),
    ],
)
async def test_a_query_that_sqlite_refuses(lite: Lite, query: str, reason: str) -> None:
    lite.write('CREATE TABLE t (a INT, b INT, "x:1" INT, "x:2" INT)')
    with pytest.raises(QueryError, match=reason):
        await lite.view(query)
    view = await lite.view("SELECT * FROM t")
    assert [*view.columns] == ["a", "b", "x:1", "x:2"]


async def test_what_has_been_copied_is_kept_until_the_file_changes(
    lite: Lite, monkeypatch: pytest.MonkeyPatch
) -> None:
    spied = create_autospec(SQLiteFile.rows, side_effect=SQLiteFile.rows)
    monkeypatch.setattr(SQLiteFile, "rows", spied)

    def read() -> list[tuple[str, ...]]:
        return [(call.args[1], *call.args[2]) for call in spied.call_args_list]

    lite.write("CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 2)")
    for _ in range(3):
        assert await lite.rows("SELECT a FROM t") == [(1,)]
    assert read() == [("t", "a")]
    assert await lite.rows("SELECT a, b FROM t") == [(1, 2)]
    assert await lite.rows("SELECT b FROM t") == [(2,)]
    assert read()[1:] == [("t", "a", "b")]
    lite.write("UPDATE t SET a = 7")
    assert await lite.rows("SELECT a FROM t") == [(7,)]
    lite.write("ALTER TABLE t ADD COLUMN c INT DEFAULT 9")
    assert await lite.rows("SELECT c FROM t") == [(9,)]
    other = Lite(lite.path.with_name("other.db"))
    other.write("CREATE TABLE t (a INT); INSERT INTO t VALUES (100)")
    other.path.replace(lite.path)
    assert await lite.rows("SELECT a FROM t") == [(100,)]


async def test_statements_continue_while_the_file_changes(lite: Lite) -> None:
    lite.write("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2)")
    before = lite.stream("SELECT t.a FROM t, range(50000)", {})
    total = (await anext(before)).num_rows
    lite.write("DELETE FROM t")
    assert await lite.rows("SELECT COUNT(*) FROM t") == [(0,)]
    total += sum([batch.num_rows async for batch in before])
    assert total == 100_000


async def test_a_journal_that_has_to_be_rolled_back_is_named(lite: Lite, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "writing.db", isolation_level=None)) as writer:
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("CREATE TABLE t (a TEXT)")
        writer.execute("BEGIN")
        writer.executemany("INSERT INTO t VALUES (?)", [("x" * 3000,)] * 100)
        for suffix in ("", "-journal"):
            shutil.copyfile(tmp_path / f"writing.db{suffix}", f"{lite.path}{suffix}")
    with pytest.raises(QueryError, match="-journal"):
        await lite.catalog()
    lite.write("SELECT * FROM t")
    assert await lite.rows("SELECT * FROM t") == []


async def test_a_table_with_a_column_without_a_name_is_read_by_a_query(lite: Lite) -> None:
    lite.write('CREATE TABLE t (a INT, "" INT); INSERT INTO t VALUES (1, 2)')
    (table,) = await lite.catalog()
    with pytest.raises(QueryError, match="without a name"):
        _ = [*table.columns]
    assert await lite.view_rows("SELECT a FROM t") == [(1,)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ("(1), (NULL), (-9223372036854775808)", "BIGINT"),
        ("(1), (2.5), (NULL)", "DOUBLE"),
        ("(9007199254740992), (2.5)", "DOUBLE"),
        ("(9007199254740993), (2.5)", "NUMERIC"),
        ("(1), ('n/a')", "any"),
        ("(1), (x'00')", "any"),
        ("(NULL)", "any"),
    ],
)
async def test_a_column_without_a_type_has_that_of_its_numbers(
    lite: Lite, values: str, kind: str
) -> None:
    tables = {"bare": "NUMERIC", "django": "decimal", "any": ""}
    for name, declared in tables.items():
        lite.write(f"CREATE TABLE {name} (v {declared}); INSERT INTO {name} VALUES {values}")  # noqa: S608 - ours
    found = {table.name: table.columns["v"].sql for table in await lite.catalog()}
    undecided = {"bare": "NUMERIC", "django": "DECIMAL", "any": "untyped"}
    assert found == (undecided if kind == "any" else dict.fromkeys(undecided, kind))


async def test_numbers_beyond_those_of_floats_are_written_in_full(lite: Lite) -> None:
    lite.write("CREATE TABLE t (v); INSERT INTO t VALUES (9007199254740993), (1e-7), (1e22)")
    texts = {"9007199254740993", "0.0000001", "10000000000000000000000"}
    assert {text for (text,) in await lite.rows("SELECT v FROM t")} == texts


async def test_a_column_without_a_type_that_has_only_texts_is_a_text(lite: Lite) -> None:
    lite.write(
        "CREATE TABLE names AS SELECT UPPER('ann') AS name UNION SELECT NULL;"
        "CREATE TABLE mixed (name); INSERT INTO mixed VALUES ('Ann'), (x'00');"
        "CREATE TABLE numeric_texts (name NUMERIC); INSERT INTO numeric_texts VALUES ('Ann');"
        "CREATE TABLE bytes (name); INSERT INTO bytes VALUES (x'00'), (NULL);"
        "CREATE TABLE torn (name, n); INSERT INTO torn VALUES (CAST(x'ff' AS TEXT), 1);",
    )
    found = {table.name: table.columns["name"].kind for table in await lite.catalog()}
    assert found == {
        "names": "text",
        "mixed": "other",
        "numeric_texts": "other",
        "bytes": "other",
        "torn": "text",
    }
    assert await lite.rows("SELECT name FROM bytes WHERE name IS NOT NULL") == [(b"\0",)]
    for table, reason in (("mixed", "bytes among other values"), ("torn", "UTF-8")):
        with pytest.raises(UnreadableColumnError, match=reason) as refused:
            await lite.run(f"SELECT name FROM {table}", {})  # noqa: S608 - ours
        assert (refused.value.table, refused.value.column) == (table, "name")
    assert await lite.rows("SELECT name FROM names WHERE name IS NOT NULL") == [("ANN",)]


async def test_the_sums_of_a_view_are_numbers(lite: Lite) -> None:
    lite.write(
        "CREATE TABLE t (k TEXT, v INT); INSERT INTO t VALUES ('a', 1), ('a', 2), ('b', 3);"
        "CREATE VIEW sums AS SELECT k, SUM(v) AS total, AVG(v) AS mean FROM t GROUP BY k"
    )
    sums, _ = await lite.catalog()
    kinds = {name: kind.kind for name, kind in sums.columns.items()}
    assert kinds == {"k": "text", "total": "integer", "mean": "float"}


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
