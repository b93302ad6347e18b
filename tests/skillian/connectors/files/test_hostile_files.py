"""Files made to exhaust a reader: refused with a message, never read in part."""

import gzip
import tracemalloc
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from skillian.connectors import connect
from skillian.errors import QueryError

xlsxwriter: Any = pytest.importorskip("xlsxwriter")

MEGABYTE = 10**6


async def message(path: Path) -> str:
    connector: Any = connect("c", f"files:///{path}", path.parent)
    try:
        with pytest.raises(QueryError) as caught:
            list(next(iter(await connector.catalog())).columns)
    finally:
        await connector.aclose()
    return str(caught.value)


X = "x" * 3 * MEGABYTE
TOO_LONG = "it is longer than 2097152 bytes"
LINES = {
    f"id,v\n1,a\n2,{X}": f"a.csv, last line: {TOO_LONG}",
    f"id,v\n1,a\n2,{X}\n": f"a.csv, last line: {TOO_LONG}",
    f"id,v\n1,a\n2,{X * 13}": f"a.csv, last line: {TOO_LONG}",
    f"id,v\n1,a\n2,{X}\n3,b\n": f"a.csv, line 3: {TOO_LONG}",
    # A fault below a long cell.
    f"id,v\n1,{X[:200_000]}\n2\n": "line 3: it has 1 value, but the first line names 2 columns",
}


@pytest.mark.parametrize("content", LINES, ids=[text[-12:] for text in LINES])
async def test_a_line_that_is_too_long_is_named_and_never_left_out(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / "a.csv").write_text(content)
    assert LINES[content] in await message(tmp_path / "a.csv")


async def test_a_header_without_end_is_not_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x" * 20 * MEGABYTE)
    tracemalloc.start()
    try:
        found = await message(tmp_path / "a.csv")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "line 1: its column names are longer than 1000000 characters" in found
    assert peak < 20 * MEGABYTE


async def test_a_packed_file_that_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wb") as packed:
        packed.write(b"id,v\n1," + b"0" * 110 * MEGABYTE)
    assert "a.csv.gz: it unpacks to more than 200 times its size" in await message(
        tmp_path / "a.csv.gz"
    )


async def test_a_workbook_that_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "plain.xlsx") as book:
        book.add_worksheet().write_column(0, 0, ("id", 1))
    filled = b"</sheetData><!--" + b" " * 110 * MEGABYTE + b"-->"
    with (
        ZipFile(tmp_path / "plain.xlsx") as plain,
        ZipFile(tmp_path / "a.xlsx", "w", ZIP_DEFLATED) as bomb,
    ):
        for part in plain.infolist():
            bomb.writestr(part.filename, plain.read(part).replace(b"</sheetData>", filled))
    assert "a.xlsx: it unpacks to more than 200 times its size" in await message(
        tmp_path / "a.xlsx"
    )
