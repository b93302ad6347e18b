"""PostgreSQL, read only, on connections that are kept; each statement has its own snapshot."""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from skillian.connectors.base import TIMEOUT_SECONDS, Table
from skillian.connectors.postgres.errors import explained
from skillian.connectors.postgres.session import PostgresSession
from skillian.connectors.servers import CannotConnectError, StateServerConnector
from skillian.errors import UnavailableError

# A dead peer is detected within a minute, whatever the network does.
_NETWORK = {
    "client_encoding": "utf8",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
# A password that is not percent-encoded may contain any character, up to the last `@`.
_URL = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:@/?]*)(?::(?P<password>.*))?@)?(?P<rest>[^@]*)",
    re.IGNORECASE | re.DOTALL,
)


class PostgresConnector(StateServerConnector[PostgresSession]):
    """A `Connector` to one PostgreSQL database.

    Args:
        name: The connection's name in the configuration; messages use it in place of the URL.
        options: The parameters of libpq: host, dbname, user, password and so on.
        timeout: How many seconds a statement may run.
    """

    dialect = "postgres"
    connections = 8
    patience = 30.0
    failures = (CannotConnectError, psycopg.Error)

    def __init__(
        self, name: str, options: Mapping[str, str], timeout: float = TIMEOUT_SECONDS
    ) -> None:
        login = make_conninfo("", **{**_NETWORK, **options})
        super().__init__(name, timeout, lambda seconds: PostgresSession(login, seconds), explained)

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:  # noqa: ARG003 - the URL has no paths
        """The connector for a URL in libpq's form; the first statement connects.

        Raises `UnavailableError` for a malformed URL.
        """
        match = _URL.fullmatch(url)
        if match is not None:
            login = {key: unquote(match[key]) for key in ("user", "password") if match[key]}
            with suppress(psycopg.ProgrammingError):
                options = conninfo_to_dict(f"postgresql://{match['rest']}", **login)
                return cls(name, {key: str(value) for key, value in options.items()})
        raise UnavailableError(
            f"connection {name!r}: its URL is not understood; write"
            " postgresql://user:password@host:5432/database"
        )

    async def catalog(self) -> tuple[Table, ...]:
        """All relations; those of the default schema first."""
        return await self.read(PostgresSession.catalog)
