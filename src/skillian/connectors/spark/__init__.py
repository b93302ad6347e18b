"""Spark, by Spark Connect."""

from skillian.connectors import Engine

ENGINES = (
    Engine(
        title="Spark",
        schemes=("sc",),
        dialect="spark",
        connector="spark.connect:SparkConnectConnector",
        rules="spark.dialect",
        extra="spark",
        drivers=("pyspark",),
    ),
)
