import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.mysql import Database as MySQLDatabase
from tests.support.postgres import Database
from tests.support.postgres import Server as PostgresServer

Store = Callable[..., str]


@pytest.fixture
def other_postgres(postgres_server: PostgresServer) -> Iterator[Database]:
    with postgres_server.database() as database:
        yield database


@pytest.fixture
def store(tmp_path: Path, request: pytest.FixtureRequest) -> Store:
    """Runs statements in a database, such as `sqlite` or `duckdb other`, and returns its URL."""

    def stored(name: str, *statements: str) -> str:
        kind, _, other = name.partition(" ")
        path = tmp_path / f"{other or 'main'}.{kind}"
        if kind == "duckdb":
            newest: Any = {"storage_compatibility_version": "latest"}
            with duckdb.connect(path, config=newest) as connection:
                for statement in statements:
                    connection.execute(statement)
            return f"duckdb:///{path}"
        if kind == "sqlite":
            with closing(sqlite3.connect(path)) as file, file:
                file.executescript(";".join(statements))
            return f"sqlite:///{path}"
        fixture = f"other_{kind}" if other else f"{kind}_database"
        database: MySQLDatabase | Database = request.getfixturevalue(fixture)
        for statement in statements:
            database.execute(statement)
        return database.url

    return stored
