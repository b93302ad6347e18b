"""DuckDB: what sqlglot does not translate itself."""

from sqlglot import exp


def adapt(node: exp.Expr) -> exp.Expr:
    """Return the replacement of a node."""
    if isinstance(node, exp.Normalize):
        return exp.Anonymous(this="NFC_NORMALIZE", expressions=[node.this])
    return node
