"""DuckDB database files, and the DuckDB that other engines load their data into."""
