"""ClickHouse's errors as messages: never with a path, and without the statement."""

import re

from skillian.errors import QueryError

_MESSAGE = re.compile(
    r"Code: (?P<code>\d+)\. DB::Exception: (?P<text>.*?)"
    r"(?:[:.] In scope |: [Ww]hile |: In block |\. ?Stack trace|\. \(|\(version | ?\([A-Z_]+\)$|$)",
    re.DOTALL,
)
_PATH = re.compile(r"(?:/[^\s'\"`/:]+){2,}/?")
_REASONS = {
    "76": (
        "its folder is open in another process, which ClickHouse does not allow; close that one,"
        " or compare a copy"
    ),
    "164": "only a single SELECT of tables is run here; nothing was executed",
    "241": "the statement needs more memory than it may take; narrow it with filters",
    "394": "the statement was stopped",
}


class ClickHouseError(Exception):
    """What ClickHouse refused; the first argument is its message."""


def explained(name: str, error: Exception) -> QueryError:
    """What went wrong with a statement on connection `name`."""
    message = str(error)
    match = _MESSAGE.search(message)
    if match is not None:
        message = _REASONS.get(match["code"]) or match["text"].strip().partition("\n")[0]
    return QueryError(f"connection {name!r}: {_PATH.sub('…', message)}")
