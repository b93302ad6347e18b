"""ClickHouse, embedded by chDB."""
