"""ClickHouse servers, over HTTP."""

from skillian.connectors import Engine

ENGINES = (
    Engine(
        title="ClickHouse",
        schemes=("clickhouse",),
        dialect="clickhouse",
        connector="clickhouse.connector:ClickHouseConnector",
        rules="clickhouse.dialect",
        extra="clickhouse",
        drivers=("clickhouse_connect",),
        is_tried=False,
    ),
)
