"""ClickHouse servers, over HTTP."""
