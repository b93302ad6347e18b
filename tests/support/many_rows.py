"""Two sources that differ in as many groups as wanted."""

from __future__ import annotations

from pathlib import Path

import duckdb

A, B = "ledger", "planning"
_TABLES = """
CREATE TABLE ledger AS SELECT
    printf('D%07d', n) AS document, printf('CC%02d', n % 40) AS centre,
    (n % 9973 + 100)::DECIMAL(17, 2) AS amount
FROM range(1, $rows + 1) AS t (n);
CREATE TABLE planning AS
SELECT document, centre, amount + 1 + (amount % 97)::DECIMAL(17, 2) AS amount FROM ledger;
"""
_SOURCE = """
  {name}:
    connection: main
    table: {name}
    description: Many documents.
    dimensions: {{document: {{column: document}}, centre: {{column: centre}}}}
    measures: {{amount: {{column: amount, aggregation: sum, unit: EUR}}}}"""
_SOURCES = f"""
connections: {{main: duckdb:///many.duckdb}}
sources:{_SOURCE.format(name=A)}{_SOURCE.format(name=B)}
comparison: {{default_align_on: [document, centre]}}
"""
QUESTION = {"source_a": A, "source_b": B, "measures": ["amount"]}
"""The body of `POST /compare`; all groups differ."""
ROWS_QUESTION = {"source_a": A, "source_b": B, "key": ["document"]}
"""The same of whole rows."""


def write_many(folder: Path, rows: int) -> Path:
    """Write the sources with so many documents; returns the path of `sources.yaml`."""
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(folder / "many.duckdb") as connection:
        connection.execute(_TABLES.replace("$rows", str(rows)))
    sources = folder / "sources.yaml"
    sources.write_text(_SOURCES, encoding="utf-8")
    return sources
