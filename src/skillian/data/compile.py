"""From the neutral tree of a statement to the text that one database runs."""

from sqlglot import exp

from skillian.data.dialects import ADAPTERS


def compile_sql(tree: exp.Expr, dialect: str) -> str:
    """Return the statement in a sqlglot dialect; values stay bound, names quoted."""
    adapt = ADAPTERS.get(dialect)
    adapted = tree if adapt is None else tree.transform(adapt)
    return adapted.sql(dialect, pretty=True)
