"""Files that cannot be sources without a declaration; the command line tests those that can."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from skillian.data.declare.sources import SourceRegistry
from skillian.data.named import measured_source
from skillian.data.query.relation import bare_tables
from skillian.errors import InvalidInputError, QueryError


async def measured(names: Sequence[str], measures: Sequence[str] = ()) -> SourceRegistry:
    """Return files as sources whose columns with fractions are summed."""
    as_source = partial(measured_source, measures=measures, dimensions=["company"])
    registry, _ = await bare_tables(names, None, as_source)
    return registry


async def test_a_file_that_cannot_be_compared_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("company,name\n001,x\n")
    with pytest.raises(InvalidInputError, match=r"no column to sum; its columns: company, name"):
        await measured([str(path)])
    path.write_text("amount\n1.5\n")
    with pytest.raises(InvalidInputError, match="no column to align on"):
        await measured([str(path)])
    path.unlink()
    with pytest.raises(QueryError, match="check that they exist"):
        await measured([str(path)])
