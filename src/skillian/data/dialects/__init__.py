"""What the neutral tree of a statement has to become for one database; one file a dialect."""

from collections.abc import Callable

from sqlglot import exp

from skillian.data.dialects import duckdb, mysql, postgres, spark

ADAPTERS: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "duckdb": duckdb.adapt,
    "mysql": mysql.adapt,
    "postgres": postgres.adapt,
    "spark": spark.adapt,
}
"""By sqlglot dialect: what a node of the tree is replaced by; most stay as they are."""
