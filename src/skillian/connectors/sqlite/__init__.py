"""SQLite files, copied exactly into DuckDB."""
