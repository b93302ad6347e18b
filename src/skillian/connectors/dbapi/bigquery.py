"""BigQuery, by Google's client; the login is that of Google Cloud's libraries on this machine."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar
from urllib.parse import SplitResult

from sqlglot import exp

from skillian.connectors.base import Kind
from skillian.connectors.dbapi.connector import DBAPIConnector
from skillian.connectors.dbapi.rules import vendor_rules
from skillian.connectors.servers import decoded

_FORM = "'%Y-%m-%d %H:%M:%E6S'"
adapt = vendor_rules(
    "bigquery",
    text="CAST(v AS STRING)",
    timestamp=f"RTRIM(RTRIM(FORMAT_DATETIME({_FORM}, v), '0'), '.')",
    timestamptz=f"RTRIM(RTRIM(FORMAT_TIMESTAMP({_FORM}, v, 'UTC'), '0'), '.') || '+00'",
    whole="BIGNUMERIC",
    functions={
        exp.IntDiv: "DIV(CAST(v AS BIGNUMERIC), CAST(w AS BIGNUMERIC))",
        exp.Sum: "SUM(CAST(v AS BIGNUMERIC))",  # a sum of INT64 overflows
    },
)


class BigQueryConnector(DBAPIConnector):
    """A `Connector` to one dataset of BigQuery."""

    dialect = "bigquery"
    form = "bigquery://project/dataset"
    options = ("location",)
    driver = "google.cloud.bigquery"
    paramstyle = "pyformat"
    catalogue = """
SELECT table_schema, table_name, column_name, data_type, CAST(NULL AS INT64), is_nullable
FROM INFORMATION_SCHEMA.COLUMNS
ORDER BY table_schema, table_name, ordinal_position
"""
    kinds: ClassVar[Mapping[str, Kind]] = {
        "STRING": "text",
        **dict.fromkeys(("INT64", "INTEGER"), "integer"),
        **dict.fromkeys(("NUMERIC", "BIGNUMERIC"), "decimal"),
        **dict.fromkeys(("FLOAT64", "FLOAT"), "float"),
        **dict.fromkeys(("BOOL", "BOOLEAN"), "boolean"),
        "DATE": "date",
        "DATETIME": "timestamp",
        "TIMESTAMP": "timestamptz",
    }

    @classmethod
    def login(cls, parts: SplitResult, options: Mapping[str, str]) -> dict[str, Any]:
        """Project, dataset and location."""
        dataset = decoded(parts.path.removeprefix("/"))
        return {"project": decoded(parts.hostname), "dataset": dataset, **options}

    @classmethod
    def connect(cls, module: Any, login: Mapping[str, Any]) -> Any:
        """A connection whose names without a dataset are in that of the URL."""
        job = module.QueryJobConfig(default_dataset=f"{login['project']}.{login['dataset']}")
        client = module.Client(
            project=login["project"], location=login.get("location"), default_query_job_config=job
        )
        driver: Any = import_module("google.cloud.bigquery.dbapi")
        return driver.connect(client)

    @staticmethod
    def errors(module: Any) -> tuple[type[Exception], ...]:
        """The errors of Google's libraries, which are not those of a DB-API module."""
        del module
        try:
            core: Any = import_module("google.api_core.exceptions")
            auth: Any = import_module("google.auth.exceptions")
        except ModuleNotFoundError:
            return ()
        return core.GoogleAPIError, auth.GoogleAuthError

    @staticmethod
    def described(column: Sequence[Any]) -> tuple[str, int | None]:
        """The type's name; NUMERIC without parameters has 9 decimal places, or 38."""
        name = str(column[1]).upper()
        return name, {"NUMERIC": 9, "BIGNUMERIC": 38}.get(name, column[5])

    @staticmethod
    def cancel(connection: Any, cursor: Any) -> object:
        """Stop the job of a cursor."""
        del connection
        return cursor.query_job.cancel()
