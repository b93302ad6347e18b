"""A DuckDB with two schemas, for the tests of its connector."""

from collections.abc import AsyncIterator
from pathlib import Path

import duckdb
import pytest

from skillian.connectors.duckdb.connector import DuckDBConnector

# Hours of work that keeps no memory busy.
ENDLESS = """
SELECT COUNT(*) FROM range(100000000) AS a, range(100000000) AS b
WHERE (a.range * b.range) % 7 = 3
"""


@pytest.fixture
async def connector(tmp_path: Path) -> AsyncIterator[DuckDBConnector]:
    path = tmp_path / "secret-folder" / "ledger.duckdb"
    path.parent.mkdir()
    with duckdb.connect(path) as connection:
        connection.execute(
            'CREATE TABLE "a ""b"" table" ("select" DECIMAL(17, 2), "Größe" HUGEINT)'
        )
        connection.execute("""INSERT INTO "a ""b"" table" VALUES (0.10, 170141183460469231)""")
        connection.execute("CREATE SCHEMA other; CREATE VIEW other.v AS SELECT DATE '2024-01-31' d")
    opened = DuckDBConnector(path, "books", timeout=60)
    yield opened
    await opened.aclose()
