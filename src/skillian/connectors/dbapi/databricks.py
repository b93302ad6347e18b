"""Databricks SQL warehouses, by its connector for Python."""

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import SplitResult

from skillian.connectors.base import Kind
from skillian.connectors.dbapi.connector import DBAPIConnector
from skillian.connectors.servers import decoded
from skillian.connectors.spark.rows import KINDS


class DatabricksConnector(DBAPIConnector):
    """A `Connector` to one SQL warehouse."""

    dialect = "databricks"
    form = "databricks://token:TOKEN@host/sql/1.0/warehouses/ID"
    options = ("catalog", "schema")
    driver = "databricks.sql"
    paramstyle = "named"
    settings = ("SET ANSI_MODE = true", "SET TIME ZONE 'UTC'")
    catalogue = """
SELECT table_schema, table_name, column_name, full_data_type, numeric_scale, is_nullable
FROM information_schema.columns
WHERE table_schema <> 'information_schema'
ORDER BY CASE WHEN table_schema = CURRENT_SCHEMA() THEN 0 ELSE 1 END, table_schema, table_name,
    ordinal_position
"""
    kinds: ClassVar[Mapping[str, Kind]] = {
        **{name.upper(): kind for name, kind in KINDS.items()},
        **dict.fromkeys(("BYTE", "SHORT", "LONG"), "integer"),
    }

    @classmethod
    def login(cls, parts: SplitResult, options: Mapping[str, str]) -> dict[str, Any]:
        """The driver's arguments."""
        return {
            "server_hostname": decoded(parts.hostname),
            "http_path": decoded(parts.path),
            "access_token": decoded(parts.password),
            **options,
        }
