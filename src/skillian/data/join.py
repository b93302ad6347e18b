"""Whether two rows have the same key, as each database joins by it; NULL equals NULL."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlglot import exp

from skillian.data import sql

_FILLERS = {
    "number": "0",
    "float": "0",
    "boolean": "false",
    "date": "2000-01-01",
    "timestamp": "2000-01-01",
    "time": "00:00",
    "uuid": "00000000-0000-0000-0000-000000000000",
}


class KeyColumn(NamedTuple):
    """A column of the key, which both relations have.

    Attributes:
        name: Its name.
        required: Whether it is never NULL, or need not meet another NULL.
        family: What it holds, on which the value that stands for NULL in PostgreSQL depends.
    """

    name: str
    required: bool
    family: str = "text"


def same_key(key: Sequence[KeyColumn], one: str, other: str, dialect: str) -> exp.Expr:
    """The test whether a row of `one` and a row of `other` have the same key.

    PostgreSQL joins neither by hash nor in full on IS NOT DISTINCT FROM: there, two columns are
    equal if both or neither are NULL and their values with a filler for NULL are equal.
    """
    tests: list[exp.Expr] = []
    for column in key:
        a, b = (sql.column(column.name, relation) for relation in (one, other))
        if column.required:
            tests.append(exp.EQ(this=a, expression=b))
        elif dialect == "postgres":
            nulls = [exp.Paren(this=sql.is_null(each.copy())) for each in (a, b)]
            tests.append(exp.EQ(this=nulls[0], expression=nulls[1]))
            filler = sql.text(_FILLERS.get(column.family, ""))
            filled = [exp.Coalesce(this=each, expressions=[filler.copy()]) for each in (a, b)]
            tests.append(exp.EQ(this=filled[0], expression=filled[1]))
        else:
            tests.append(exp.NullSafeEQ(this=a, expression=b))
    return sql.all_of(tests)
