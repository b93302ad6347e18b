"""What a column is taken for when nobody has declared it: a dimension, a measure, or neither."""

import re
from dataclasses import dataclass

from sqlglot import exp

from skillian.connectors.base import ColumnType
from skillian.data.definitions import Dimension, Measure

_REPEATED = 20
_PLAIN = frozenset({"text", "boolean", "date", "timestamp", "timestamptz"})
_UNSCALED = ("NUMERIC", "DECIMAL", "NUMBER")
# What whole numbers are, by the last word of their column's name that is one of these.
_AMOUNTS = frozenset(
    {
        *("amount", "balance", "cost", "costs", "count", "credit", "debit", "gross", "hours"),
        *("net", "pieces", "price", "qty", "quantity", "sum", "tax", "total", "units", "value"),
        *("volume", "weight"),
    }
)
_KEYS = frozenset(
    {
        *("account", "center", "centre", "code", "company", "customer", "day", "doc", "document"),
        *("entity", "fiscal", "id", "item", "key", "line", "month", "no", "nr", "num", "number"),
        *("order", "period", "plant", "position", "product", "project", "quarter", "ref"),
        *("segment", "unit", "vendor", "version", "week", "year", "zip"),
    }
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True, slots=True)
class Look:
    """The first rows of a table: how many there are, and how many values a column has there."""

    rows: int
    distinct: int


@dataclass(frozen=True, slots=True)
class Role:
    """What a column is taken for (None: nothing), and what to check about that."""

    definition: Dimension | Measure | None
    remark: str = ""


def is_whole(kind: ColumnType) -> bool:
    """Whether values are whole numbers, which may be amounts as well as keys."""
    return kind.kind == "integer" or (kind.kind == "decimal" and kind.scale == 0)


def role_of(column: str, kind: ColumnType, look: Look, dialect: str) -> Role:
    """Return what a column is taken for."""
    if kind.kind in _PLAIN:
        return Role(Dimension(column=column))
    if is_whole(kind):
        return _whole_number(column, look)
    if kind.kind == "decimal":
        return Role(Measure(column=column, aggregation="sum"))
    if kind.kind == "float" or kind.sql.upper().startswith(_UNSCALED):
        cast = exp.cast(exp.column(column, quoted=True), "DECIMAL(18, 2)").sql(dialect)
        remark = f"check: {kind.sql} is rounded to two digits to be exact"
        return Role(Measure(expression=cast, aggregation="sum"), remark)
    return Role(None, f"left out: {column} is {kind.sql}")


def _whole_number(column: str, look: Look) -> Role:
    """A key is a dimension; where the name does not tell, the values do."""
    telling = _telling(column)
    key, amount = Role(Dimension(column=column)), Role(Measure(column=column, aggregation="sum"))
    if telling:
        return key if telling in _KEYS else amount
    if look.distinct == look.rows:
        return Role(key.definition, "check: taken for a key, as no value repeats")
    if look.distinct * _REPEATED <= look.rows:
        return Role(key.definition, "check: taken for a key, as its values repeat")
    return Role(amount.definition, "check: taken for an amount; a key is a dimension")


def looks_like_key(column: str, kind: ColumnType) -> bool:
    """Whether whole numbers are rather codes than amounts, by their column's name."""
    return is_whole(kind) and _telling(column) in _KEYS


def _telling(column: str) -> str:
    """The last word of a name that says what the column holds; empty where none does."""
    words = [word.lower() for word in _WORD.findall(column)]
    return next((word for word in reversed(words) if word in _AMOUNTS | _KEYS), "")
