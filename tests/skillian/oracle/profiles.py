"""What some databases cannot hold, or cannot tell apart, and what has to be declared for them."""

from dataclasses import replace
from typing import Any

from tests.skillian.oracle.questions import Column, Question, Side
from tests.skillian.oracle.tables import NUMBERS, Profile, number, small_money
from tests.skillian.oracle.themes import AGREEING, Theme

# SQLite keeps a DECIMAL of more than 15 digits as a binary float.
_SMALL = (
    number(2, 2, small_money),
    number(2, 4, small_money),
    *(each for each in NUMBERS if each.a.kind != "decimal"),
)


def _fits_mysql(theme: Theme) -> bool:
    """Its BOOLEAN is a number, and it refuses to guess at another Unicode form."""
    kinds = theme.a.kind, theme.b.kind
    return "boolean" not in kinds and "nfc" not in theme.declared_a.get("normalise", ())


def _declared(question: Question) -> Question:
    """Return the question with the types of a declared: a CSV file has none."""
    return replace(question, a=_typed(question.a))


def _typed(side: Side) -> Side:
    columns = {column.name: column for column in side.table.columns}
    dimensions = {
        name: {"type": _type(columns[declared["column"]]), **declared}
        if len(declared) == 1
        else declared
        for name, declared in side.dimensions.items()
    }
    casts = {
        name: {**declared, "expression": _cast(columns[declared["column"]])}
        for name, declared in side.measures.items()
    }
    return replace(side, dimensions=dimensions, measures=casts, is_typed=False)


def _type(column: Column) -> str:
    return f"decimal(24,{column.scale})" if column.kind == "decimal" else column.kind


def _cast(column: Column) -> str:
    types: dict[str, Any] = {"text": "VARCHAR", "integer": "BIGINT"}
    quoted = column.name.replace('"', '""')
    return f'CAST("{quoted}" AS {types.get(column.kind, _type(column))})'


PROFILES = {
    "sqlite": Profile(numbers=_SMALL),
    "csv": Profile(adapt=_declared),
    "mysql": Profile(themes=tuple(filter(_fits_mysql, AGREEING))),
}
