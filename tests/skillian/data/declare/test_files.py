"""Files that are sources without a declaration."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter  # pyright: ignore[reportMissingTypeStubs]
from tests.support.asking import comparing

from skillian.data.declare.sources import SourceRegistry
from skillian.data.named import measured_source
from skillian.data.query.relation import bare_tables
from skillian.data.services import DataServices
from skillian.errors import InvalidInputError, QueryError


async def measured(names: Sequence[str], measures: Sequence[str] = ()) -> SourceRegistry:
    """Return files as sources whose columns with fractions are summed."""
    as_source = partial(measured_source, measures=measures, dimensions=["company"])
    registry, _ = await bare_tables(names, None, as_source)
    return registry


async def test_files_are_sources_without_a_definition(tmp_path: Path) -> None:
    old, new = tmp_path / "old.csv", tmp_path / "sub" / "old.csv"
    new.parent.mkdir()
    old.write_text("company,items,amount\n001,3,1.50\n002,4,2\n")
    new.write_text("Company;ITEMS;amount\n001;3;1.5\n002;5;2.25\n")
    a, b = str(old), str(new)
    registry = await measured([a, b], ["items"])
    assert registry.names == (a, b)
    assert list(registry.get(a).dimensions) == ["company"]
    async with DataServices(registry) as services:
        compare = comparing(services.comparison)
        result = await compare(a, b, ["amount", "items"], ["company"])
        assert (await compare(a, a, "amount", ["company"])).summary.classes.match == 2
    amount, items = result.summary.measures
    assert (amount.total_a, amount.total_b) == (Decimal("3.50"), Decimal("3.75"))
    assert (items.total_a, items.total_b) == (Decimal(7), Decimal(8))


async def test_sheets_are_named_behind_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with xlsxwriter.Workbook("book.xlsx") as book:
        for sheet, typed in (("Plan", 1.5), ("Actual", 2.5)):
            page: Any = book.add_worksheet(sheet)  # pyright: ignore[reportUnknownMemberType]
            page.write_row(0, 0, ("company", "amount"))
            page.write_row(1, 0, ("001", typed))
    a, b = "book.xlsx", "book.xlsx#Actual"
    async with DataServices(await measured([a, b])) as services:
        result = await comparing(services.comparison)(a, b, ["amount"], ["company"])
    (amount,) = result.summary.measures
    assert (amount.total_a, amount.total_b) == (Decimal("1.5"), Decimal("2.5"))
    with pytest.raises(QueryError, match="no sheet 'Actuals'; its sheets: Plan, Actual"):
        await measured(["book.xlsx", "book.xlsx#Actuals"])


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
