"""DuckDB: where its SQL differs from what sqlglot writes by itself."""

from sqlglot import exp

from skillian.data import sql
from skillian.data.dialects import floats


def adapt(node: exp.Expr) -> exp.Expr:
    """Return what replaces one node of a statement."""
    if isinstance(node, exp.Normalize):
        return exp.Anonymous(this="NFC_NORMALIZE", expressions=[node.this])
    if kind := floats.printed(node):
        return floats.shortest(sql.replaced(node.this, adapt), kind, "duckdb")
    return node
