"""DuckDB: where its SQL differs from what sqlglot writes by itself."""

from sqlglot import exp


def adapt(node: exp.Expr) -> exp.Expr:
    """Return what stands for one node of a statement."""
    if isinstance(node, exp.Normalize):
        return exp.Anonymous(this="NFC_NORMALIZE", expressions=[node.this])
    return node
