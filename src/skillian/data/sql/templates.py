"""SQL written as text with the names `a`, `b` and `v`, which are replaced by expressions."""

from functools import cache

import sqlglot
from sqlglot import exp

from skillian.connectors.dialects import replaced


def filled(template: str, dialect: str, **values: exp.Expr) -> exp.Expr:
    """The expression of a template, its columns of these names replaced by `values`."""

    def change(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and node.name in values:
            return values[node.name].copy()
        return node

    return replaced(_parsed(template, dialect), change)


@cache
def _parsed(template: str, dialect: str) -> exp.Expr:
    return exp.Paren(this=sqlglot.parse_one(template, dialect=dialect))
