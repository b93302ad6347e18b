"""A SELECT for ClickHouse: its check, and its parameters with their types."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import NamedTuple

from sqlglot import exp

from skillian.connectors.base import MAX_DIGITS
from skillian.connectors.dialects import single_query
from skillian.errors import QueryError

_LONG = 2**63
# Functions that read files, which ClickHouse also allows to a session that is read only.
_REFUSED = frozenset({"file"})
_PIECES = re.compile(
    r"""'(?:[^'\\]++|\\.|'')*+'? | "(?:[^"\\]++|\\.|"")*+"? | `(?:[^`\\]++|\\.|``)*+`?
    | \{(?P<parameter>\w+):\s*\} | \bAS\ (?P<materialized>MATERIALIZED)\ (?=\()""",
    re.DOTALL | re.VERBOSE,
)


class Parameter(NamedTuple):
    """The type of a bound value, and the value as text; None is NULL."""

    type: str
    value: str | None


def bound(parameters: Mapping[str, object]) -> dict[str, Parameter]:
    """Values with their types."""
    return {name: _parameter(value) for name, value in parameters.items()}


def checked(statement: str, parameters: Mapping[str, Parameter]) -> str:
    """A SELECT with the types of its parameters.

    Raises `QueryError` for anything but a single SELECT of tables and views, which ClickHouse's
    read-only mode does not refuse alone: it lets a statement write its rows to a file.
    """

    def piece(match: re.Match[str]) -> str:
        name = match["parameter"]
        return f"{{{name}: {parameters[name].type}}}" if name in parameters else match[0]

    text = _PIECES.sub(piece, statement)
    tree = single_query(text, "clickhouse")
    if tree is None or not _harmless(tree):
        raise QueryError("only a single SELECT of tables is run here; nothing was executed")
    return text


def without_materialized(text: str) -> str:
    """A SELECT for a server that does not know this word, and computes a relation at each use."""
    return _PIECES.sub(lambda match: "AS " if match["materialized"] else match[0], text)


def _harmless(tree: exp.Query) -> bool:
    if any(query.args.get("format") for query in tree.find_all(exp.Query)):
        return False
    if any(not isinstance(table.this, exp.Identifier) for table in tree.find_all(exp.Table)):
        return False
    return all(node.name.lower() not in _REFUSED for node in tree.find_all(exp.Func))


def _parameter(value: object) -> Parameter:
    if value is None:
        return Parameter("Nullable(String)", None)
    if isinstance(value, bool):
        return Parameter("Bool", str(value).lower())
    if isinstance(value, int | Decimal):
        return _number(value)
    if isinstance(value, date):
        return _moment(value)
    return Parameter("String", str(value))


def _moment(value: date) -> Parameter:
    if not isinstance(value, datetime):
        return Parameter("Date32", value.isoformat())
    if value.tzinfo is None:
        return Parameter("DateTime64(6)", value.isoformat(" "))
    moment = value.astimezone(UTC).replace(tzinfo=None)
    return Parameter("DateTime64(6, 'UTC')", moment.isoformat(" "))


def _number(value: int | Decimal) -> Parameter:
    if isinstance(value, int):
        return Parameter("Int64" if -_LONG <= value < _LONG else "Int256", str(value))
    text = format(value, "f")
    scale = len(text.partition(".")[2])
    wide = len(text.strip("-").replace(".", "")) > MAX_DIGITS
    return Parameter(f"Decimal({2 * MAX_DIGITS if wide else MAX_DIGITS}, {scale})", text)
