"""PostgreSQL: where its SQL differs from what sqlglot writes by itself."""

from sqlglot import exp


def adapt(node: exp.Expr) -> exp.Expr:
    """Return what stands for one node of a statement."""
    return node
