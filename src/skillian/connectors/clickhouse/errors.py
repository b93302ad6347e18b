"""ClickHouse's errors as messages: never with a host, a user or a path, without the statement."""

import re

_MESSAGE = re.compile(
    r"Code: (?P<code>\d+)\. DB::Exception: (?P<text>.*?)"
    r"(?:[:.] In scope |: [Ww]hile |: In block |\. ?Stack trace|\. \(|\(version "
    r"| ?\([A-Z_]+\)(?= \(version |$)|$)",
    re.DOTALL,
)
_PATH = re.compile(r"(?:/[^\s'\"`/:]+){2,}/?")
_LOGIN = "check user and password of its URL"
LOST = "the server ended the connection; check that it runs and retry"
_TIMEOUT = "159"
_REASONS = {
    "81": "there is no such database; check its URL",
    "164": "only a single SELECT of tables is run here; nothing was executed",
    "192": _LOGIN,
    "193": _LOGIN,
    "194": _LOGIN,
    "202": "the server runs too many statements; try again later",
    "241": "the statement needs more memory than it may take; narrow it with filters",
    "394": "the statement was stopped",
    "497": "the user may not read what the statement names; ask for the right to SELECT",
    "516": _LOGIN,
}
_OVERFLOWS = "Can't compare decimal number"
_BEYOND = (
    "a filter's value is outside the range of its column, such as the years 1678 to 2261 of a"
    " DateTime64(9); state one within it, or leave the filter out"
)
_UNREACHABLE = (
    "the server cannot be reached over HTTP; check that it runs, and host, port (8123, with TLS"
    " 8443), secure and ca_cert of its URL"
)


class StatementError(Exception):
    """Why a statement failed that the driver had accepted; the first argument is a message."""


def explained(error: Exception) -> str | None:
    """What went wrong with a statement; None means that it ran too long."""
    match = _MESSAGE.search(str(error))
    if match is None:
        text = str(error) if isinstance(error, StatementError) else _UNREACHABLE
    elif match["code"] == _TIMEOUT:
        return None
    else:
        text = _REASONS.get(match["code"]) or match["text"].strip().partition("\n")[0]
        text = _BEYOND if text.startswith(_OVERFLOWS) else text
    return _PATH.sub("…", text)
