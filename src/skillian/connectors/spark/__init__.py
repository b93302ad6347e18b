"""Spark, in this process or by Spark Connect."""

from skillian.connectors.engines import Engine

ENGINES = (
    Engine(
        title="Spark",
        schemes=("spark",),
        dialect="spark",
        connector="spark.local:SparkConnector",
        rules="spark.dialect",
        extra="spark",
        drivers=("pyspark",),
    ),
    Engine(
        title="Spark Connect",
        schemes=("sc",),
        dialect="spark",
        connector="spark.connect:SparkConnectConnector",
        rules="spark.dialect",
        extra="spark",
        drivers=("pyspark",),
    ),
)
