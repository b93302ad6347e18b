"""What killed servers and damaged files leave behind costs nobody else anything."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.uploads import LEDGER
from tests.support.waits import soon

from skillian.uploads import store
from skillian.uploads.limits import UploadNotFound
from skillian.uploads.reading import UploadedTable
from skillian.uploads.store import UploadStore

RECEIVES = """
import asyncio, sys
from pathlib import Path
from skillian.uploads.store import UploadStore

async def endless():
    yield b"x" * 5_000_000
    await asyncio.Event().wait()

files = UploadStore(Path(sys.argv[1]), 10_000_000)
asyncio.run(files.receive("other", "a.csv", endless(), None))
"""


def stored(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*/*")}


async def chunks(content: str = LEDGER) -> AsyncIterator[bytes]:
    yield content.encode()


DAMAGED = ["", "{", "null", "[]", "{}", '{"columns": 1}', "[" * 100_000, "\udcff"]


async def test_a_damaged_description_costs_only_its_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = UploadStore(tmp_path, 1_000_000)
    damaged, whole = [await files.receive("", "a.csv", chunks(), None) for _ in range(2)]
    for content in DAMAGED:
        about = damaged.path.with_name("about.json")
        about.write_text(content, encoding="utf-8", errors="surrogateescape")
        caplog.clear()
        assert await files.list("") == [whole]
        assert damaged.id in caplog.text
        with pytest.raises(UploadNotFound):
            await files.get("", damaged.id)
    third = await files.receive("", "a.csv", chunks(), None)
    await files.delete("", damaged.id)
    assert stored(tmp_path) == {whole.id, third.id}


async def test_what_a_killed_process_received_is_deleted_at_once(tmp_path: Path) -> None:
    files = UploadStore(tmp_path, 10_000_000)
    command = (sys.executable, "-c", RECEIVES, str(tmp_path))
    process = await asyncio.create_subprocess_exec(*command)
    try:
        await soon(lambda: [*tmp_path.glob("other/*/upload.csv")])
        assert await files.purge(None) == 0
    finally:
        process.kill()
        await process.wait()
    assert await files.purge(None) == 1
    assert stored(tmp_path) == set()


async def test_the_files_of_one_key_do_not_delay_those_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading: list[str] = []
    may_end = asyncio.Event()

    async def read_file(_: Path, target: Path, name: str, __: str) -> UploadedTable:
        reading.append(name)
        if name == "slow.csv":
            await may_end.wait()
        await asyncio.to_thread(target.touch)
        return UploadedTable(0, (), (), "", "")

    monkeypatch.setattr(store, "read_file", read_file)
    files = UploadStore(tmp_path, 1_000_000)
    slow = [files.receive("a", "slow.csv", chunks(), None) for _ in range(4)]
    tasks = [asyncio.create_task(each) for each in slow]
    await soon(lambda: reading)
    assert (await files.receive("b", "quick.csv", chunks(), None)).name == "quick.csv"
    assert reading == ["slow.csv", "quick.csv"]
    may_end.set()
    assert len(await asyncio.gather(*tasks)) == len(await files.list("a")) == 4
