"""Pairs of real databases for the tests of this folder.

One name: both sides in one database. Two: a in the first, b in the second.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.skillian.oracle.running import Pair
from tests.skillian.oracle.tables import PROFILES, Profile
from tests.support.mysql import Server as MySQLServer
from tests.support.places import (
    ClickHousePlace,
    CSVPlace,
    DuckDBPlace,
    Place,
    SQLitePlace,
    in_mysql,
    in_postgres,
)
from tests.support.postgres import Server as PostgresServer

# The statement of PostgreSQL, and that of DuckDB over what is staged from both.
MAIN = ("postgres", "duckdb-postgres")
# Each engine with itself, and what only stages, with DuckDB.
ALL = (*MAIN, "duckdb", "duckdb-duckdb", "sqlite-duckdb", "csv-duckdb", "mysql", "clickhouse")
# ORACLE_PAIRS="duckdb sqlite-mysql" runs these instead.
CHOSEN = tuple(os.environ.get("ORACLE_PAIRS", "").split())


@pytest.fixture(scope="session")
def postgres_place(postgres_server: PostgresServer) -> Iterator[Place]:
    with postgres_server.database() as database, closing(in_postgres(database.url)) as place:
        yield place


@pytest.fixture(scope="session")
def mysql_place(mysql_server: MySQLServer) -> Iterator[Place]:
    with mysql_server.database() as database, closing(in_mysql(database.url)) as place:
        yield place


@pytest.fixture(scope="session")
def place_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Place]:
    """The place of each kind, such as `postgres` or `duckdb other`."""
    folders: dict[str, Callable[[Path], Place]] = {
        "duckdb": DuckDBPlace,
        "sqlite": SQLitePlace,
        "csv": CSVPlace,
    }

    @cache
    def place(kind: str) -> Place:
        name = kind.partition(" ")[0]
        if name in folders:
            return folders[name](tmp_path_factory.mktemp(name))
        if name != "clickhouse":
            found: Place = request.getfixturevalue(f"{name}_place")
            return found
        if find_spec("chdb") is None:
            pytest.skip("there is no ClickHouse; get it with: pip install chdb-core")
        return ClickHousePlace()

    return place


@pytest.fixture(scope="session", params=CHOSEN or MAIN)
def pair(request: pytest.FixtureRequest) -> Pair:
    """For what the statement of each dialect decides."""
    return made(request)


@pytest.fixture(scope="session", params=CHOSEN or ("duckdb",))
def one_pair(request: pytest.FixtureRequest) -> Pair:
    """The cheapest, for what is decided before or after a statement runs."""
    return made(request)


@pytest.fixture(scope="session", params=CHOSEN or ALL)
def any_pair(request: pytest.FixtureRequest) -> Pair:
    """Each pair there is."""
    return made(request)


def made(request: pytest.FixtureRequest) -> Pair:
    kinds = request.param.split("-")
    names = [kinds[0], f"{kinds[1]} other"] if kinds[1:] == kinds[:1] else kinds
    places = map(request.getfixturevalue("place_of"), names)
    return Pair([*places], PROFILES.get(kinds[0], Profile()), kinds)
