import pytest
from tests.support.postgres import FOLDER, Database

from skillian.connectors.postgres.connector import PostgresConnector
from skillian.errors import QueryError


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://scott:tiger@/{database}?{host}", "check user and password"),
        ("postgresql://scott@/{database}?{host}", "needs a password"),
        ("postgresql://postgres@/tiger_db?{host}", "no such database"),
        ("postgresql://scott:tiger@/db?host=/tiger/run", "check that it runs"),
        ("postgresql://scott:tiger@127.0.0.1:1/db", "check that it runs"),
        ("postgresql://scott:tiger@nowhere.invalid/db", "no such host"),
    ],
)
async def test_a_refused_connection_says_what_to_check_and_no_secret(
    postgres_database: Database, url: str, message: str
) -> None:
    host = postgres_database.server.url().partition("?")[2]
    given = url.format(database=postgres_database.name, host=host)
    connector = PostgresConnector.from_url("books", given, FOLDER)
    for call in (connector.catalog(), connector.run("SELECT 1", {})):
        with pytest.raises(QueryError, match=message) as refused:
            await call
        assert str(refused.value).startswith("connection 'books': ")
        secrets = ("scott", "tiger", "127.0.0.1", "nowhere", str(postgres_database.server.folder))
        assert not any(secret in str(refused.value) for secret in secrets)
        assert refused.value.__cause__ is None
    await connector.aclose()


async def test_errors_of_a_statement_name_the_connection_in_one_line(
    postgres_connector: PostgresConnector,
) -> None:
    with pytest.raises(QueryError) as refused:
        await postgres_connector.run("SELECT nothing FROM missing", {})
    assert str(refused.value) == "connection 'books': relation \"missing\" does not exist"
    with pytest.raises(QueryError, match=r"connection 'books': .*NUL"):
        await postgres_connector.run("SELECT %(p0)s AS x", {"p0": "\0"})
