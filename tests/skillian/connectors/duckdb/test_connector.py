import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import pytest
from tests.support.waits import SECONDS

from skillian.connectors.duckdb import engine
from skillian.connectors.duckdb.connector import DuckDBConnector
from skillian.connectors.duckdb.types import column_type
from skillian.errors import QueryError


def test_types_have_kinds() -> None:
    kinds = {
        "VARCHAR": "text", "ENUM('a', '(b')": "text", "HUGEINT": "integer", "DOUBLE": "float",
        "TIMESTAMP WITH TIME ZONE": "timestamptz", "INTEGER[]": "other", "STRUCT(a INT)": "other",
    }  # fmt: skip
    assert {name: column_type(name).kind for name in kinds} == kinds


UNREADABLE = ("read_csv('/etc/passwd')", "'/etc/passwd'", "read_text('/etc/passwd')", "connector")


async def test_neither_files_nor_python_variables_can_be_read(connector: DuckDBConnector) -> None:
    for each in UNREADABLE:
        with pytest.raises(QueryError):
            await connector.run(f"SELECT * FROM {each}", {})  # noqa: S608 - ours


def test_the_time_zone_of_the_machine_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    duckdb.connect(path).close()
    script = f"""
import asyncio
from pathlib import Path
from skillian.connectors.duckdb.connector import DuckDBConnector
statement = "SELECT CAST(TIMESTAMPTZ '2024-01-31 23:00:00+00' AS VARCHAR) AS x"
table = asyncio.run(DuckDBConnector(Path({str(path)!r}), "x").run(statement, {{}}))
print(table.to_pylist()[0]["x"])
"""
    command = [sys.executable, "-W", "ignore", "-c", script]
    zone = {**os.environ, "TZ": "Asia/Tokyo"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=False, env=zone
    )
    assert done.stdout == "2024-01-31 23:00:00+00\n"


async def test_the_database_is_read_only(connector: DuckDBConnector) -> None:
    rows = await connector.run(
        "SELECT name, value FROM duckdb_settings() WHERE name IN ('enable_external_access',"
        " 'lock_configuration', 'autoload_known_extensions') UNION ALL SELECT 'read only',"
        " CAST(readonly AS TEXT) FROM duckdb_databases() WHERE path IS NOT NULL",
        {},
    )
    assert {row["name"]: row["value"] for row in rows.to_pylist()} == {
        "read only": "true",
        "enable_external_access": "false",
        "lock_configuration": "true",
        "autoload_known_extensions": "false",
    }


async def test_errors_name_the_connection_and_never_the_path(
    connector: DuckDBConnector, tmp_path: Path
) -> None:
    gone, broken = (DuckDBConnector(tmp_path / name, "books") for name in ("gone", "broken"))
    (tmp_path / "broken").write_text("this is not a database, whatever its name says " * 100)
    for each in (connector, gone, broken):
        with pytest.raises(QueryError) as error:
            await each.run("SELECT nothing FROM missing", {})
        assert "'books'" in str(error.value)
        assert str(tmp_path) not in str(error.value)
        assert error.value.__cause__ is None
        assert "\n" not in str(error.value)


def test_a_statement_that_has_just_ended_may_be_interrupted() -> None:
    statement = engine.RunningStatement()
    with statement.on(duckdb.connect()):
        pass
    statement.interrupt()


async def test_one_file_may_be_open_twice(connector: DuckDBConnector) -> None:
    other = DuckDBConnector(next(iter(connector._engine._setup.paths)), "again", timeout=3)
    for one in (connector, other, connector):
        assert (await one.run("SELECT current_setting('memory_limit') AS m", {})).num_rows == 1
        assert len(await one.catalog()) == 2
    await other.aclose()
    assert len(await connector.catalog()) == 2


async def test_a_file_that_is_being_written_in_this_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    connector = DuckDBConnector(path, "x")
    with duckdb.connect(path) as writer:
        writer.execute("CREATE TABLE t AS SELECT 1 AS n")
        with pytest.raises(QueryError, match="not being written to") as refused:
            await connector.run("SELECT 1", {})
        assert str(tmp_path) not in str(refused.value)
    assert (await connector.run("SELECT n FROM t", {})).to_pylist() == [{"n": 1}]
    await connector.aclose()


def spilled(folder: Path) -> list[bool]:
    """Return for each folder of ours in `folder` whether it has files, for our eyes only."""
    paths = [path for path in folder.glob("skillian-*/*") if path.is_dir()]
    return [any(path.iterdir()) and path.stat().st_mode & 0o077 == 0 for path in paths]


async def test_what_does_not_fit_in_memory_spills_into_its_own_folder(
    connector: DuckDBConnector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(engine._CONFIG, "memory_limit", "60MB")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    large = (
        "SELECT range AS n, repeat(range::TEXT, 10) AS t FROM range(3000000) ORDER BY hash(range)"
    )
    stream = connector.stream(large, {})
    await anext(stream)
    assert spilled(tmp_path) == [True]
    await stream.aclose()
    await connector.aclose()
    assert spilled(tmp_path) == []


@pytest.mark.parametrize(
    ("value", "is_plain"),
    [
        *(("42", True), ("42::BIGINT", True), ("-1::HUGEINT", True), ("18::UBIGINT", True)),
        *(("'x'", True), ("''", True), ("true", True), ("NULL::INTEGER", True)),
        *(("1.50::DECIMAL(10, 2)", True), ("1.1::FLOAT", True), ("'inf'::DOUBLE", True)),
        *(("DATE '2024-02-29'", True), ("TIMESTAMP '2024-01-01 01:02:03.123456'", True)),
        *(("NULL::DATE", True), ("TIMESTAMP_S '2024-01-01 01:02:03'", True)),
        *(("DATE 'infinity'", False), ("DATE '10000-01-01'", False), ("DATE '9999-12-31'", False)),
        *(("TIMESTAMP '-infinity'", False), ("TIMESTAMP_NS '2024-01-01 00:00:00'", False)),
        *(("TIMESTAMPTZ '2024-01-01 01:02:03+02'", False), ("TIME '01:02:03'", False)),
        *(("[1, 2]", False), ("{'a': 1}", False), ("'ab'::BLOB", False), ("'a'::ENUM('a')", False)),
        *(("INTERVAL '1 day'", False), ("MAP {'a': 1}", False), ("'101'::BIT", False)),
    ],
)
async def test_plain_rows_are_those_of_arrow_or_none(
    connector: DuckDBConnector, value: str, *, is_plain: bool
) -> None:
    statement = f"SELECT {value} AS v, 1 AS n UNION ALL SELECT NULL, 2 ORDER BY n"
    rows = await connector.plain_rows(statement, {})
    assert (rows is not None) is is_plain
    if rows is not None:
        arrow = (await connector.run(statement, {})).to_pylist()
        assert [[(value, type(value)) for value in row.values()] for row in rows] == [
            [(value, type(value)) for value in row.values()] for row in arrow
        ]
