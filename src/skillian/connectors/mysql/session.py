"""One connection to a MySQL or MariaDB server, and the statement that it runs."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from socket import AF_UNIX, SOCK_STREAM, socket
from typing import Any

import pymysql
from pymysql.converters import encoders
from pymysql.cursors import SSCursor

from skillian.connectors.arrow import batch_of
from skillian.connectors.base import ArrowBatch, ColumnType, columns_by_name
from skillian.connectors.mysql.types import Field, array_of, field_type
from skillian.connectors.servers import CannotConnectError, StateSession
from skillian.errors import QueryError

BATCH_ROWS = 8192
CONNECT_SECONDS = 10

# Strict, and without the modes that change what a quote, `||` or a backslash means, or that take
# stored dates such as 0000-00-00 and 2024-00-15 for one when they are grouped.
_SQL_MODE = "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO"
# The collation is that of `CAST(x AS CHAR)`: bytes, trailing spaces included. Only the first
# max_sort_length bytes of a long text take part in sorting and grouping: 64 KiB rather than 1024,
# with room for several such keys. The server's own limit would cut a result without an error.
_SETTINGS = """
SET NAMES utf8mb4 COLLATE {collation}, sql_mode = '{mode}', time_zone = '+00:00',
    lc_time_names = 'en_US', {timeout}, sql_select_limit = 18446744073709551615,
    sql_big_selects = 1, max_sort_length = 65536, sort_buffer_size = 33554432,
    max_error_count = 8
"""
_READ_ONLY = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_ONE_STATE = "START TRANSACTION WITH CONSISTENT SNAPSHOT"
# A warning reports a value that was cut, rounded or read as 0. These do not: a deprecated feature,
# a broken view in the catalogue, a plan without an index.
_HARMLESS = frozenset({1287, 1681, 3170, 3719, 3778, 1356})

_COMMENT = r"(?>/\*(?!!|M!|\+).*?\*/)"
_SELECT = re.compile(rf"(?:\s|\(|{_COMMENT})*+(?:SELECT|WITH)\b", re.IGNORECASE | re.DOTALL)
# Quoted text; a placeholder; what is refused: a second statement, a comment that is executed or
# that other databases read differently, access to a file of the server.
_PIECES = re.compile(
    rf"""
    '(?:[^'\\]++|\\.|'')*+'? | "(?:[^"\\]++|\\.|"")*+"? | `(?:[^`]++|``)*+`? | {_COMMENT}
    | :(?P<parameter>p\d+)\b
    | (?P<refused> ; | -- | \# | /\* | \b(?:INTO|LOAD_FILE)\b )
    | %
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def _date(value: date, _: object = None) -> str:
    return f"DATE'{value.isoformat()}'"


def _datetime(value: datetime, _: object = None) -> str:
    moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    return f"TIMESTAMP'{moment.isoformat(sep=' ')}'"


# Parameters are written by the driver's encoders, times with their type; results are read as text.
_CONVERSIONS: dict[Any, Any] = {**encoders, date: _date, datetime: _datetime}


class MySQLSession(StateSession):
    """A connection that runs one statement at a time; the first one connects."""

    def __init__(self, login: Mapping[str, Any], seconds: float) -> None:
        super().__init__(seconds)
        self._login = login
        self._connection: Any = None
        self._cursor: Any = None
        self._in_transaction = False

    @property
    def is_usable(self) -> bool:
        """Whether it is connected, and free for another statement."""
        connected = self._connection is not None and self._connection.open
        idle = self.is_ended and not self._in_transaction
        return connected and idle and not self.is_stopped

    def begin(self) -> None:
        """Start a transaction in which all statements read the state of now."""
        with self._connected().cursor() as cursor:
            cursor.execute(_ONE_STATE)
        self._in_transaction = True

    def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without running it."""
        self.start(f"SELECT * FROM ({statement}) AS described LIMIT 0", {})  # noqa: S608 - it is checked
        self.batch()
        return columns_by_name(self.columns)

    def grants(self) -> list[str]:
        """The rights of the user and of its roles, as statements."""
        with self._connected().cursor() as cursor:
            cursor.execute("SHOW GRANTS")
            return [row[0] for row in cursor.fetchall()]

    def start(self, statement: str, parameters: Mapping[str, object]) -> None:
        """Start a SELECT; raises `QueryError` for any other statement, and the driver's errors."""
        text = for_driver(statement)
        connection = self._connected()
        self.check()
        self._cursor = connection.cursor(_Cursor)
        self._cursor.execute(text, dict(parameters))
        self.is_ended = False
        self.columns = [(field.name, field_type(field)) for field in self._cursor.fields]
        self.rows = self._read()

    def end_statement(self) -> None:
        """Have the server stop a running statement, and stay connected."""
        if not self.is_ended and not self.is_stopped:
            self.kill()
            self.is_ended = True
            with suppress(pymysql.MySQLError):
                while self._cursor.fetchmany(BATCH_ROWS):
                    pass

    def stop(self) -> None:
        """Have the server stop a running statement, and disconnect."""
        if not self.is_ended:
            self.kill()
            self._cursor.close()
        if self._connection is not None and self._connection.open:
            self._connection.close()

    def kill(self) -> None:
        """Have the server stop the statement, if it can be reached."""
        if self._connection is None:
            return
        # The server may be down, and the statement with it.
        with suppress(pymysql.MySQLError, OSError):
            killer = _connect(self._login, connect_timeout=CONNECT_SECONDS)
            with killer, killer.cursor() as cursor:
                cursor.execute("KILL QUERY %s", (self._connection.thread_id(),))

    def _read(self) -> Iterator[ArrowBatch]:
        """Yield the rows; raises `DataError` if the server had to cut or invent a value."""
        while not self.is_ended:
            rows = self._cursor.fetchmany(BATCH_ROWS)
            if len(rows) < BATCH_ROWS:
                self.is_ended = True
                self._check_warnings()
            if rows:
                yield batch_of(self.columns, zip(*rows, strict=True), array_of)

    def _connected(self) -> Any:
        if self._in_transaction:
            return self._connection
        if self._connection is not None:
            # The server may have closed it in the meantime.
            with suppress(pymysql.MySQLError):
                self._connection.ping()
                return self._connection
        try:
            self._connection = self._open()
        except (pymysql.MySQLError, OSError, RuntimeError, ValueError) as error:
            raise CannotConnectError(error) from None
        return self._connection

    def _open(self) -> Any:
        connection = _connect(
            self._login,
            autocommit=True,
            conv=_CONVERSIONS,
            connect_timeout=CONNECT_SECONDS,
            read_timeout=self.seconds + CONNECT_SECONDS,
        )
        is_mariadb = "MariaDB" in connection.get_server_info()
        settings = _SETTINGS.format(
            mode=_SQL_MODE,
            collation="utf8mb4_nopad_bin" if is_mariadb else "utf8mb4_0900_bin",
            timeout=f"max_statement_time = {self.seconds}"
            if is_mariadb
            else f"max_execution_time = {int(self.seconds * 1000)}",
        )
        with connection.cursor() as cursor:
            cursor.execute(settings)
            cursor.execute(_READ_ONLY)
        return connection

    def _check_warnings(self) -> None:
        if not self._cursor.warning_count:
            return
        for level, code, text in self._connection.show_warnings():
            if level != "Note" and int(code) not in _HARMLESS:
                raise pymysql.DataError(int(code), text)


def _connect(login: Mapping[str, Any], **options: Any) -> Any:
    connection: Any = pymysql.Connection(**login, **options, defer_connect=True)
    path = login.get("unix_socket")
    if path is None:
        connection.connect()
        return connection
    # The driver's own socket would stay open if the server does not listen.
    unix = socket(AF_UNIX, SOCK_STREAM)
    try:
        unix.settimeout(CONNECT_SECONDS)
        unix.connect(path)
    except OSError:
        unix.close()
        raise
    connection._secure = True  # noqa: SLF001 - as the driver sets it for its own socket
    connection.connect(unix)
    return connection


class _Cursor(SSCursor):
    """A cursor that does not read the remaining rows when it is closed, as the driver's does."""

    connection: Any
    _result: Any

    @property
    def fields(self) -> list[Field]:
        """The columns, with the signs and character sets that `description` omits."""
        return list(self._result.fields)

    def close(self) -> None:
        if self._result is not None:
            self._result.unbuffered_active = False
        self.connection = None

    __del__ = close


def for_driver(statement: str) -> str:
    """A SELECT as the driver takes it: `%(p0)s` for `:p0`, other `%` doubled.

    Raises `QueryError` for anything but a single SELECT, and for access to files of the server.
    """
    if _SELECT.match(statement) is None:
        raise QueryError("only a single SELECT is run here; nothing was executed")

    def piece(match: re.Match[str]) -> str:
        if match["refused"]:
            raise QueryError(f"only a single SELECT is run here, without {match['refused']}")
        if match["parameter"]:
            return f"%({match['parameter']})s"
        return match[0].replace("%", "%%")

    return _PIECES.sub(piece, statement)
