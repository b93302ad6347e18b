"""The columns that only one side has: their cells of the rows that only this side has.

They are read by a second statement, which compares the keys again and returns only these rows, and
are added to the staged rows that differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from skillian.connectors.duckdb.engine import Workspace
from skillian.data import sql
from skillian.data.sql import Statement
from skillian.data.sql.values import StatementEngine, fetch
from skillian.data.tables.cells import CellPair, exact_in_mysql, family_of, shown
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.statement import ONLY_A, ONLY_B, TablePlan, TableSide, differences
from skillian.data.tables.types import CellType, transported

_TEXT = CellType("text", "VARCHAR")
_CLASSES = (ONLY_A, ONLY_B)


@dataclass(frozen=True, slots=True)
class LoneColumn:
    """A column that only one side has: 0 for a, 1 for b.

    The value is that of a cell in the database that compares.
    """

    name: str
    side: int
    type: CellType
    value: exp.Expr


@dataclass(frozen=True, slots=True)
class LoneColumns:
    """The columns that only one side has, among the rows that differ.

    Attributes:
        columns: Those of a, then those of b.
        are_staged: Whether the table of rows has them, as `x0` …; otherwise it has no row that only
            one side has.
    """

    columns: tuple[LoneColumn, ...] = ()
    are_staged: bool = False


NONE = LoneColumns()


async def with_lone_cells(  # noqa: PLR0917 - where they are, and what is read
    table: str,
    workspace: Workspace,
    engine: StatementEngine,
    plan: TablePlan,
    columns: Sequence[LoneColumn],
    values: Mapping[str, object],
) -> str | None:
    """Stage the rows of a table with these columns, `x0` …, and return the new table's name.

    Returns None if there are no columns, or no row is only on one side. The rows of both sides are
    filtered by `values`. Raises `QueryError` for a column that cannot be read.
    """
    if not columns:
        return None
    count = f'SELECT COUNT(*) AS n FROM "{table}" WHERE class IN {_CLASSES}'  # noqa: S608 - our own names
    [row] = await fetch(workspace, Statement(count, {}))
    if not row["n"]:
        return None
    wide = _with_columns(plan, columns)
    statement = sql.prepare(_rows_of_one_side(wide), engine.dialect, values)
    batches = engine.stream(statement.text, statement.parameters)
    others = await workspace.stage(wide.columns(), batches)
    try:
        return await workspace.create(_joined(plan, table, others, columns), {})
    finally:
        await workspace.drop(others)


def _with_columns(plan: TablePlan, columns: Sequence[LoneColumn]) -> TablePlan:
    """A plan that compares the same keys, with the texts of these columns in place of the cells."""
    values = [[*side.values[: plan.keys]] for side in plan.sides]
    for column in columns:
        values[column.side].append(_text(column, plan.dialect))
        values[1 - column.side].append(sql.as_text(exp.Null()))
    pairs = [
        ColumnPair(column.name, column.name, CellPair(_TEXT, _TEXT, "text")) for column in columns
    ]
    a, b = (
        TableSide(tuple(cells), side.rows) for cells, side in zip(values, plan.sides, strict=True)
    )
    return replace(plan, pairs=(*plan.pairs[: plan.keys], *pairs), a=a, b=b, whole=True)


def _rows_of_one_side(plan: TablePlan) -> exp.Select:
    """The statement for the rows that only one side has, by a plan of `_with_columns`."""
    columns = [sql.column(name, "compared") for name in plan.columns()]
    select = sql.select(columns, differences(plan), "compared")
    kind = sql.column("class", "compared")
    return select.where(sql.any_of(sql.equals(kind, each) for each in _CLASSES), copy=False)


def _joined(plan: TablePlan, table: str, others: str, columns: Sequence[LoneColumn]) -> str:
    """The staged rows that differ with these columns as `x0` …."""
    cells = (
        f'"{others}".{"ab"[column.side]}{plan.keys + number} AS x{number}'
        for number, column in enumerate(columns)
    )
    names = ["class", *(f"k{index}" for index in range(plan.keys))]
    same = (f'"{table}".{name} IS NOT DISTINCT FROM "{others}".{name}' for name in names)
    return (
        f'SELECT "{table}".*, {", ".join(cells)} FROM "{table}"'  # noqa: S608 - our own names
        f' LEFT JOIN "{others}" ON {" AND ".join(same)}'
    )


def _text(column: LoneColumn, dialect: str) -> exp.Expr:
    cells = CellPair(column.type, column.type, family_of(column.type, column.type))
    if dialect == "mysql" and not exact_in_mysql(cells, is_key=False):
        return sql.as_text(transported(column.type, column.value, dialect).value)
    return sql.as_text(shown(cells, column.side, column.value, dialect))
