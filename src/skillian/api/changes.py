"""What differs in each finding of a result that is kept: the values of both sides, and gaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skillian.data.comparison.page import Page, PageRow
from skillian.data.engine import ComparisonEngine
from skillian.data.results.result import ComparisonResult
from skillian.data.sql.values import jsonable
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
    page = Page(result.subject.finding_classes(minor=is_minor), limit=MAX_FINDINGS)
    try:
        rows = (await engine.rows(result.cache_key, page)).rows
    except InvalidInputError:
        return {}
    units = {measure.name: measure.unit for measure in result.measures}
    amounts = {*units, *_amount_columns(result)}

    def changes(row: PageRow) -> Iterator[JsonObject]:
        for name, a, b, gap in row.changes:
            values = {"a": jsonable(a), "b": jsonable(b), "gap": jsonable(gap)}
            yield {"name": name, **values, "unit": units.get(name), "is_amount": name in amounts}

    return {finding_of(row).id: [*changes(row)] for row in rows}


def _amount_columns(result: ComparisonResult) -> set[str]:
    """The columns, by their names in A, that hold numbers on both sides."""
    return {
        pair.a.name
        for pair in result.schema.pairs
        if pair.a.logical.family in _NUMBERS and pair.b.logical.family in _NUMBERS
    }
