"""PostgreSQL, by psycopg."""

from skillian.connectors import Engine

ENGINES = (
    Engine(
        title="PostgreSQL",
        schemes=("postgresql", "postgres"),
        dialect="postgres",
        connector="postgres.connector:PostgresConnector",
        rules="postgres.dialect",
        extra="postgres",
        drivers=("psycopg",),
    ),
)
