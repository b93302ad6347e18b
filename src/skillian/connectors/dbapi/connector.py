"""A `Connector` over a DB-API module: what all vendors have in common."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

from sqlglot import exp

from skillian.connectors.base import (
    TIMEOUT_SECONDS,
    Column,
    ColumnType,
    Declaration,
    Kind,
    Table,
    columns_by_name,
    tables_of,
)
from skillian.connectors.dbapi.rows import batches, column_type
from skillian.connectors.dialects import single_query
from skillian.connectors.servers import ServerConnector, Session
from skillian.errors import QueryError

_PIECES = re.compile(
    r"""'(?:[^'\\]++|\\.|'')*+'? | "(?:[^"\\]++|\\.|"")*+"? | `(?:[^`]++|``)*+`? | \[[^\]]*+\]?
    | (?<![:@\w])[:@](?P<parameter>p\d+)\b | (?P<percent>%)""",
    re.DOTALL | re.VERBOSE,
)
_REFUSED = (exp.Into, exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop)
# What a driver's message may hold of the address: users, hosts, paths.
_PRIVATE = re.compile(
    r"'[^']*'@'[^']*'|(?:/[^\s'\"`/:]+){2,}/?|\b[\w.-]{1,253}\.(?:com|net|cloud)\b"
)


class DBAPIConnector(ServerConnector["DBAPISession"]):
    """The common part of connectors over a vendor's driver.

    A vendor's class sets the class variables and implements `login`.

    Args:
        connect: Opens a connection of the driver; runs in a thread.
        name: The connection's name in the configuration; messages use it in place of the URL.
        timeout: How many seconds a statement may run.
        errors: What the driver raises, besides the errors of files, sockets and values.
    """

    connections = 4
    keeps_time = True

    driver: ClassVar[str]
    """The driver's module."""
    paramstyle: ClassVar[str]
    """How a bound value is written: `qmark`, `named`, `pyformat`."""
    catalogue: ClassVar[str]
    """Returns schema, table, column, type, scale, and `YES` if it may hold NULL, in this order."""
    kinds: ClassVar[Mapping[str, Kind]]
    """The kinds of the vendor's types, by their names in capitals."""
    settings: ClassVar[tuple[str, ...]] = ()
    """The statements that every connection starts with."""

    def __init__(
        self,
        connect: Callable[[], Any],
        name: str,
        timeout: float = TIMEOUT_SECONDS,
        errors: tuple[type[Exception], ...] = (),
    ) -> None:
        super().__init__(
            name, timeout, lambda seconds: DBAPISession(self, connect, seconds), _explained
        )
        self.failures = (*errors, OSError, RuntimeError, ValueError)

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """The connector for a URL of the form `form`.

        Raises `UnavailableError` for a malformed URL, and `ModuleNotFoundError` without its driver.
        """
        login = cls.login_of(name, url, folder)
        module: Any = import_module(cls.driver)
        return cls(lambda: cls.connect(module, login), name, errors=cls.errors(module))

    @classmethod
    def connect(cls, module: Any, login: Mapping[str, Any]) -> Any:
        """A new connection of the driver."""
        return module.connect(**login)

    @staticmethod
    def errors(module: Any) -> tuple[type[Exception], ...]:
        """The errors of the driver; all are subclasses of `Error` in a DB-API module."""
        return (getattr(module, "Error", RuntimeError),)

    @staticmethod
    def described(column: Sequence[Any]) -> tuple[str, int | None]:
        """The type's name and scale from one column of the cursor's `description`."""
        return str(column[1]), column[5]

    @staticmethod
    def cancel(connection: Any, cursor: Any) -> object:
        """Stop the statement of a cursor, from another thread."""
        del connection
        return cursor.cancel()

    async def catalog(self) -> tuple[Table, ...]:
        """All tables and views, in the order of the catalogue."""
        rows = await self.read(lambda session: session.all_rows(self.catalogue))
        return tables_of(
            self.dialect,
            (
                (
                    schema,
                    table,
                    column,
                    column_type(self.kinds, kind, scale),
                    Declaration(nullable=str(nullable).upper() in {"YES", "Y"}),
                )
                for schema, table, column, kind, scale, nullable in rows
            ),
        )

    def bound(self, statement: str, parameters: Mapping[str, object]) -> tuple[str, Any]:
        """A SELECT as the driver takes it, and its values.

        Raises `QueryError` for anything but a single SELECT.
        """
        self.check(statement)
        names: list[str] = []

        def piece(match: re.Match[str]) -> str:
            name = match["parameter"]
            if name is None:
                doubled = self.paramstyle == "pyformat" and parameters
                return match[0].replace("%", "%%") if doubled else match[0]
            names.append(name)
            return {"qmark": "?", "named": f":{name}"}.get(self.paramstyle, f"%({name})s")

        text = _PIECES.sub(piece, statement)
        if self.paramstyle == "qmark":
            return text, tuple(parameters[name] for name in names)
        return text, {name: parameters[name] for name in dict.fromkeys(names)}

    def columns(self, cursor: Any) -> list[Column]:
        """The columns of a cursor's rows."""
        return [
            (column[0], column_type(self.kinds, *self.described(column)))
            for column in cursor.description
        ]

    def check(self, statement: str) -> None:
        """Raise `QueryError` for anything but a single SELECT."""
        tree = single_query(statement, self.dialect)
        if tree is None or tree.find(*_REFUSED) is not None:
            raise QueryError("only a single SELECT is run here; nothing was executed")


class DBAPISession(Session):
    """A connection that runs one statement at a time.

    It starts with the statements of the connector's `settings`.
    """

    def __init__(
        self, connector: DBAPIConnector, connect: Callable[[], Any], seconds: float
    ) -> None:
        super().__init__(seconds)
        self._connector = connector
        self._connect = connect
        self._connection: Any = None
        self._cursor: Any = None

    @property
    def is_usable(self) -> bool:
        """Whether all rows of its statement were read."""
        return self.is_ended and not self.is_stopped

    def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without reading its rows."""
        self._connector.check(statement)
        self.start(f"SELECT * FROM ({statement}) described WHERE 1 = 0", {})  # noqa: S608 - it is checked
        self.batch()
        return columns_by_name(self.columns)

    def start(self, statement: str, parameters: Mapping[str, object]) -> None:
        """Start a SELECT; raises `QueryError` for any other statement, and the driver's errors."""
        cursor = self._executed(*self._connector.bound(statement, parameters))
        self.columns = self._connector.columns(cursor)
        self.rows = batches(cursor, self.columns)

    def all_rows(self, statement: str) -> list[Sequence[Any]]:
        """The rows of a statement of ours, in the driver's values."""
        rows: list[Sequence[Any]] = self._executed(statement, None).fetchall()
        self.is_ended = True
        return rows

    def kill(self) -> None:
        """Have the server stop the statement, if it can be reached."""
        if self._cursor is not None:
            with suppress(Exception):  # the statement may just have ended
                self._connector.cancel(self._connection, self._cursor)

    def stop(self) -> None:
        """Have the server stop a running statement, and disconnect."""
        self.wait_for_kill()
        if not self.is_ended:
            self.kill()
        if self._connection is not None:
            with suppress(Exception):  # it may be broken
                self._connection.close()

    def _executed(self, statement: str, values: Any) -> Any:
        self.is_ended = False
        if self._connection is None:
            self._connection = self._connect()
            for setting in self._connector.settings:
                self._connection.cursor().execute(setting)
        self.check()
        self._cursor = self._connection.cursor()
        if values:
            self._cursor.execute(statement, values)
        else:
            self._cursor.execute(statement)
        return self._cursor


def _explained(error: Exception) -> str:
    """The driver's message on one line, and without addresses."""
    return _PRIVATE.sub("…", str(error).partition("\n")[0])
