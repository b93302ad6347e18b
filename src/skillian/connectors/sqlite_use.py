"""Which tables and columns of a database a statement uses."""

from collections.abc import Iterable, Mapping

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from skillian.connectors.base import Table


def used_columns(statement: str, tables: Iterable[Table]) -> Mapping[str, tuple[str, ...]]:
    """Return the columns a DuckDB statement may use of each of `tables` that it names.

    Rather one too many: a column counts when its name stands anywhere in the statement. None are
    given for what does not parse, which DuckDB will refuse.
    """
    try:
        trees = [tree for tree in parse(statement, dialect="duckdb") if tree is not None]
    except (SqlglotError, RecursionError):
        return {}
    named = [table for tree in trees for table in tree.find_all(exp.Table)]
    words = {name.name.casefold() for tree in trees for name in tree.find_all(exp.Identifier)}
    natural = any(join.method for tree in trees for join in tree.find_all(exp.Join))
    used: dict[str, tuple[str, ...]] = {}
    for table in tables:
        uses = [use for use in named if use.name.casefold() == table.name.casefold()]
        if not uses:
            continue
        columns = tuple(table.columns)
        if not natural and not any(_whole(use) for use in uses):
            # One at least, so that the rows can be counted.
            columns = tuple(name for name in columns if name.casefold() in words) or columns[:1]
        used[table.name] = columns
    return used


def _whole(table: exp.Table) -> bool:
    """Whether all columns are meant: by a star, or by the table's own name in place of a column."""
    select = table.parent_select
    if select is None or select.is_star:
        return True
    name = table.alias_or_name.casefold()
    return any(column.name.casefold() == name for column in select.find_all(exp.Column))
