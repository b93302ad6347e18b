"""Two ledgers that differ in a known way: as DuckDB tables, Parquet files and PostgreSQL tables.

Of a thousand postings ten are altered in b (five of them by at most 5 cents), five are missing in
a, five are missing in b, and two are loaded into b twice. Their numbers determine which ones, and
also the expected result (`truth.json`), which is computed without reading the tables.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import psycopg
from places import copy_parquet

COLUMNS = "company, period, account, doc, amount, booked, cost_center, currency"
_TABLE = """
CREATE TABLE {} (
    company integer NOT NULL, period varchar(7) NOT NULL, account integer NOT NULL,
    doc bigint NOT NULL, amount numeric(17, 2) NOT NULL, booked date NOT NULL,
    cost_center varchar(6) NOT NULL, currency varchar(3) NOT NULL
)
"""
# Multiples of an odd number near 2 ** 32 / golden ratio are spread evenly.
_POSTINGS = """
CREATE TABLE postings AS
WITH numbered AS (
    SELECT doc, doc * 2654435761 % 4294967296 // 65536 % 1000 AS slot FROM range({rows}) t (doc)
)
SELECT
    (1000 + doc % 40)::INTEGER AS company,
    (2023 + doc // 480 % 3)::VARCHAR || lpad((1 + doc // 40 % 12)::VARCHAR, 3, '0') AS period,
    (400000 + doc * 7919 % 500)::INTEGER AS account,
    doc,
    ((CASE WHEN doc % 3 = 0 THEN -1 ELSE 1 END) * (100 + doc * 7919 % 99999901) * 0.01)
        ::DECIMAL(17, 2) AS amount,
    (CASE
        WHEN slot < 5 THEN (1 + doc % 5) * 0.01
        WHEN slot < 10 THEN (100 + doc * 104729 % 1000001) * 0.01
        ELSE 0
    END)::DECIMAL(17, 2) AS change,
    slot NOT BETWEEN 10 AND 14 AS in_a,
    slot NOT BETWEEN 15 AND 19 AS in_b,
    slot IN (20, 21) AS is_double,
    DATE '2023-01-01' + (doc % 1096)::INTEGER AS booked,
    'CC' || lpad((doc * 31 % 200)::VARCHAR, 4, '0') AS cost_center,
    'EUR' AS currency,
FROM numbered
"""
_SIDES = {
    "a": f"SELECT {COLUMNS} FROM postings WHERE in_a ORDER BY doc",  # noqa: S608 - names of our own
    "b": f"""
        SELECT * EXCLUDE is_late FROM (
            SELECT {COLUMNS.replace("amount", "amount + change AS amount")}, false AS is_late
            FROM postings WHERE in_b
            UNION ALL
            SELECT {COLUMNS}, true FROM postings WHERE is_double
        ) ORDER BY is_late, doc
    """,  # noqa: S608 - as above
}
# The sides of each group, by definition; the class of a group as the comparison names it.
_TRUTH = """
WITH groups AS (
    SELECT
        {keys}, min(doc) AS doc, count(*) FILTER (in_a) AS rows_a,
        (count(*) FILTER (in_b) + count(*) FILTER (is_double)) AS rows_b,
        coalesce(sum(amount) FILTER (in_a), 0) AS a,
        coalesce(sum(amount + change) FILTER (in_b), 0)
            + coalesce(sum(amount) FILTER (is_double), 0) AS b
    FROM postings GROUP BY {keys}
), rated AS (
    SELECT *, b - a AS gap, CASE
        WHEN rows_a = 0 THEN 'missing_in_a'
        WHEN rows_b = 0 THEN 'missing_in_b'
        WHEN a = b THEN 'match'
        WHEN abs(b - a) <= 0.05 THEN 'minor_diff'
        ELSE 'major_diff'
    END AS status FROM groups
)
SELECT
    status, count(*)::BIGINT, sum(doc)::BIGINT, sum(gap)::VARCHAR, sum(abs(gap))::VARCHAR,
    count(*) FILTER (rows_b = 2 * rows_a)::BIGINT,
FROM rated GROUP BY status
"""
GRAINS = {"aggregated": "company, period", "rows": "company, period, account, doc"}


def make_ledgers(folder: Path, rows: int) -> None:
    """Write `ledgers.duckdb`, `a.parquet`, `b.parquet` and `truth.json` of so many postings."""
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(config={"memory_limit": "2GB", "temp_directory": str(folder)}) as made:
        made.execute(_POSTINGS.format(rows=rows))
        truth = {grain: _truth(made, keys) for grain, keys in GRAINS.items()}
        for side, select in _SIDES.items():
            made.execute(f"COPY ({select}) TO '{folder / side}.parquet' (FORMAT parquet)")
    with duckdb.connect(folder / "ledgers.duckdb") as written:
        for side in _SIDES:
            parquet = folder / f"{side}.parquet"
            written.execute(f"CREATE TABLE {side} AS SELECT * FROM '{parquet}'")  # noqa: S608
    (folder / "truth.json").write_text(json.dumps(truth, indent=1))


def load_postgres(folder: Path, url: str) -> None:
    """Copy both sides into a database, with an index on the document as a ledger has it."""
    with psycopg.connect(url, autocommit=True) as connection:
        for side in _SIDES:
            connection.execute(_TABLE.format(side).encode())
            copy_parquet(connection, folder / f"{side}.parquet", side)
            connection.execute(f"CREATE INDEX ON {side} (doc)".encode())
            connection.execute(f"VACUUM ANALYZE {side}".encode())


def _truth(made: duckdb.DuckDBPyConnection, keys: str) -> dict[str, Any]:
    found = made.execute(_TRUTH.format(keys=keys)).fetchall()
    names = ("groups", "docs", "net", "gross", "doubled")
    return {status: dict(zip(names, numbers, strict=True)) for status, *numbers in found}
