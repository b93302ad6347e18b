"""Two copies of a table of customers that differ in each way that rows can differ."""

from __future__ import annotations

from pathlib import Path

import duckdb

SOURCES = """
connections: {main: duckdb:///customers.duckdb}
sources:
  customers:
    connection: main
    table: customers
    description: Customers of the shop.
    dimensions: {id: {column: id}, country: {column: country}}
    measures: {credit: {column: credit, aggregation: sum, unit: EUR}}
  customers_copy:
    connection: main
    table: customers_copy
    description: The same customers, as they were loaded into the warehouse.
    dimensions: {id: {column: id}, country: {column: country}}
    measures: {credit: {column: credit, aggregation: sum, unit: EUR}}
"""
TABLES = """
CREATE TABLE customers AS SELECT
    i AS id, 'Customer ' || i AS name,
    CASE i % 3 WHEN 0 THEN 'Germany' WHEN 1 THEN 'France' ELSE 'Spain' END AS country,
    (i * 12.5)::DECIMAL(12, 2) AS credit, DATE '2024-01-01' + i::INTEGER AS since, 'x' AS segment
FROM range(1, 61) AS numbers(i);
UPDATE customers SET name = 'Zo\u00eb' WHERE id = 7;
CREATE TABLE customers_copy AS SELECT * EXCLUDE segment, 'gold' AS grade FROM customers;
UPDATE customers_copy SET country = 'DE' WHERE country = 'Germany';
UPDATE customers_copy SET credit = credit + 0.01 WHERE id IN (4, 9);
UPDATE customers_copy SET credit = NULL WHERE id = 5;
UPDATE customers_copy SET name = 'Zoe\u0308' WHERE id = 7;
UPDATE customers_copy SET name = name || ' ' WHERE id = 8;
UPDATE customers_copy SET name = '<img src=x onerror=window.pwned=80>' WHERE id = 10;
DELETE FROM customers_copy WHERE id IN (11, 12);
INSERT INTO customers_copy SELECT * REPLACE (id + 100 AS id) FROM customers_copy WHERE id = 1;
INSERT INTO customers_copy SELECT * FROM customers_copy WHERE id = 2;
"""


def write_customers(folder: Path) -> Path:
    """Write the tables and their `sources.yaml`; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(folder / "customers.duckdb") as connection:
        connection.execute(TABLES)
    sources = folder / "sources.yaml"
    sources.write_text(SOURCES, encoding="utf-8")
    return sources
