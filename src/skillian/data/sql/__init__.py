"""The small pieces every statement is made of. Names are always quoted, values always bound."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sqlglot import exp

from skillian.connectors.dialects import compile_sql

MAX_DIGITS = 38


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


def all_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """The conditions joined by AND."""
    return exp.and_(*conditions, copy=False)


def any_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """The conditions joined by OR."""
    return exp.or_(*conditions, copy=False)


def bare(text: str) -> exp.Column:
    """A column of the only relation of a SELECT."""
    return exp.Column(this=name(text))


def table(text: str) -> exp.Table:
    """A relation that the statement itself defines."""
    return exp.Table(this=name(text))


def text(value: str) -> exp.Literal:
    """A text literal; values from users are bound instead."""
    return exp.Literal.string(value)


def zero() -> exp.Expr:
    """`0`."""
    return exp.Literal.number(0)


def one() -> exp.Expr:
    """`1`."""
    return exp.Literal.number(1)


def trimmed(value: exp.Expr) -> exp.Expr:
    """The text without leading and trailing spaces; other white space is kept."""
    return exp.Trim(this=value, expression=exp.Literal.string(" "))


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
