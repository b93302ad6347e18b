"""The tables of the history."""

from sqlalchemy import (
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    func,
    inspect,
    select,
)

_tables = MetaData()
runs = Table(
    "skillian_history_runs",
    _tables,
    Column("id", Integer, primary_key=True),
    Column("comparison", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("findings", Integer, nullable=False),
    Column("new", Integer, nullable=False),
    Column("known", Integer, nullable=False),
    Column("fixed", Integer, nullable=False),
    Column("sources", Text),
    Index("skillian_history_runs_by_comparison", "comparison", "id"),
)
findings = Table(
    "skillian_history_findings",
    _tables,
    Column("comparison", Text, primary_key=True),
    Column("finding", Text, primary_key=True),
    Column("text", Text, nullable=False),
    Column("since", Text, nullable=False),
    Column("fixed", Text),
    Column("note", Text),
    Column("due", Text),
    Column("runs", Integer, nullable=False),
    Column("sizes", Text, nullable=False),
    Column("noted", Text),
)
_ONE_AT_A_TIME = 7_532_116_905  # our number among a PostgreSQL server's advisory locks


def create_tables(connection: Connection) -> None:
    """Create the tables that are missing.

    In PostgreSQL, transactions that find tables missing create them one after another:
    `IF NOT EXISTS` does not see those of others.
    """
    present = inspect(connection)
    if not all(present.has_table(name) for name in _tables.tables):
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_ONE_AT_A_TIME)))
        _tables.create_all(connection)
