"""The groups behind a comparison, page by page: those that differ are kept beside its result."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from skillian.connectors.duckdb.workspace import Workspace, stored_type
from skillian.data import arrow, sql
from skillian.data.comparison_plan import ComparisonPlan
from skillian.data.comparison_rows import difference, key_of
from skillian.data.comparison_sql import rated, with_relations
from skillian.data.compile import Statement, prepare
from skillian.data.ground import Ground, Home
from skillian.data.page import Page
from skillian.data.results import Difference, Status
from skillian.data.values import jsonable

_MATCH = "match"
_AT_ONCE = 500

_Paged = Callable[[exp.Select, ComparisonPlan, sql.Parameters], exp.Select]


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group with all of its measures, and its class: the worst of theirs."""

    key: Mapping[str, object]
    status: Status
    rows_a: int
    rows_b: int
    measures: tuple[Difference, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the group for JSON; numbers with a fraction are strings."""
        shared = {"measure", "key", "rows_a", "rows_b"}
        values = {
            found.measure: {
                name: value for name, value in found.to_dict().items() if name not in shared
            }
            for found in self.measures
        }
        return {
            "key": {name: jsonable(value) for name, value in self.key.items()},
            "status": self.status,
            "rows_a": self.rows_a,
            "rows_b": self.rows_b,
            "measures": values,
        }


@dataclass(frozen=True, slots=True)
class ComparisonRows:
    """A page of groups: `total` is how many there are of these classes."""

    cache_key: str
    statuses: tuple[Status, ...]
    offset: int
    total: int
    rows: tuple[GroupRow, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the page for JSON."""
        return {
            "cache_key": self.cache_key,
            "statuses": list(self.statuses),
            "offset": self.offset,
            "total": self.total,
            "rows": [row.to_dict() for row in self.rows],
        }


async def keep_differences(ground: Ground, plan: ComparisonPlan, workspace: Workspace) -> str:
    """Store every group that is no match, or has a gap within the limits; return the table."""
    gaps = [
        sql.negated(sql.equals(sql.bare(f"gap_{index}"), 0)) for index in range(len(plan.measures))
    ]
    different = sql.any_of([sql.negated(sql.is_text(sql.bare("status"), _MATCH)), *gaps])
    statement = ground.statement(_groups(plan, ground).where(different, copy=False), plan)
    batches = ground.home.stream(statement.text, statement.parameters)
    return await workspace.stage(_columns(plan), batches)


class Groups:
    """The groups of a comparison, by pages: those kept in a table, or all where they are.

    Args:
        plan: The comparison's.
        ground: Where its groups can be asked for.
        kept: The workspace and its table that `keep_differences` stored; it holds no match.
    """

    def __init__(
        self, plan: ComparisonPlan, ground: Ground, kept: tuple[Workspace, str] | None
    ) -> None:
        self._plan = plan
        self._ground = ground
        self._kept = kept

    async def page(self, wanted: Page) -> tuple[GroupRow, ...]:
        """Return the groups of a page; raises as `Page.of`, and `QueryError`."""
        found: list[GroupRow] = []
        async with aclosing(self.batches(wanted)) as batches:
            async for batch in batches:
                found += batch
        return tuple(found)

    async def batches(self, wanted: Page) -> AsyncGenerator[tuple[GroupRow, ...]]:
        """Give the groups of a page as they come, some at a time; raises as `page`."""
        statement = await asyncio.to_thread(self._statement, wanted.of)
        async with aclosing(self._home.stream(statement.text, statement.parameters)) as batches:
            async for batch in batches:
                rows = await asyncio.to_thread(arrow.rows, batch)
                for start in range(0, len(rows), _AT_ONCE):
                    yield tuple(_group(row, self._plan) for row in rows[start : start + _AT_ONCE])
                    await asyncio.sleep(0)  # a batch is long, and others wait

    async def count(self, wanted: Page) -> int:
        """Return how many groups there are on all such pages; raises as `page`."""
        statement = await asyncio.to_thread(self._statement, wanted.counted)
        async with aclosing(self._home.stream(statement.text, statement.parameters)) as batches:
            return sum([int(row["total"]) async for batch in batches for row in arrow.rows(batch)])

    @property
    def _home(self) -> Home:
        return self._ground.home if self._kept is None else self._kept[0]

    def _statement(self, paged: _Paged) -> Statement:
        parameters = sql.Parameters()
        if self._kept is None:
            tree = _groups(self._plan, self._ground)  # which binds the plan's own limits
            parameters.values |= self._plan.parameters.values
        else:
            tree = exp.Select(expressions=[exp.Star()]).from_(sql.table(self._kept[1]))
        return prepare(paged(tree, self._plan, parameters), self._home.dialect, parameters.values)


def _groups(plan: ComparisonPlan, ground: Ground) -> exp.Select:
    columns = [sql.bare(name) for name in _columns(plan)]
    select = exp.Select(expressions=columns).from_(sql.table("rated"), copy=False)
    return with_relations(select, rated(plan, ground.groups()))


def _columns(plan: ComparisonPlan) -> dict[str, str]:
    columns = {
        f"key_{index}": stored_type(term.type.kind, term.type.scale)
        for index, term in enumerate(plan.a.keys)
    }
    columns |= {"rows_a": "BIGINT", "rows_b": "BIGINT", "status": "VARCHAR"}
    for index, measure in enumerate(plan.measures):
        number = stored_type("decimal", measure.scale)
        columns |= {f"{name}_{index}": number for name in ("a", "b", "gap")}
        columns[f"status_{index}"] = "VARCHAR"
        if measure.has_code:
            columns |= {f"xa_{index}": "BIGINT", f"xb_{index}": "BIGINT"}
    return columns


def _group(row: Mapping[str, Any], plan: ComparisonPlan) -> GroupRow:
    return GroupRow(
        key=key_of(row, plan),
        status=row["status"],
        rows_a=int(row["rows_a"]),
        rows_b=int(row["rows_b"]),
        measures=tuple(difference(row, plan, index) for index in range(len(plan.measures))),
    )
