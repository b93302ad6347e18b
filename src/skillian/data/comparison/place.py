"""Where the groups of a comparison can be asked for: at home, or where both sides have landed."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from sqlglot import exp

from skillian.connectors.base import ArrowBatch
from skillian.connectors.duckdb.workspace import Workspace, stored_type
from skillian.data.comparison.groups import (
    DIALECTS,
    LANDED_A,
    LANDED_B,
    groups_joined,
    groups_of_landed,
    groups_of_rows,
    pieces_joined,
    side_select,
)
from skillian.data.comparison.plan import ComparisonPlan, Side
from skillian.data.comparison.statement import Relations
from skillian.data.sql import Statement, prepare
from skillian.data.sql.values import python_rows
from skillian.errors import ToolError

T = TypeVar("T")

Progress = Callable[[str, int], None]
"""Told the source whose rows come in, and how many there are so far."""


class Home(Protocol):
    """What a statement over the groups is run by."""

    @property
    def dialect(self) -> str:
        """The sqlglot dialect that it reads."""
        ...

    def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and give its rows in batches."""
        ...


@dataclass(frozen=True, slots=True)
class Ground:
    """A comparison's groups as relations of one place.

    `pieces` are the groups too, though one may come in several rows, to be added up. Both are made
    when they are asked for: their trees are large, and a ground is remembered with its comparison.
    `queries` are the statements that brought the sides there, by source; none where the groups are
    made at home. `tables` are those of the workspace, to be dropped when it is forgotten.
    """

    home: Home
    groups: Callable[[], Relations]
    pieces: Callable[[], Relations]
    queries: Mapping[str, Statement]
    tables: tuple[str, ...]

    def statement(self, tree: exp.Expr, plan: ComparisonPlan) -> Statement:
        """Return a statement over the groups as this place runs it."""
        return prepare(tree, self.home.dialect, plan.parameters.values)

    async def ask(self, statement: Statement) -> list[dict[str, Any]]:
        """Run it, however long it takes, and return its few rows."""
        found: list[dict[str, Any]] = []
        async with aclosing(self.home.stream(statement.text, statement.parameters)) as batches:
            async for batch in batches:
                found += python_rows(batch)
        return found


async def ground_of(
    plan: ComparisonPlan, workspace: Workspace, progress: Progress | None = None
) -> Ground:
    """Return the place: the common connection, or the workspace once both sides have landed."""
    if plan.a.source.connector is plan.b.source.connector:
        home = plan.a.source.connector
        if home.dialect in DIALECTS:
            return Ground(home, partial(groups_joined, plan), partial(pieces_joined, plan), {}, ())
        groups = partial(groups_of_rows, plan)
        return Ground(home, groups, groups, {}, ())
    sides = {LANDED_A: plan.a, LANDED_B: plan.b}
    queries = await asyncio.to_thread(
        lambda: {
            name: prepare(
                side_select(plan, side), side.source.connector.dialect, plan.parameters.values
            )
            for name, side in sides.items()
        }
    )
    landed = await together(
        *(_land(plan, side, queries[name], workspace, progress) for name, side in sides.items())
    )
    tables = dict(zip(sides, landed, strict=True))
    told = {side.source.name: queries[name] for name, side in sides.items()}
    groups = partial(groups_of_landed, plan, tables)
    return Ground(workspace, groups, groups, told, tuple(landed))


async def _land(
    plan: ComparisonPlan,
    side: Side,
    query: Statement,
    workspace: Workspace,
    progress: Progress | None,
) -> str:
    columns = {
        f"key_{index}": stored_type(term.type.kind, term.type.scale)
        for index, term in enumerate(side.keys)
    }
    columns["row_count"] = "BIGINT"
    for index, measure in enumerate(plan.measures):
        columns[f"total_{index}"] = stored_type("decimal", measure.scale)
        if measure.has_code:
            columns[f"xtotal_{index}"] = "BIGINT"
    batches = side.source.connector.stream(query.text, query.parameters)
    told = None if progress is None else partial(progress, side.source.name)
    return await workspace.stage(columns, batches, told)


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """Return what all of them return, started together; the first failure stops the others."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except* ToolError as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
