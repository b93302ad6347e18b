"""CSV, TSV, Parquet and Excel files, read by DuckDB."""

from skillian.connectors import Engine

ENGINES = (
    Engine(
        title="CSV, Parquet, Excel",
        schemes=("files",),
        dialect="duckdb",
        connector="files.connector:FilesConnector",
        rules="duckdb.statement",
        drivers=("python_calamine",),
    ),
)
