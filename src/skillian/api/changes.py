"""What differs in each finding of a result that is kept: the values of both sides, and gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from skillian.data.comparison.page import Page
from skillian.data.comparison.results import ComparisonResult
from skillian.data.comparison.rows import GroupRow
from skillian.data.engine import ComparisonEngine
from skillian.data.sql.values import jsonable
from skillian.data.tables.differing import DifferingRow
from skillian.data.tables.results import TableResult
from skillian.errors import InvalidInputError
from skillian.history.findings import MAX_FINDINGS
from skillian.reports.outcome import Compared
from skillian.reports.tracking import finding_of

JsonObject = dict[str, Any]

_NUMBERS = ("integer", "decimal", "float")


async def changes_of(
    engine: ComparisonEngine, compared: Compared
) -> Mapping[str, Sequence[JsonObject]]:
    """The changes of each finding, by its id; none if the rows that differ are not kept.

    A change has the `name` of a measure or a column, its values `a` and `b`, the signed `gap` of a
    measure and its `unit`, and whether its values are amounts (`is_amount`).
    """
    result, is_minor = compared.result, compared.counts_minor
    if not result.unmatched(minor=is_minor):
        return {}
    page = Page(result.finding_classes(minor=is_minor), limit=MAX_FINDINGS)
    try:
        rows = (await engine.rows(result.cache_key, page)).rows
    except InvalidInputError:
        return {}
    changes = _CHANGES[result.kind]
    return {finding_of(row).id: [*changes(result, row)] for row in rows}


def _of_group(result: ComparisonResult, row: GroupRow) -> Iterator[JsonObject]:
    units = {measure.name: measure.unit for measure in result.measures}
    for each in row.measures:
        if each.status != "match":
            sides = {"a": jsonable(each.a), "b": jsonable(each.b)}
            more = {"gap": jsonable(each.gap), "unit": units.get(each.measure)}
            yield {"name": each.measure, **sides, **more, "is_amount": True}


def _of_row(result: TableResult, row: DifferingRow) -> Iterator[JsonObject]:
    amounts = _amounts(result)
    for name in row.differing:
        cell = row.cells[name]
        sides = {"a": jsonable(cell.a), "b": jsonable(cell.b)}
        yield {"name": name, **sides, "gap": None, "unit": None, "is_amount": name in amounts}


_CHANGES: Mapping[str, Callable[[Any, Any], Iterator[JsonObject]]] = {
    "rows": _of_row,
    "measures": _of_group,
}


def _amounts(result: TableResult) -> set[str]:
    """The columns, by their names in A, that hold numbers on both sides."""
    return {
        pair.a.name
        for pair in result.schema.pairs
        if pair.a.logical.family in _NUMBERS and pair.b.logical.family in _NUMBERS
    }
