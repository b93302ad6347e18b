"""PostgreSQL's errors as messages: never with a host, a user, a database or a password."""

import psycopg

from skillian.connectors.servers import CannotConnectError
from skillian.errors import TOO_LARGE

# Parts of the messages of libpq and the server for a refused connection, and what to check.
_REFUSALS = {
    "password authentication failed": "check user and password of its URL",
    "no password supplied": "its URL needs a password",
    "does not exist": "there is no such database or role; check its URL",
    "no pg_hba.conf entry": "the server does not accept this role from here; ask its administrator",
    "permission denied": "the role may not connect to this database; ask its administrator",
    "is not permitted to log in": "the role may not log in; ask its administrator",
    "too many": "the server has no free connection; try again later",
    "starting up": "the server is starting up; try again in a moment",
    "shutting down": "the server is shutting down",
    "could not translate host name": "there is no such host; check its URL",
    "failed to resolve host": "there is no such host; check its URL",
    "timeout": "the server does not answer; check host and port of its URL, and the network",
    "certificate": "the server's certificate is not accepted; check sslmode and sslrootcert",
    "SSL": "the server and its URL do not agree on encryption; check sslmode",
}
_UNREACHABLE = "the server cannot be reached; check that it runs, and host and port of its URL"
_LOCKED = "55P03"
_DATA = "22"
"""The class of errors about values."""
_EXPRESSION = (
    "; a value does not fit an expression of the query, the view or the declared source: correct"
    " the expression, or leave these rows out with a filter"
)
_OVERFLOW = "numeric field overflow"


def explained(error: Exception) -> str | None:
    """What to check if the server refuses a connection, or what a statement did wrong.

    None means that it ran too long.
    """
    if isinstance(error, CannotConnectError):
        refused = str(error.args[0])
        return next((fix for known, fix in _REFUSALS.items() if known in refused), _UNREACHABLE)
    primary, state = None, ""
    if isinstance(error, psycopg.Error):
        primary, state = error.diag.message_primary, error.sqlstate or ""
    if isinstance(error, psycopg.errors.QueryCanceled) and "timeout" in (primary or ""):
        return None
    lost = isinstance(error, psycopg.OperationalError) and primary is None
    if lost or state.startswith(("08", "57P")):
        return "the server ended the connection; check that it runs and retry"
    if isinstance(error, psycopg.errors.NumericValueOutOfRange) and primary == _OVERFLOW:
        return TOO_LARGE
    if state == _LOCKED:
        return "a table is locked by another session; try again when that has ended"
    text = primary or str(error).partition("\n")[0]
    return text + _EXPRESSION if state.startswith(_DATA) else text
