"""Cells of any length are compared whole, and shown cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.skillian.data.tables.comparing import compare

from skillian.data.tables.findings import MAX_SHOWN

LONG = "x" * 5000


@pytest.mark.parametrize("multiset", [False, True])
async def test_long_cells_are_compared_whole_and_shown_cut(
    tmp_path: Path,
    multiset: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    for name, end in (("a", "1"), ("b", "2")):
        (tmp_path / f"{name}.csv").write_text(f"id,note\n1,{LONG}{end}\n2,{'y' * MAX_SHOWN}\n")
    files = [f"{tmp_path}/{name}.csv" for name in "ab"]
    result = await compare(*files, key=() if multiset else ("id",), multiset=multiset)
    shown = f"{LONG[:MAX_SHOWN]}… (4001 more characters)"
    assert result.rows.matched == 1
    if multiset:
        assert result.samples.only_in_a[0].key["note"] == shown
        return
    assert result.samples.differing[0].cells["note"] == (shown, shown)
    assert (result.columns[0].mismatches, result.columns[0].pairs[0].a) == (1, shown)
