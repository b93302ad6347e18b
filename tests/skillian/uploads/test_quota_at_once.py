"""The quota holds for files that arrive at the same time, and for files of unknown size."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from skillian.uploads import store as stores
from skillian.uploads.limits import UploadQuota
from skillian.uploads.store import UploadStore


async def _chunks(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def test_files_sent_at_once_do_not_exceed_the_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "MAX_TOTAL", 1)
    content = b"id,amount\n" + b"1,20\n" * 10
    store = UploadStore(tmp_path / "files", len(content))
    sent = (store.receive("", f"{number}.csv", _chunks(content), None) for number in range(2))
    results = await asyncio.gather(*sent, return_exceptions=True)
    assert [type(result) for result in results].count(UploadQuota) == 1, results
    assert len(await store.list("")) == 1
