"""A connection to an empty MariaDB with a table of digits."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.mysql import DIGITS, Database

from skillian.connectors.mysql.connector import MySQLConnector


@pytest.fixture
async def connector(mysql_database: Database) -> AsyncIterator[MySQLConnector]:
    """The connection "books"."""
    mysql_database.execute(DIGITS)
    opened = MySQLConnector.from_url("books", mysql_database.url, Path())
    yield opened
    await opened.aclose()
