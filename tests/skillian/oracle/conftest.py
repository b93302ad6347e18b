"""Pairs of real databases for the tests of this folder.

One name: both sides in one database. Two: a in the first, b in the second.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec

import pytest
from tests.skillian.oracle.places import (
    ClickHousePlace,
    CSVPlace,
    DuckDBPlace,
    MySQLPlace,
    Place,
    PostgresPlace,
    SQLitePlace,
)
from tests.skillian.oracle.profiles import PROFILES
from tests.skillian.oracle.running import Pair
from tests.skillian.oracle.tables import Profile
from tests.support.mysql import Server as MySQLServer
from tests.support.postgres import Server as PostgresServer

# The statement of PostgreSQL, and that of DuckDB over what is staged from both.
MAIN = ("postgres", "duckdb-postgres")
# Each engine with itself, and what only stages, with DuckDB.
ALL = (*MAIN, "duckdb", "duckdb-duckdb", "sqlite-duckdb", "csv-duckdb", "mysql", "clickhouse")
# ORACLE_PAIRS="duckdb sqlite-mysql" runs these instead.
CHOSEN = tuple(os.environ.get("ORACLE_PAIRS", "").split())


@pytest.fixture(scope="session")
def duckdb_place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return DuckDBPlace(tmp_path_factory.mktemp("duckdb"))


@pytest.fixture(scope="session")
def duckdb_other_place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return DuckDBPlace(tmp_path_factory.mktemp("duckdb"))


@pytest.fixture(scope="session")
def sqlite_place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return SQLitePlace(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="session")
def csv_place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return CSVPlace(tmp_path_factory.mktemp("csv"))


@pytest.fixture(scope="session")
def clickhouse_place() -> Place:
    if find_spec("chdb") is None:
        pytest.skip("there is no ClickHouse; get it with: pip install chdb-core")
    return ClickHousePlace()


@pytest.fixture(scope="session")
def postgres_place(postgres_server: PostgresServer) -> Iterator[Place]:
    with postgres_server.database() as database, closing(PostgresPlace(database.url)) as place:
        yield place


@pytest.fixture(scope="session")
def mysql_place(mysql_server: MySQLServer) -> Iterator[Place]:
    with mysql_server.database() as database, closing(MySQLPlace(database.url)) as place:
        yield place


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
    if kinds[1:] == kinds[:1]:
        kinds[1] = f"{kinds[1]}_other"
    places = [request.getfixturevalue(f"{kind}_place") for kind in kinds]
    return Pair(places, PROFILES.get(kinds[0], Profile()))
