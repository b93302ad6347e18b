"""Hand-written queries: which are admitted, and how a statement reads their rows."""

from collections.abc import Mapping

from sqlglot import exp

from skillian.connectors.base import ColumnType, Connector, EvaluatesQueries
from skillian.connectors.dialects import compile_sql
from skillian.data import sql
from skillian.data.sql.admission import admit_query


def admitted_query(text: str, connector: Connector) -> exp.Select:
    """The tree of a query of a connector; raises `QueryError` for one that is not admitted."""
    if isinstance(connector, EvaluatesQueries):
        return admit_query(text, connector.query_dialect)
    return admit_query(text, connector.dialect)


async def rows_of_query(
    query: exp.Select, text: str, connector: Connector, alias: str
) -> tuple[exp.Expr, Mapping[str, ColumnType]]:
    """How a statement reads the rows of an admitted query by this alias, and their columns.

    Raises `QueryError` for what the database refuses.
    """
    if isinstance(connector, EvaluatesQueries):
        # As it is written: sqlglot would change CAST(v AS NUMERIC), for example.
        view = await connector.view(text)
        return sql.relation(view, alias), view.columns
    columns = await connector.describe(compile_sql(query, connector.dialect))
    return query.subquery(sql.name(alias)), columns
