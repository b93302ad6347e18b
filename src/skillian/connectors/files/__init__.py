"""CSV, TSV, Parquet and Excel files, read by DuckDB."""
