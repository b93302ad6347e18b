"""The small pieces every statement is made of. Names are always quoted, values always bound."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sqlglot import exp

from skillian.connectors.dialects import compile_sql

MAX_DIGITS = 38


class Parameters:
    """The bound values of one statement, by placeholder name."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}

    def bind(self, value: object) -> exp.Placeholder:
        """Add a value and return the placeholder that stands for it."""
        name = f"p{len(self.values)}"
        self.values[name] = value
        return exp.Placeholder(this=name)


def name(text: str) -> exp.Identifier:
    """Return a quoted identifier; quotes in it are doubled when it is written out."""
    return exp.to_identifier(text, quoted=True)


def column(text: str, table: str) -> exp.Column:
    """Return a column of the relation aliased `table`."""
    return exp.Column(this=name(text), table=name(table))


def named(expression: exp.Expr, alias: str) -> exp.Alias:
    """Return `expression AS "alias"`."""
    return exp.Alias(this=expression, alias=name(alias))


def decimal(expression: exp.Expr, scale: int) -> exp.Expr:
    """Return the expression as the widest decimal with this scale; too large a value fails."""
    # `exp.cast` leaves an expression alone that is a cast to any decimal, of whatever scale.
    kind = exp.DataType.build(f"DECIMAL({MAX_DIGITS}, {scale})")
    return exp.Cast(this=exp.maybe_copy(expression), to=kind)


def as_text(value: exp.Expr) -> exp.Expr:
    """Return `CAST(value AS TEXT)`. `exp.cast` would parse the type's name, once per value."""
    return exp.Cast(this=value, to=exp.DataType(this=exp.DataType.Type.TEXT))


def all_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Return the conditions joined by AND."""
    return exp.and_(*conditions, copy=False)


def any_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Return the conditions joined by OR."""
    return exp.or_(*conditions, copy=False)


def bare(text: str) -> exp.Column:
    """Return a column of the only relation there is."""
    return exp.Column(this=name(text))


def table(text: str) -> exp.Table:
    """Return a relation that the statement itself defines."""
    return exp.Table(this=name(text))


def text(value: str) -> exp.Literal:
    """Return a text that is part of the statement, never one that was given."""
    return exp.Literal.string(value)


def zero() -> exp.Expr:
    """Return `0`."""
    return exp.Literal.number(0)


def one() -> exp.Expr:
    """Return `1`."""
    return exp.Literal.number(1)


def trimmed(value: exp.Expr) -> exp.Expr:
    """Return the text without the spaces at its ends: no other white space is taken for one."""
    return exp.Trim(this=value, expression=exp.Literal.string(" "))


def uppered(value: exp.Expr) -> exp.Expr:
    """Return the text in capitals; of the German sharp s, the letter that all databases have."""
    capitals = exp.Upper(this=value)
    sharp, plain = (exp.Literal.string(letter) for letter in "\u1e9e\u00df")
    return exp.Replace(this=capitals, expression=sharp, replacement=plain)


def equals(value: exp.Expr, number: int) -> exp.Expr:
    """Return `value = number`."""
    return exp.EQ(this=value.copy(), expression=exp.Literal.number(number))


def is_text(value: exp.Expr, known: str) -> exp.Expr:
    """Return `value = 'known'`."""
    return exp.EQ(this=value.copy(), expression=text(known))


def is_null(value: exp.Expr) -> exp.Expr:
    """Return `value IS NULL`."""
    return exp.Is(this=value.copy(), expression=exp.Null())


def negated(test: exp.Expr) -> exp.Expr:
    """Return `NOT test`."""
    return exp.Not(this=test.copy())


class Statement(NamedTuple):
    """A statement as a database runs it, and the values bound in it."""

    text: str
    parameters: Mapping[str, object]


def prepare(tree: exp.Expr, dialect: str, parameters: Mapping[str, object]) -> Statement:
    """Return the statement in a sqlglot dialect, with those of the parameters that stand in it."""
    used = {str(node.this) for node in tree.find_all(exp.Placeholder)}
    bound = {name: value for name, value in parameters.items() if name in used}
    return Statement(compile_sql(tree, dialect), bound)
