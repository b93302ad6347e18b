"""The groups behind a comparison, page by page: those that differ are kept beside its result."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from skillian.connectors.workspace import Workspace, stored_type
from skillian.data import arrow, sql
from skillian.data.comparison_plan import ComparisonPlan
from skillian.data.comparison_rows import difference, key_of
from skillian.data.comparison_sql import rated, with_relations
from skillian.data.comparison_summary import largest_first
from skillian.data.compile import prepare
from skillian.data.ground import Ground
from skillian.data.results import Difference, Status
from skillian.data.values import jsonable

_MATCH = "match"


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


@dataclass(frozen=True, slots=True)
class Page:
    """Which groups are wanted."""

    statuses: tuple[Status, ...]
    offset: int
    limit: int

    def of(self, select: exp.Select, plan: ComparisonPlan) -> exp.Select:
        """Return the select of this page alone, the largest difference first."""
        wanted = sql.any_of(sql.is_text(sql.bare("status"), status) for status in self.statuses)
        select.where(wanted, copy=False).order_by(*largest_first(plan, 0), copy=False)
        return select.limit(self.limit, copy=False).offset(self.offset, copy=False)


async def keep_differences(ground: Ground, plan: ComparisonPlan, workspace: Workspace) -> str:
    """Store every group that is no match, or has a gap within the limits; return the table."""
    gaps = [
        sql.negated(sql.equals(sql.bare(f"gap_{index}"), 0)) for index in range(len(plan.measures))
    ]
    different = sql.any_of([sql.negated(sql.is_text(sql.bare("status"), _MATCH)), *gaps])
    statement = ground.statement(_groups(plan, ground).where(different, copy=False), plan)
    batches = ground.home.stream(statement.text, statement.parameters)
    return await workspace.land(_columns(plan), batches)


async def kept_rows(
    table: str, workspace: Workspace, plan: ComparisonPlan, page: Page
) -> tuple[GroupRow, ...]:
    """Return a page of the groups that `keep_differences` stored."""
    tree = page.of(exp.Select(expressions=[exp.Star()]).from_(sql.table(table)), plan)
    statement = prepare(tree, workspace.dialect, {})
    found = arrow.rows(await workspace.run(statement.text, statement.parameters))
    return tuple(_group(row, plan) for row in found)


async def home_rows(ground: Ground, plan: ComparisonPlan, page: Page) -> tuple[GroupRow, ...]:
    """Return a page of groups that are not stored: asked for where they are."""
    statement = ground.statement(page.of(_groups(plan, ground), plan), plan)
    return tuple(_group(row, plan) for row in await ground.ask(statement))


def _groups(plan: ComparisonPlan, ground: Ground) -> exp.Select:
    columns = [sql.bare(name) for name in _columns(plan)]
    select = exp.Select(expressions=columns).from_(sql.table("rated"), copy=False)
    return with_relations(select, rated(plan, ground.groups))


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
    return columns


def _group(row: Mapping[str, Any], plan: ComparisonPlan) -> GroupRow:
    return GroupRow(
        key=key_of(row, plan),
        status=row["status"],
        rows_a=int(row["rows_a"]),
        rows_b=int(row["rows_b"]),
        measures=tuple(difference(row, plan, index) for index in range(len(plan.measures))),
    )
