"""Files of rows: complete, or not there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
import pytest

from skillian.errors import QueryError
from skillian.reports.every_row import write_rows
from skillian.reports.formats import ROWS, Format

_arrow: Any = pa


async def _interrupted() -> AsyncIterator[Any]:
    yield _arrow.RecordBatch.from_pydict({"id": [1]})
    raise QueryError("the disk is full")


@pytest.mark.parametrize("form", sorted(ROWS))
def test_a_file_that_fails_leaves_what_was_there(tmp_path: Path, form: Format) -> None:
    path = tmp_path / f"diff.{form}"
    path.write_text("before")
    with pytest.raises(QueryError):
        asyncio.run(write_rows(path, form, _interrupted()))
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "before"


def test_json_lines_hold_json(tmp_path: Path) -> None:
    async def batches() -> AsyncIterator[Any]:
        yield _arrow.RecordBatch.from_pydict({"v": [float("nan"), float("-inf"), 0.5, None]})

    path = tmp_path / "diff.jsonl"
    asyncio.run(write_rows(path, Format.JSONL, batches()))

    def refused(name: str) -> None:
        raise AssertionError(name)

    rows = [json.loads(line, parse_constant=refused) for line in path.read_text().splitlines()]
    assert [row["v"] for row in rows] == ["nan", "-inf", 0.5, None]
