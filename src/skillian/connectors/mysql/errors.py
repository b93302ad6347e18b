"""MySQL's errors as messages: never with a host, a user, a password or a path."""

import re

from pymysql.constants import CR, ER

from skillian.connectors.servers import CannotConnectError

STATEMENT_TIMEOUT = frozenset({1969, 3024})  # MariaDB's, MySQL's

_REFUSALS: dict[int, str] = {
    ER.ACCESS_DENIED_ERROR: "check user and password of its URL",
    1698: "check user and password of its URL",
    ER.DBACCESS_DENIED_ERROR: "the user may not read this database; ask its administrator",
    ER.BAD_DB_ERROR: "there is no such database; check its URL",
    ER.CON_COUNT_ERROR: "the server has no free connection; try again later",
    1203: "the user has no free connection; try again later",
    ER.HOST_IS_BLOCKED: "the server does not accept this machine; ask its administrator",
    ER.HOST_NOT_PRIVILEGED: "the server does not accept this machine; ask its administrator",
    3159: "the server requires an encrypted connection; add ssl_ca to its URL",
}
_UNREACHABLE = (
    "the server cannot be reached; check that it runs, and host, port, unix_socket and ssl_ca of"
    " its URL"
)
_LOST = frozenset(
    {0, CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST, ER.SERVER_SHUTDOWN, 1927, 4031, 1152, 1159}
)
_DENIED = frozenset(
    {ER.TABLEACCESS_DENIED_ERROR, ER.COLUMNACCESS_DENIED_ERROR, ER.PROCACCESS_DENIED_ERROR}
)
# 'user'@'host', and the path of a file of the server.
_PRIVATE = re.compile(r"'[^']*+'@'[^']*+'|'[./][^'/]*+/[^']*+'")


def explained(error: Exception) -> str | None:
    """What to check if the server refuses a connection, or what a statement did wrong.

    None means that it ran too long.
    """
    if isinstance(error, CannotConnectError):
        return _REFUSALS.get(_code(error.args[0]) or 0, _UNREACHABLE)
    code = _code(error)
    if code in STATEMENT_TIMEOUT:
        return None
    if code in _LOST:
        return "the server ended the connection; check that it runs and retry"
    if code == ER.QUERY_INTERRUPTED:
        return "the statement was stopped"
    if code in _DENIED:
        return "the user may not read what the statement names; ask for the right to SELECT"
    return _PRIVATE.sub("…", str(error.args[-1]).partition("\n")[0])


def _code(error: Exception) -> int | None:
    code = error.args[0] if error.args else None
    return code if isinstance(code, int) else None
