"""Databases by the vendor's own DB-API driver; one module for each vendor."""

from skillian.connectors import Engine

ENGINES = (
    Engine(
        title="SQL Server",
        schemes=("mssql",),
        dialect="tsql",
        connector="dbapi.sqlserver:SQLServerConnector",
        rules="dbapi.sqlserver",
        extra="sqlserver",
        drivers=("mssql_python",),
        is_tried=False,
    ),
    Engine(
        title="Oracle",
        schemes=("oracle",),
        dialect="oracle",
        connector="dbapi.oracle:OracleConnector",
        rules="dbapi.oracle",
        extra="oracle",
        drivers=("oracledb",),
        is_tried=False,
    ),
    Engine(
        title="Snowflake",
        schemes=("snowflake",),
        dialect="snowflake",
        connector="dbapi.snowflake:SnowflakeConnector",
        rules="dbapi.snowflake",
        extra="snowflake",
        drivers=("snowflake",),
        is_tried=False,
    ),
    Engine(
        title="BigQuery",
        schemes=("bigquery",),
        dialect="bigquery",
        connector="dbapi.bigquery:BigQueryConnector",
        rules="dbapi.bigquery",
        extra="bigquery",
        drivers=("google.cloud.bigquery",),
        is_tried=False,
    ),
    Engine(
        title="Databricks",
        schemes=("databricks",),
        dialect="databricks",
        connector="dbapi.databricks:DatabricksConnector",
        rules="spark.dialect",
        extra="databricks",
        drivers=("databricks",),
        is_tried=False,
    ),
)
