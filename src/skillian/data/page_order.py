"""The order of what a comparison found, kept so that pages far down do not sort it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlglot import exp

from skillian.connectors.duckdb.engine import Workspace
from skillian.data import sql
from skillian.data.sql.values import python_rows
from skillian.tasks import SingleFlight

ROW_ID = "row_id"
"""The column of a relation that pages are read from with the `rowid` of its table."""
_ID, _PLACE = "id", "place"
_MOST = 4


class Ordered(NamedTuple):
    """All rows of one kind of pages.

    Attributes:
        name: What they are, such as their conditions and order; equal for equal rows.
        select: Gives the SELECT with its ORDER BY, and its values; it has a column `row_id`.
    """

    name: str
    select: Callable[[], tuple[exp.Select, Mapping[str, object]]]


class _Made(NamedTuple):
    table: str
    total: int


class PageOrders:
    """The orders of the pages of one table; the last few that were asked for are kept.

    Args:
        tables: The tables that are dropped with the comparison; orders are added to them.
    """

    def __init__(self, tables: list[str]) -> None:
        self._tables = tables
        self._made: dict[str, _Made] = {}
        self._making = SingleFlight[_Made]()

    async def read(
        self, workspace: Workspace, ordered: Ordered, offset: int, limit: int | None
    ) -> tuple[int, Sequence[Mapping[str, Any]]]:
        """How many rows there are, and those of a page; a `limit` of None is all.

        Raises:
            ToolError: As `select` does, or the workspace has no space.
        """
        made = self._made.pop(ordered.name, None)
        if made is None:
            work = partial(self._make, workspace, ordered)
            made = await self._making.run(ordered.name, work)
        self._made[ordered.name] = made
        while len(self._made) > _MOST:
            oldest = self._made.pop(next(iter(self._made)))
            self._tables.remove(oldest.table)
            await workspace.drop(oldest.table)
        tree, _ = ordered.select()
        for clause in ("where", "order"):
            tree.set(clause, None)
        same = exp.EQ(this=sql.bare(ROW_ID), expression=sql.bare(_ID))
        tree.join(sql.table(made.table), on=same, copy=False)
        first, last = offset + 1, made.total if limit is None else offset + limit
        low, high = exp.Literal.number(first), exp.Literal.number(last)
        tree.where(exp.Between(this=sql.bare(_PLACE), low=low, high=high), copy=False)
        return made.total, await _read(workspace, tree.order_by(sql.bare(_PLACE), copy=False))

    async def _make(self, workspace: Workspace, ordered: Ordered) -> _Made:
        tree, values = ordered.select()
        place = exp.Window(this=exp.RowNumber(), order=tree.args["order"])
        tree.set("order", None)
        tree.set("expressions", [sql.named(sql.bare(ROW_ID), _ID), sql.named(place, _PLACE)])
        statement = sql.prepare(tree, workspace.dialect, values)
        table = await workspace.create(statement.text, statement.parameters)
        self._tables.append(table)
        counted = sql.select([sql.named(exp.Count(this=exp.Star()), "total")], table)
        [row] = await _read(workspace, counted)
        return _Made(table, int(row["total"]))


async def _read(workspace: Workspace, tree: exp.Select) -> Sequence[Mapping[str, Any]]:
    statement = sql.prepare(tree, workspace.dialect, {})
    return python_rows(await workspace.run(statement.text, {}))
