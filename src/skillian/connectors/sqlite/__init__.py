"""SQLite files, copied exactly into DuckDB."""

from skillian.connectors import Engine

ENGINES = (
    Engine(
        title="SQLite",
        schemes=("sqlite",),
        dialect="duckdb",
        connector="sqlite.connector:SQLiteConnector",
        rules="duckdb.statement",
    ),
)
