"""From the neutral tree of a statement to the text that one database runs."""

from collections.abc import Mapping
from typing import NamedTuple

from sqlglot import exp

from skillian.connectors.dialects import compile_sql


class Statement(NamedTuple):
    """A statement as a database runs it, and the values bound in it."""

    text: str
    parameters: Mapping[str, object]


def prepare(tree: exp.Expr, dialect: str, parameters: Mapping[str, object]) -> Statement:
    """Return the statement in a sqlglot dialect, with those of the parameters that stand in it."""
    used = {str(node.this) for node in tree.find_all(exp.Placeholder)}
    bound = {name: value for name, value in parameters.items() if name in used}
    return Statement(compile_sql(tree, dialect), bound)
