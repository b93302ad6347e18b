"""ClickHouse, embedded by chDB."""

from skillian.connectors.engines import Engine

ENGINES = (
    Engine(
        title="ClickHouse",
        schemes=("clickhouse",),
        dialect="clickhouse",
        connector="clickhouse.connector:ClickHouseConnector",
        rules="clickhouse.dialect",
        extra="clickhouse",
        drivers=("chdb",),
    ),
)
