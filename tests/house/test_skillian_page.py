"""The `sources.yaml` of docs/skillian.md works as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices

PAGE = Path(__file__).parents[2] / "docs" / "skillian.md"
TABLES = """
CREATE TABLE fi_ledger ("BUKRS" VARCHAR, "FISCPER" VARCHAR, "HSL" DECIMAL(17, 2));
CREATE TABLE bpc_planning (entity INTEGER, "time" VARCHAR, signed_data DECIMAL(17, 2));
INSERT INTO fi_ledger VALUES ('1001', '2024001', 5), ('1001', '2024002', 7);
INSERT INTO bpc_planning VALUES (1001, ' 2024001', -5), (1001, '2024002', -9);
"""


async def test_the_file_on_the_page_compares_its_two_sources(tmp_path: Path) -> None:
    block = re.search(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    (tmp_path / "sources.yaml").write_text(block[1], encoding="utf-8")
    with duckdb.connect(tmp_path / "books.duckdb") as connection:
        connection.execute(TABLES)
    registry = SourceRegistry.load(tmp_path / "sources.yaml")
    async with DataServices(registry) as services:
        result = await services.comparison.compare(
            "ledger", "plan", ["amount"], filters={"company": "1001"}
        )
    assert result.summary.classes.match == 1
    assert result.summary.classes.major_diff == 1
    assert str(result.top_differences[0].gap) == "2.00"
