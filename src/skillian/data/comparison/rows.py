"""The groups of a comparison, by pages and for files, and the rows of one group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from sqlglot import exp

from skillian.connectors.base import ArrowBatch, ColumnType
from skillian.data import sql
from skillian.data.comparison.cache import DifferingGroups
from skillian.data.comparison.page import (
    ROW_ID,
    Page,
    PageColumns,
    PageOrders,
    PageRow,
    PageValue,
    ValueChange,
)
from skillian.data.comparison.plan import ComparisonPlan, Side
from skillian.data.comparison.statement import largest_first, rated, with_relations
from skillian.data.comparison.summary import difference, key_of
from skillian.data.query.engine import QueryResult, raw_rows
from skillian.data.query.filters import Condition, parse_filter
from skillian.data.results.groups import Difference
from skillian.data.sql import Statement, prepare
from skillian.data.sql.values import Record, StatementEngine, coerce, fetch, named, python_rows
from skillian.data.subjects import STATUSES, Status
from skillian.errors import InvalidInputError
from skillian.tasks import together

_OF_A_MEASURE = "status reason a b gap absolute_diff percentage_diff"

_Paged = Callable[[exp.Select, PageColumns, sql.BoundValues], exp.Select]


@dataclass(frozen=True, slots=True)
class GroupRow(PageRow):
    """One group with all of its measures; its class is the worst of its measures' classes."""

    json_names = "key status rows_a rows_b measures=by_measure"

    status: Status
    measures: tuple[Difference, ...]

    @property
    def sizes(self) -> Mapping[str, Decimal]:
        """|b - a| of each measure that differs."""
        differing = (each for each in self.measures if each.status != "match")
        return {each.measure: each.gap.copy_abs() for each in differing}

    @property
    def changes(self) -> Sequence[ValueChange]:
        """The measures that differ, those of a missing side as well."""
        differing = (each for each in self.measures if each.status != "match")
        return [ValueChange(each.measure, each.a, each.b, each.gap) for each in differing]

    @property
    def by_measure(self) -> Mapping[str, object]:
        """What JSON has of the measures, by their names."""
        return {each.measure: named(each, _OF_A_MEASURE) for each in self.measures}


class Groups:
    """The groups of a page: of those that differ, which are staged, or, with matches, of all.

    Without an order, the largest difference is first.
    """

    def __init__(self, differing: DifferingGroups, page: Page) -> None:
        self._differing = differing
        self._plan = differing.place.plan
        self._page = page
        self._is_staged = "match" not in page.statuses

    async def read(self, orders: PageOrders) -> tuple[int, tuple[GroupRow, ...]]:
        """How many groups all pages of this kind have, and those of the page.

        Raises as `Page.of`, and `QueryError`.
        """
        page = self._page
        if page.offset and self._is_staged:
            columns = [exp.Star(), sql.named(sql.bare("rowid"), ROW_ID)]
            rows = sql.select([exp.Star()], sql.select(columns, self._differing.table), "page")
            first = largest_first(self._plan)
            total, found = await orders.read(page, rows, _columns(self._plan), first)
            return total, tuple(_group(row, self._plan) for row in found)
        groups: list[GroupRow] = []
        async with aclosing(self.tables()) as batches:
            async for batch in batches:
                groups += await asyncio.to_thread(self._groups_of, batch)
        if not (page.where or page.search):
            return sum(self._differing.result.counts[each] for each in page.statuses), tuple(groups)
        statement = await asyncio.to_thread(self._statement, page.counted)
        [row] = await fetch(self._engine, statement)
        return int(row["total"]), tuple(groups)

    async def tables(self) -> AsyncGenerator[ArrowBatch]:
        """Yield the groups of the page as they are computed or stored; raises as `read`."""
        first = largest_first(self._plan)
        statement = await asyncio.to_thread(self._statement, partial(self._page.of, first=first))
        async with aclosing(self._engine.stream(statement.text, statement.parameters)) as batches:
            async for batch in batches:
                yield batch

    def _groups_of(self, batch: ArrowBatch) -> list[GroupRow]:
        return [_group(row, self._plan) for row in python_rows(batch)]

    @property
    def _engine(self) -> StatementEngine:
        return self._differing.workspace if self._is_staged else self._differing.place.engine

    def _statement(self, paged: _Paged) -> Statement:
        parameters = sql.BoundValues()
        if self._is_staged:
            tree = sql.select([exp.Star()], self._differing.table)
        else:
            groups = rated(self._plan, self._differing.place.groups())  # which binds the limits
            tree = with_relations(sql.select([exp.Star()], "rated"), groups)
            parameters.values |= self._plan.parameters.values
        return prepare(
            paged(tree, _columns(self._plan), parameters), self._engine.dialect, parameters.values
        )


def _columns(plan: ComparisonPlan) -> PageColumns:
    amount = ColumnType("decimal", "DECIMAL")
    return PageColumns(
        [(term.name, term.type) for term in plan.a.keys],
        [PageValue(measure.name, amount, amount, amount) for measure in plan.measures],
        STATUSES,
    )


def _group(row: Mapping[str, Any], plan: ComparisonPlan) -> GroupRow:
    return GroupRow(
        key=key_of(row, plan),
        status=row["status"],
        rows_a=int(row["rows_a"]),
        rows_b=int(row["rows_b"]),
        measures=tuple(difference(row, plan, index) for index in range(len(plan.measures))),
    )


@dataclass(frozen=True, slots=True)
class DrillDown(Record):
    """The rows of one group in both sources, as stored in their tables."""

    key: Mapping[str, object]
    a: QueryResult
    b: QueryResult


async def drill_down(plan: ComparisonPlan, key: Mapping[str, object], limit: int) -> DrillDown:
    """At most `limit` rows of each side; raises as `typed_key` does."""
    typed = typed_key(plan, key)
    a, b = await together(
        raw_rows(plan.a.source, conditions_of(plan.a, typed), limit, in_order=True),
        raw_rows(plan.b.source, conditions_of(plan.b, typed), limit, in_order=True),
    )
    return DrillDown(typed, a, b)


def typed_key(plan: ComparisonPlan, key: Mapping[str, object]) -> Mapping[str, object]:
    """The key of a group, which has a value or None for each dimension, in their types.

    Raises `InvalidInputError` for a key with other dimensions.
    """
    if set(key) != set(plan.align_on):
        raise InvalidInputError(
            f"the key of a group of this comparison has {', '.join(plan.align_on)}, not"
            f" {', '.join(key) or 'nothing'}"
        )
    return {
        term.name: None if key[term.name] is None else coerce(term.name, key[term.name], term.type)
        for term in plan.a.keys
    }


def conditions_of(side: Side, key: Mapping[str, object]) -> tuple[Condition, ...]:
    """The conditions of a side's rows in a group, whose key is typed."""
    where: list[Condition] = list(side.where)
    for name, value in key.items():
        term = side.source.dimension(name, sql.BoundValues())
        try:
            where += parse_filter(name, [value], term.type)
        except InvalidInputError:  # only the other side's type has such values
            where.append(Condition(name, "in", ()))
    return tuple(where)
