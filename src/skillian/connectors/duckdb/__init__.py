"""DuckDB database files, and the DuckDB that other engines load their data into."""

from skillian.connectors import Engine

ENGINES = (
    Engine(
        title="DuckDB",
        schemes=("duckdb",),
        dialect="duckdb",
        connector="duckdb.connector:DuckDBConnector",
        rules="duckdb.statement",
        drivers=("duckdb",),
    ),
)
