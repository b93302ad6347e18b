import asyncio
import os
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.waits import cancelled, executing
from tests.support.workbooks import write_workbook

from skillian.connectors.files import delimited
from skillian.connectors.files.connector import FilesConnector
from skillian.connectors.files.delimited import csv_types
from skillian.connectors.files.options import FileOptions
from skillian.connectors.files.parquet import INFERRED
from skillian.errors import QueryError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "secret 'da[ta]*"
    made.mkdir()
    return made


@pytest.fixture
async def files(folder: Path) -> AsyncIterator[FilesConnector]:
    connector = FilesConnector(folder, "extracts", timeout=60)
    yield connector
    await connector.aclose()


async def rows(files: FilesConnector, table: str) -> list[tuple[Any, ...]]:
    found = await files.run(f'SELECT * FROM "main"."{table}"', {})  # noqa: S608 - written here
    return [tuple(row.values()) for row in found.to_pylist()]


def reading(path: Path | str, function: str = "read_csv") -> str:
    quoted = str(path).replace("'", "''")
    return f"SELECT * FROM {function}('{quoted}')"  # noqa: S608 - written here


async def names(files: FilesConnector) -> list[str]:
    return [table.name for table in await files.catalog()]


async def types(files: FilesConnector, table: str) -> dict[str, str]:
    tables = {table.name: table for table in await files.catalog()}
    return {name: kind.sql for name, kind in tables[table].columns.items()}


def with_amounts(path: Path, *amounts: float) -> None:
    rows = [("amount",), *((each,) for each in amounts)]
    write_workbook(path, dict.fromkeys(("First", "zwei & #2"), rows))


async def test_files_are_tables_by_their_names(files: FilesConnector, folder: Path) -> None:
    (folder / "b[1]*.csv").write_text("id,amount\n001,1.5\n")
    (folder / "a.TSV").write_text("id\tamount\n7\t.25\n")
    with duckdb.connect() as database:
        database.sql("SELECT 1 AS n, 0.5::DOUBLE AS f").write_parquet(str(folder / "c.parquet"))
    with_amounts(folder / "d.xlsx", 0.1, 12.75)
    (folder / "read.me").write_text("no table")
    (folder / ".hidden.csv").write_text("a\n1\n")
    (folder / "~$d.xlsx").write_text("Excel's own")
    (folder / "below.csv").mkdir()
    assert await names(files) == [
        *("a.TSV", "b[1]*.csv", "below.csv", "c.parquet", "d.xlsx", "d.xlsx#zwei & #2")
    ]
    assert await rows(files, "a.TSV") == [(7, Decimal("0.25"))]
    assert await rows(files, "b[1]*.csv") == [("001", Decimal("1.5"))]
    assert await rows(files, "c.parquet") == [(1, 0.5)]
    assert await rows(files, "d.xlsx#zwei & #2") == [(Decimal("0.10"),), (Decimal("12.75"),)]


async def test_duckdb_does_not_look_for_a_file_itself(
    files: FilesConnector, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "ragged.csv").write_text("a,b\n1,2\n3\n")
    for statement in ('SELECT * FROM "ragged.csv"', 'SELECT COUNT(*) FROM "Ragged.CSV"'):
        for call in (files.run(statement, {}), files.describe(statement)):
            with pytest.raises(QueryError, match=r"ragged\.csv, line 3"):
                await call


async def test_changes_are_seen_by_the_next_statement(files: FilesConnector, folder: Path) -> None:
    path = folder / "a.csv"
    path.write_text("a\n1\n")
    assert await rows(files, "a.csv") == [(1,)]
    path.write_text("a\n2\n")
    assert await rows(files, "a.csv") == [(2,)]
    path.write_text("b,c\nx,0.5\n")
    assert await rows(files, "a.csv") == [("x", Decimal("0.5"))]
    other = folder / "other"  # of the same size and time, and another type
    other.write_text("b,c\ny,0.z\n")
    os.utime(other, ns=(0, path.stat().st_mtime_ns))
    other.replace(path)
    assert await rows(files, "a.csv") == [("y", "0.z")]
    with_amounts(folder / "b.xlsx", 5)
    assert await rows(files, "b.xlsx#zwei & #2") == [(5,)]
    write_workbook(folder / "b.xlsx", {"only": [("new",), ("text",)]})
    assert await rows(files, "b.xlsx") == [("text",)]
    assert await names(files) == ["a.csv", "b.xlsx"]
    path.unlink()
    assert await names(files) == ["b.xlsx"]
    with pytest.raises(QueryError):
        await rows(files, "a.csv")
    with pytest.raises(QueryError, match="does not exist"):
        await rows(files, "b.xlsx#zwei & #2")


async def test_types_are_found_once_until_a_file_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Mock(wraps=csv_types)
    monkeypatch.setattr(delimited, "csv_types", seen)
    path = folder / "a.csv"
    for content in ("n\n1\n", "n\ntwo\n"):
        path.write_text(content)
        for options in (FileOptions(), FileOptions(null=("1", "two"))):
            for _ in range(3):
                own = FilesConnector(folder, "extracts", options=options)
                kind = (await types(own, "a.csv"))["n"]
                await own.aclose()
                assert kind == ("BIGINT" if "1" in content and not options.null else "VARCHAR")
    assert seen.call_count == 4


async def test_only_files_of_the_folder_can_be_read(
    files: FilesConnector, folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text("secret\n1\n")
    (folder / "a.csv").write_text("a\n1\n")
    (folder / "inside.csv").symlink_to(folder / "a.csv")
    (folder / "link.csv").symlink_to(outside)
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    tables = {table.name: table for table in await files.catalog()}
    assert list(tables) == ["a.csv", "inside.csv", "link.csv"]
    with pytest.raises(QueryError, match=r"link\.csv: it is a link that leads out of its folder"):
        _ = [*tables["link.csv"].columns]
    assert await rows(files, "inside.csv") == [(1,)]
    for path in (outside, folder / ".." / "outside.csv", folder / "link.csv", "/etc/passwd"):
        for function in ("read_csv", "read_text"):
            with pytest.raises(QueryError) as refused:
                await files.run(reading(path, function), {})
            assert str(tmp_path) not in str(refused.value)


async def test_names_that_differ_only_in_case_are_not_confused(
    files: FilesConnector, folder: Path
) -> None:
    (folder / "A.csv").write_text("a\n1\n")
    (folder / "a.csv").write_text("a\n2\n")
    assert await names(files) == ["A.csv", "a.csv"]
    for name in ("A.csv", "a.csv"):
        with pytest.raises(QueryError, match=r"a\.csv: its name differs from A\.csv only in case"):
            await rows(files, name)


async def test_cancelling_stops_the_reading_of_a_file(files: FilesConnector, folder: Path) -> None:
    with (folder / "a.csv").open("w") as file:
        file.write("a,b,c\n")
        line = "1.5,2024-01-31,some text\n" * 1000
        for _ in range(4000):
            file.write(line)
    task = asyncio.create_task(files.catalog())
    await executing(task, 0.1)
    await cancelled(task)
    (folder / "a.csv").write_text("a\n1\n")
    assert await rows(files, "a.csv") == [(1,)]


async def test_a_parquet_file_can_say_that_its_types_were_guessed(
    folder: Path, files: FilesConnector
) -> None:
    rows = pa.table({"id": [1]})
    pq.write_table(rows, folder / "stated.parquet")
    pq.write_table(rows.replace_schema_metadata(INFERRED), folder / "guessed.parquet")
    (folder / "a.csv").write_text("x\n1\n")
    tables = await files.catalog()
    assert [(table.name, table.inferred, table.engine) for table in tables] == [
        *(("a.csv", True, "files"), ("guessed.parquet", True, "files")),
        ("stated.parquet", False, "files"),
    ]


async def test_one_connector_reads_several_files(tmp_path: Path) -> None:
    for place, cell in (("old", "1,5"), ("new", "'2.5'"), ("other", "3.5")):
        (tmp_path / place).mkdir()
        (tmp_path / place / f"{place}.csv").write_text(f"id;v\n1;{cell}\n")
    old, new = (f"files:///{tmp_path}/{place}/{place}.csv" for place in ("old", "new"))
    both = FilesConnector.of_files({"o": f"{old}?decimal=,", "n": f"{new}?quote='"})
    assert both is not None
    assert await rows(both, "old.csv") == [(1, Decimal("1.5"))]
    assert await rows(both, "new.csv") == [(1, Decimal("2.5"))]
    with pytest.raises(QueryError, match="not allowed") as refused:
        await both.run(reading(tmp_path / "other" / "other.csv"), {})
    assert "connections 'o' and 'n'" in str(refused.value)
    (tmp_path / "new" / "new.csv").write_text("id;v\n1;2;3\n")
    with pytest.raises(QueryError, match=r"connection 'n': new\.csv, line 2"):
        await rows(both, "new.csv")
    assert await rows(both, "old.csv") == [(1, Decimal("1.5"))]
    await both.aclose()


@pytest.mark.parametrize("second", ["new/a.csv", "new/A.CSV", "new"])
def test_files_of_one_name_and_folders_have_their_own_connectors(
    tmp_path: Path, second: str
) -> None:
    (tmp_path / "new").mkdir()
    urls = {name: f"files:///{tmp_path}/{path}" for name, path in (("o", "a.csv"), ("n", second))}
    assert FilesConnector.of_files(urls) is None
