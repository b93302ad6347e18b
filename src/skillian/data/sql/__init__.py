"""The small pieces every statement is made of. Names are always quoted, values always bound."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp

from skillian.connectors.base import Table
from skillian.connectors.dialects import compile_sql, filled

MAX_DIGITS = 38
DUCKDB_TYPES = {
    "integer": "BIGINT",
    "float": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
}
"""The types as which DuckDB reads texts, by kind."""
PLAIN_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"
"""The pattern of a text that is a number and cannot be a code, such as 007 or 1e5."""
_FILLERS = {
    "number": "0",
    "float": "0",
    "boolean": "false",
    "date": "2000-01-01",
    "timestamp": "2000-01-01",
    "time": "00:00",
    "uuid": "00000000-0000-0000-0000-000000000000",
}


class BoundValues:
    """The bound values of one statement, by placeholder."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}

    def bind(self, value: object) -> exp.Placeholder:
        """Add a value and return its placeholder."""
        name = f"p{len(self.values)}"
        self.values[name] = value
        return exp.Placeholder(this=name)


def name(text: str) -> exp.Identifier:
    """A quoted identifier; quotes in it are doubled in the statement."""
    return exp.to_identifier(text, quoted=True)


def column(text: str, table: str) -> exp.Column:
    """A column of the relation aliased `table`."""
    return exp.Column(this=name(text), table=name(table))


def named(expression: exp.Expr, alias: str) -> exp.Alias:
    """`expression AS "alias"`."""
    return exp.Alias(this=expression, alias=name(alias))


def decimal(expression: exp.Expr, scale: int) -> exp.Expr:
    """A cast to the widest decimal of this scale; the statement fails for larger values."""
    # `exp.cast` does not change an expression that is a cast to a decimal of any scale, and parses
    # the name of the type.
    digits = [exp.DataTypeParam(this=exp.Literal.number(each)) for each in (MAX_DIGITS, scale)]
    kind = exp.DataType(this=exp.DataType.Type.DECIMAL, expressions=digits, nested=False)
    return exp.Cast(this=exp.maybe_copy(expression), to=kind)


def as_text(value: exp.Expr) -> exp.Expr:
    """`CAST(value AS TEXT)`. `exp.cast` would parse the name of the type for each value."""
    return exp.Cast(this=value, to=exp.DataType(this=exp.DataType.Type.TEXT))


def template(text: str, **values: exp.Expr) -> exp.Expr:
    """The expression of a template of neutral SQL, its columns of these names replaced by `values`.

    Names that stay are in double quotes.
    """
    expression: exp.Expr = filled(text, "", **values).this
    return expression


def all_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """The conditions joined by AND."""
    return exp.and_(*conditions, copy=False)


def any_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """The conditions joined by OR."""
    return exp.or_(*conditions, copy=False)


def relation(table: Table, alias: str) -> exp.Expr:
    """A table of a catalogue as a statement reads it, under another name."""
    stored = exp.Table(this=name(table.name), db=name(table.schema))
    aliased = exp.alias_(stored, name(alias), table=True)
    return exp.Final(this=aliased) if table.merges else aliased


def bare(text: str) -> exp.Column:
    """A column of the only relation of a SELECT."""
    return exp.Column(this=name(text))


def table(text: str) -> exp.Table:
    """A relation that the statement itself defines."""
    return exp.Table(this=name(text))


def select(columns: Iterable[exp.Expr], source: exp.Query | str, alias: str = "") -> exp.Select:
    """A SELECT of columns from a relation of this name, or from a query with an alias."""
    relation = (
        table(source) if isinstance(source, str) else source.subquery(name(alias), copy=False)
    )
    return exp.Select(expressions=[*columns]).from_(relation, copy=False)


def text(value: str) -> exp.Literal:
    """A text literal; values from users are bound instead."""
    return exp.Literal.string(value)


def zero() -> exp.Expr:
    """`0`."""
    return exp.Literal.number(0)


def one() -> exp.Expr:
    """`1`."""
    return exp.Literal.number(1)


def uppered(value: exp.Expr) -> exp.Expr:
    """The text in upper case; the German sharp s stays `ß`, as all databases have it."""
    capitals = exp.Upper(this=value)
    sharp, plain = (exp.Literal.string(letter) for letter in "\u1e9e\u00df")
    return exp.Replace(this=capitals, expression=sharp, replacement=plain)


def equals(value: exp.Expr, number: int) -> exp.Expr:
    """`value = number`."""
    return exp.EQ(this=value.copy(), expression=exp.Literal.number(number))


def is_text(value: exp.Expr, known: str) -> exp.Expr:
    """`value = 'known'`."""
    return exp.EQ(this=value.copy(), expression=text(known))


def is_null(value: exp.Expr) -> exp.Expr:
    """`value IS NULL`."""
    return exp.Is(this=value.copy(), expression=exp.Null())


def negated(test: exp.Expr) -> exp.Expr:
    """`NOT test`."""
    return exp.Not(this=test.copy())


class Statement(NamedTuple):
    """A statement in a database's dialect, and its bound values."""

    text: str
    parameters: Mapping[str, object]


def prepare(tree: exp.Expr, dialect: str, parameters: Mapping[str, object]) -> Statement:
    """The statement in a sqlglot dialect, with the parameters that it uses."""
    used = {str(node.this) for node in tree.find_all(exp.Placeholder)}
    bound = {name: value for name, value in parameters.items() if name in used}
    return Statement(compile_sql(tree, dialect), bound)


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
    for part in key:
        a, b = (column(part.name, relation) for relation in (one, other))
        if part.required:
            tests.append(exp.EQ(this=a, expression=b))
        elif dialect == "postgres":
            nulls = [exp.Paren(this=is_null(each.copy())) for each in (a, b)]
            tests.append(exp.EQ(this=nulls[0], expression=nulls[1]))
            filler = text(_FILLERS.get(part.family, ""))
            filled = [exp.Coalesce(this=each, expressions=[filler.copy()]) for each in (a, b)]
            tests.append(exp.EQ(this=filled[0], expression=filled[1]))
        else:
            tests.append(exp.NullSafeEQ(this=a, expression=b))
    return all_of(tests)
