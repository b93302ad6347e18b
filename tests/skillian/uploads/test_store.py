from __future__ import annotations

import asyncio
import io
import json
import os
from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.uploads import LEDGER, bomb, with_sheet, workbook
from tests.support.waits import soon

from skillian.uploads import store, workbooks
from skillian.uploads.folders import Upload
from skillian.uploads.limits import (
    DiskFull,
    UploadError,
    UploadIncomplete,
    UploadNotFound,
    UploadQuota,
    UploadTooLarge,
)
from skillian.uploads.store import UploadStore

ROWS: list[list[object]] = [["id", "amount"], [1, 1.5], [2, 2.25]]


@pytest.fixture
def files(tmp_path: Path) -> UploadStore:
    return UploadStore(tmp_path / "uploads", 10_000_000)


async def parts(*contents: bytes) -> AsyncIterator[bytes]:
    for content in contents:
        yield content


async def sent(
    files: UploadStore, name: str, content: str | bytes, owner: str = "", size: int | None = None
) -> Upload:
    body = content.encode() if isinstance(content, str) else content
    return await files.receive(owner, name, parts(body), size)


def left(tmp_path: Path) -> list[str]:
    return [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]


async def test_types_are_those_of_the_file_connector(files: UploadStore) -> None:
    upload = await sent(files, "ledger.csv", LEDGER)
    assert upload.columns == (
        ("id", "VARCHAR"), ("name", "VARCHAR"), ("amount", "DECIMAL(38,2)"),
    )  # fmt: skip
    assert (upload.rows, upload.bytes, upload.note) == (3, len(LEDGER), "")
    assert await files.list("") == [upload]
    assert [path.name for path in upload.path.parent.iterdir()] != ["upload.csv"]
    assert {path.name for path in upload.path.parent.iterdir()} == {"about.json", "table.parquet"}


@pytest.mark.parametrize(
    "name",
    ["a.xlsx", "a.jsonl", "a.parquet", "a.tsv"],
)
async def test_each_kind_of_file_is_read(files: UploadStore, name: str) -> None:
    table = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2], "amount": [1.5, 2.25]}), table)
    contents: dict[str, bytes] = {
        "a.xlsx": workbook(ROWS, "Second"),
        "a.jsonl": b'{"id": 1, "amount": 1.5}\n{"id": 2, "amount": 2.25}\n',
        "a.parquet": table.getvalue(),
        "a.tsv": "id\tamount\n1\t1.5\n2\t2.25\n".encode("utf-16"),
    }
    upload = await sent(files, name, contents[name])
    assert [column for column, _ in upload.columns] == ["id", "amount"]
    assert upload.rows == 2
    assert bool(upload.note) == (len(upload.sheets) == 2) == (name == "a.xlsx")


async def test_the_first_sheet_that_is_not_empty_is_read(files: UploadStore) -> None:
    upload = await sent(files, "a.xlsx", workbook([], "Second"))
    assert (upload.sheet, [name for name, _ in upload.columns]) == ("Second", ["other"])
    with pytest.raises(UploadError, match="empty"):
        await sent(files, "b.xlsx", workbook([]))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../../x", "slashes"),
        ("../../x.csv", "slashes"),
        ("a\\b.csv", "slashes"),
        ("a\u202e.csv", "invisible"),
        ("a\n.csv", "invisible"),
        (".csv", "dot"),
        ("x" * 300 + ".csv", "characters"),
        ("bomb.zip", "'.zip'|.zip"),
        ("old.csv.gz", "unpacked"),
        ("old", "without a suffix"),
    ],
)
async def test_a_name_is_refused(
    files: UploadStore, tmp_path: Path, name: str, reason: str
) -> None:
    with pytest.raises(UploadError, match=reason):
        await sent(files, name, LEDGER)
    assert left(tmp_path) == []


BOOK = workbook(ROWS)
FORMULA = b'<row r="9"><c r="A9"><f>1+1</f></c></row></sheetData>'
FINE = io.BytesIO()
pq.write_table(pa.table({"v": pa.array([Decimal(1)], pa.decimal256(50, 0))}), FINE)
WIDE = [f"c{number}" for number in range(10_000)]

KEYS = json.dumps(dict.fromkeys(WIDE, 1))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        pytest.param(
            "a.xlsx", with_sheet(BOOK, b'ref="A1:B3"', b'ref="A1:B1000000000"'),
            "1,000,000,000 rows", id="rows",
        ),
        pytest.param(
            "a.xlsx", with_sheet(BOOK, b'<c r="B3"', b'<c r="XFD1048576"'),
            "1,048,576 rows and 16,384 columns", id="cells",
        ),
        pytest.param(
            "a.xlsx", with_sheet(BOOK, b"</sheetData>", FORMULA), "cell A9 has a formula",
            id="formula",
        ),
        pytest.param("a.parquet", FINE.getvalue(), "'v' .* it is decimal", id="decimal"),
        pytest.param("wide.csv", ",".join(WIDE) + "\n", "10,000 columns", id="columns"),
        pytest.param("wide.jsonl", KEYS, "10,000 columns"),
        pytest.param("a.xlsx", "PK not a workbook", "not a workbook"),
        pytest.param("a.parquet", "PAR1 no", "not a Parquet file", id="parquet"),
        pytest.param("ledger.csv", "id,v\n1,2\n1,2,3\n", "ledger.csv, line 3", id="ragged"),
        pytest.param("a.csv", b"\x00\xff,b\n1,2\n", "a.csv", id="binary"),
        pytest.param("a.csv", BOOK, "suffix .xlsx", id="renamed"),
        pytest.param("a.csv", "", "a.csv", id="empty"),
        pytest.param("a.jsonl", '{"id": 1}\n{"id": \n', "line 2", id="json"),
    ],
)  # fmt: skip
async def test_a_file_is_refused_with_the_reason(  # noqa: PLR0917 - a case
    files: UploadStore,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    name: str,
    content: str | bytes,
    reason: str,
) -> None:
    with pytest.raises(UploadError, match=reason) as refused:
        await sent(files, name, content)
    assert "leaked" not in caplog.text
    assert str(tmp_path) not in str(refused.value)
    assert left(tmp_path) == []


async def test_a_bomb_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UploadError, match="unpacks to more than 2 GB"):
        await sent(UploadStore(tmp_path, 10**8), "a.xlsx", bomb(BOOK, 3 << 30))
    assert left(tmp_path) == []


def test_a_workbook_is_measured_while_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbooks, "MAX_UNPACKED", 10 << 20)
    file = tmp_path / "a.xlsx"
    file.write_bytes(bomb(BOOK, 20 << 20))
    with pytest.raises(UploadError, match="unpacks to more"):
        workbooks.check_workbook(file)
    lying = bytearray(file.read_bytes())
    size = (20 << 20).to_bytes(4, "little")
    assert size in lying
    file.write_bytes(bytes(lying).replace(size, (100).to_bytes(4, "little")))
    with pytest.raises(UploadError, match=r"unpacks to more|not a workbook"):
        workbooks.check_workbook(file)


async def test_owners_do_not_see_each_others_files(files: UploadStore) -> None:
    mine = await sent(files, "ledger.csv", LEDGER, owner="a" * 64)
    assert await files.list("b" * 64) == []
    for upload_id in (mine.id, "../" + "a" * 64 + "/" + mine.id, "..", ""):
        with pytest.raises(UploadNotFound):
            await files.get("b" * 64, upload_id)
        with pytest.raises(UploadNotFound):
            await files.delete("b" * 64, upload_id)
    assert await files.get("a" * 64, mine.id) == mine


async def test_deleting_deletes_every_byte(files: UploadStore, tmp_path: Path) -> None:
    upload = await sent(files, "ledger.csv", LEDGER)
    await files.delete("", upload.id)
    assert left(tmp_path) == []
    with pytest.raises(UploadNotFound):
        await files.delete("", upload.id)


async def test_two_files_of_one_name_are_two_files(files: UploadStore) -> None:
    first, second = await asyncio.gather(
        sent(files, "ledger.csv", LEDGER), sent(files, "ledger.csv", LEDGER + "005,Eve,1.00\n")
    )
    assert {upload.id for upload in await files.list("")} == {first.id, second.id}
    assert (first.rows, second.rows) == (3, 4)


async def test_a_file_that_is_too_large_leaves_nothing(tmp_path: Path) -> None:
    files = UploadStore(tmp_path / "uploads", 1024)
    for size in (None, 5000):
        with pytest.raises(UploadTooLarge, match="split it"):
            await sent(files, "a.csv", "x" * 5000, size=size)
    with pytest.raises(UploadIncomplete, match="20 bytes"):
        await sent(files, "a.csv", "x" * 10, size=20)
    assert left(tmp_path) == []


async def test_an_owner_has_a_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_FILES", 1)
    files = UploadStore(tmp_path / "uploads", 1024)
    await sent(files, "a.csv", LEDGER)
    with pytest.raises(UploadQuota, match="delete files first"):
        await sent(files, "b.csv", LEDGER)
    waiting = list[asyncio.Event]()

    async def slow() -> AsyncIterator[bytes]:
        yield b"id"
        waiting.append(asyncio.Event())
        await waiting[-1].wait()

    senders = [asyncio.create_task(files.receive("other", "a.csv", slow(), None)) for _ in "1234"]
    await soon(lambda: len(waiting) == len(senders))
    with pytest.raises(UploadQuota, match="wait until one is complete"):
        await sent(files, "b.csv", LEDGER, owner="other")
    for sender in senders:
        sender.cancel()
    await asyncio.wait(senders)
    assert len(left(tmp_path)) == 2


async def test_a_disk_without_room_is_said(
    tmp_path: Path, files: UploadStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "RESERVE_BYTES", 2**60)
    with pytest.raises(DiskFull, match="no room"):
        await sent(files, "a.csv", LEDGER)
    assert left(tmp_path) == []


async def test_a_file_takes_the_place_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_FILES", 1)  # the one that is replaced does not count
    files = UploadStore(tmp_path / "uploads", 1024)
    old = await sent(files, "may.csv", LEDGER)
    for rows in (1, 2):
        text = "id\n" + "7\n" * rows
        new = await files.receive("", "june.csv", parts(text.encode()), None, replaces=old.id)
        assert (new.id, new.name, new.rows) == (old.id, "june.csv", rows)
        assert await files.get("", old.id) == new
        assert {path.name for path in new.path.parent.iterdir()} == {"about.json", new.path.name}
    assert not old.path.exists()
    assert len(left(tmp_path)) == 2


async def test_a_file_that_cannot_be_read_replaces_nothing(
    files: UploadStore, tmp_path: Path
) -> None:
    old = await sent(files, "may.csv", LEDGER)
    for name, content in (("june.xlsx", b"no workbook"), ("june.exe", b"MZ")):
        with pytest.raises(UploadError):
            await files.receive("", name, parts(content), None, replaces=old.id)
    for owner, upload_id in (("other", old.id), ("", "0" * 32), ("", "../" + old.id)):
        with pytest.raises(UploadNotFound):
            await files.receive(owner, "june.csv", parts(b"id\n1\n"), None, replaces=upload_id)

    async def deleted_meanwhile() -> AsyncIterator[bytes]:
        yield b"id\n"
        await files.delete("", old.id)
        yield b"1\n"

    assert await files.list("") == [old]
    assert len(left(tmp_path)) == 2
    with pytest.raises(DiskFull, match="deleted while"):
        await files.receive("", "june.csv", deleted_meanwhile(), None, replaces=old.id)
    assert left(tmp_path) == []


async def test_what_is_not_used_is_deleted(files: UploadStore, tmp_path: Path) -> None:
    old, new = [await sent(files, f"{name}.csv", LEDGER) for name in ("old", "new")]
    half_deleted = old.path.parents[1] / ("0" * 32)
    half_deleted.mkdir()
    (half_deleted / "table.parquet").write_text("half")
    long_ago = 1_000_000_000
    os.utime(old.path.with_name("about.json"), (long_ago, long_ago))
    assert await files.purge(None) == 0
    os.utime(half_deleted, (long_ago, long_ago))
    assert await files.purge(None) == 1
    assert await files.purge(timedelta(days=7)) == 1
    assert await files.list("") == [new]
    assert len(left(tmp_path)) == 2


async def test_cancelling_ends_the_reader_and_leaves_nothing(
    files: UploadStore, tmp_path: Path
) -> None:
    rows = "".join(f"{number},{number}.25\n" for number in range(400_000))
    task = asyncio.create_task(sent(files, "a.csv", "id,v\n" + rows))
    await soon(lambda: any("upload.csv" in name for name in left(tmp_path)))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left(tmp_path) == []


async def test_a_file_is_read_as_it_is_written(files: UploadStore) -> None:
    content = "id;größe\n1;1,50\n2;2,25\n".encode("cp1252")
    with pytest.raises(UploadError, match="UTF-8"):
        await sent(files, "a.csv", content)
    options = "decimal=,&encoding=cp1252"
    upload = await files.receive("", "a.csv", parts(content), None, options)
    assert upload.columns == (("id", "BIGINT"), ("größe", "DECIMAL(38,2)"))
    with pytest.raises(UploadError, match="unknown option"):
        await files.receive("", "a.csv", parts(content), None, "path=/etc/passwd")
