"""DuckDB: what sqlglot does not translate itself."""

from sqlglot import exp

from skillian.connectors import floats
from skillian.connectors.dialects import replaced


def adapt(node: exp.Expr) -> exp.Expr:
    """The replacement of a node."""
    if isinstance(node, exp.Normalize):
        return exp.Anonymous(this="NFC_NORMALIZE", expressions=[node.this])
    if kind := floats.printed(node):
        return floats.shortest(replaced(node.this, adapt), kind, "duckdb")
    return node
