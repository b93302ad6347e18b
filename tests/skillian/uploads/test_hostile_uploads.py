"""Files made to harm: refused with the reason or read exactly, in a process that always ends."""

from __future__ import annotations

import asyncio
import io
import os
import random
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter
from tests.support.asking import rows_asked
from tests.support.processes import descendants, is_running
from tests.support.waits import until

from skillian.data.declare.sources import registry_of
from skillian.data.services import DataServices
from skillian.uploads.folders import Upload
from skillian.uploads.limits import UploadError
from skillian.uploads.store import UploadStore
from skillian.uploads.tables import opened

arrow: Any = pa
parquet: Any = pq

GROWN_BYTES = 60 * 2**20


@pytest.fixture
def files(tmp_path: Path) -> UploadStore:
    return UploadStore(tmp_path / "uploads", 100_000_000)


async def sent(files: UploadStore, name: str, content: bytes, options: str = "") -> Upload:
    async def parts() -> AsyncIterator[bytes]:
        yield content

    return await files.receive("", name, parts(), len(content), options)


def written(table: Any, **options: Any) -> bytes:
    target = io.BytesIO()
    parquet.write_table(table, target, **options)
    return target.getvalue()


def number(value: int) -> bytes:
    """A number as a footer has it: zigzag, seven bits in each byte."""
    left, parts = value << 1, bytearray()
    while left >> 7:
        parts.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*parts, left])


def deep() -> bytes:
    kind = arrow.int64()
    for _ in range(1000):
        kind = arrow.list_(kind)
    return written(arrow.table({"id": arrow.array([None], kind)}))


def much_metadata() -> bytes:
    table = arrow.table({"id": [1, 2]})
    return written(table.replace_schema_metadata({str(n): "x" * 1000 for n in range(20_000)}))


def lying() -> bytes:
    """A file of 12,345 rows whose footer claims that each count of them is 33,333,333."""
    content = written(arrow.table({"id": range(12_345)}))
    claimed = number(12_345), number(33_333_333) + b"\0"
    footer = content[: -(int.from_bytes(content[-8:-4], "little") + 8)]
    end = content[len(footer) : -8].replace(claimed[0], claimed[1][: len(claimed[0])])
    return footer + end + len(end).to_bytes(4, "little") + b"PAR1"


def repeated() -> bytes:
    """A small file that stands for 100 GB: 100,000 times the same text of 1 MB."""
    texts = arrow.DictionaryArray.from_arrays([0] * 100_000, ["x" * 2**20])
    return written(arrow.table({"text": texts}), compression="zstd")


def entities() -> bytes:
    return shared('<!DOCTYPE x [<!ENTITY a "{}">]>'.format("a" * 1000), "&a;" * 1000)


def shared(before: str, text: str) -> bytes:
    """A workbook with this text among its shared strings."""
    book = io.BytesIO()
    with xlsxwriter.Workbook(book) as made:
        made.add_worksheet().write_row(0, 0, ["id", "name"])
    target = io.BytesIO()
    with zipfile.ZipFile(book) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name).decode()
            if name.endswith("sharedStrings.xml"):
                content = content.replace("?>", f"?>{before}", 1).replace("name", text)
            new.writestr(name, content)
    return target.getvalue()


HOSTILE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "nested 1,000 deep": ("a.parquet", deep),
    "20 MB of metadata": ("a.parquet", much_metadata),
    "a count of rows that lies": ("a.parquet", lying),
    "100 GB by a dictionary": ("a.parquet", repeated),
    "half a file": ("a.parquet", lambda: written(arrow.table({"id": range(9999)}))[:2000]),
    "entities": ("a.xlsx", entities),
    "a huge shared string": ("a.xlsx", lambda: shared("", "y" * 50_000_000)),
    "a line of 50 MB": ("a.csv", lambda: b"id,v\n1,2\n3," + b"x" * 50_000_000),
    "a header of 50 MB": ("a.csv", lambda: b"x" * 50_000_000),
    "a workbook named CSV": ("a.csv", lambda: shared("", "text")),
    "Parquet named a workbook": ("a.xls", lambda: written(arrow.table({"id": [1]}))),
    "CSV named Parquet": ("a.parquet", lambda: b"id,v\n1,2\n"),
    "nested JSON": ("a.jsonl", lambda: b'{"id":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "a JSON array of 50 MB": ("a.json", lambda: b"[" + b"[]," * 17_000_000 + b"1]"),
}


def readers(parent: int) -> list[int]:
    """The processes that read files for another one."""

    def command(pid: int) -> bytes:
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:  # just ended
            return b""

    return [pid for pid in descendants(parent) if b"skillian.uploads.worker" in command(pid)]


def memory() -> int:
    """The memory of this process in bytes."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def refusal(files: UploadStore, name: str, content: bytes) -> str:
    """Why a file is refused; empty if it is read."""
    try:
        upload = await sent(files, name, content)
    except UploadError as error:
        return str(error)
    assert parquet.read_metadata(upload.path).num_rows == upload.rows
    return ""


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_file_harms_nobody(files: UploadStore, tmp_path: Path, name: str) -> None:
    file_name, make = HOSTILE[name]
    content = make()
    before = memory()
    reason = await refusal(files, file_name, content)
    assert str(tmp_path) not in reason
    assert not (reason and files_in(tmp_path))
    assert memory() - before < GROWN_BYTES
    assert not readers(os.getpid())


async def test_a_parquet_file_is_stored_as_the_reader_wrote_it(files: UploadStore) -> None:
    table = arrow.table(
        {
            "id": [1, 2],
            "amount": arrow.array([Decimal("1.50"), None], arrow.decimal128(38, 2)),
            "seen": arrow.array([1, 2], arrow.timestamp("ns")),
            "zoned": arrow.array([1, 2], arrow.timestamp("us", "UTC")),
            "nested": [{"a": [1, None]}, None],
            "raw": [b"\x00", b""],
            "ratio": arrow.array([float("nan"), -0.0], arrow.float32()),
        }
    ).replace_schema_metadata({"skillian.inferred": "true", "other": "x"})
    content = written(table)
    upload = await sent(files, "a.parquet", content)
    stored = parquet.read_table(upload.path)
    assert str(stored.to_pydict()) == str(table.to_pydict())
    assert not {b"skillian.inferred", b"other"} & {*(stored.schema.metadata or {})}
    again = await sent(files, "a.parquet", content)
    names = [f"upload:{each.id}" for each in (upload, again)]
    async with (
        DataServices(registry_of({}, {}, Path())) as data,
        opened(files, "", names, data) as over,
    ):
        question = rows_asked(over.names[0], over.names[1], key=("id",))
        assert (await over.data.engine.tables.compute(question)).rows.matched == 2


@pytest.mark.parametrize("seed", range(25))
async def test_a_damaged_file_is_refused_or_read(files: UploadStore, seed: int) -> None:
    chosen = random.Random(seed)  # noqa: S311 - not a secret
    content = bytearray(written(arrow.table({"id": range(500), "t": ["x"] * 500})))
    for _ in range(chosen.randint(1, 8)):
        content[chosen.randrange(len(content))] = chosen.randrange(256)
    await refusal(files, "a.parquet", bytes(content))


@pytest.mark.parametrize(
    "options",
    ["path=/etc/passwd", "null=../../etc", "sheet=../x", "encoding=/etc/passwd", "quote=../"],
)
async def test_options_name_no_paths(files: UploadStore, options: str) -> None:
    if options.startswith("null"):
        upload = await sent(files, "a.csv", b"id,v\n1,../../etc\n", options)
        assert upload.rows == 1
        return
    with pytest.raises(UploadError):
        await sent(files, "a.csv", b"id,v\n1,2\n", options)


def test_a_reader_ends_with_its_server(tmp_path: Path) -> None:
    """A server that is killed cannot stop the process that reads a file for it."""
    (tmp_path / "a.csv").write_text("id\n1\n")
    os.mkfifo(tmp_path / "pipe.csv")
    script = (
        "import asyncio, sys; from pathlib import Path;"
        "from skillian.uploads import reading, worker;"
        f"asyncio.run(reading.read_file(Path({str(tmp_path / 'pipe.csv')!r}),"
        f" Path({str(tmp_path / 't.parquet')!r}), 'a.csv'))"
    )
    # The reader waits for a pipe, as it would for a file that takes long.
    server = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.DEVNULL)
    try:
        until(lambda: readers(server.pid))
        children = readers(server.pid)
    finally:
        server.kill()
        server.wait()
    until(lambda: not any(map(is_running, children)))


async def test_eight_files_at_once_leave_no_process(files: UploadStore) -> None:
    names = [f"{number}.csv" for number in range(8)]
    reasons = await asyncio.gather(*(refusal(files, name, b"id,v\n1,2\n") for name in names))
    assert reasons.count("") == 4
    assert all("wait until one is complete" in reason for reason in reasons if reason)
    assert not readers(os.getpid())
    assert len(await files.list("")) == 4
