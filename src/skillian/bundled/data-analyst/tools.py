"""The tools of the data-analyst skill: the engines of skillian, for a model to call.

What a model reads is bounded: long texts are cut, and lists end where the next page begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from skillian.bundled.run_python import LastComparisons, python_tool
from skillian.data.comparison.results import Status
from skillian.data.declare.definitions import Thresholds
from skillian.data.for_models import (
    brief_comparison,
    brief_explanation,
    brief_measures,
    brief_rows,
    brief_side,
    brief_value,
    comparison_counts,
    explanation_shares,
    hidden_among,
    refuse_hidden,
)
from skillian.data.query.catalogue import DimensionInfo, SourceInfo
from skillian.data.services import DataServices
from skillian.data.sql.values import jsonable
from skillian.errors import QueryError
from skillian.skills.skill import SkillTool

FILTERS = (
    "Dimension to value. A value, a list of values, null, or one of "
    '{"ne": v}, {"gte": v}, {"gt": v}, {"lte": v}, {"lt": v}, {"between": [low, high]}.'
)
SAMPLES = 20


class Input(BaseModel):
    """Arguments of a tool; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid")


class ListSourcesInput(Input):
    """`list_sources` takes nothing."""


class DescribeSourceInput(Input):
    """The arguments of `describe_source`."""

    source: str = Field(description="The source's name.")


class QuerySourceInput(Input):
    """The arguments of `query_source`."""

    source: str = Field(description="The source's name.")
    dimensions: list[str] | None = Field(None, description="Break the measures down by these.")
    measures: list[str] | None = Field(None, description="What to aggregate.")
    filters: dict[str, Any] | None = Field(None, description=FILTERS)
    order: list[str] | None = Field(None, description='Columns, "-" before one for descending.')
    limit: int = Field(50, ge=1, le=1000, description="Rows at most.")


class CompareSourcesInput(Input):
    """The arguments of `compare_sources`."""

    source_a: str = Field(description="The source taken as the baseline.")
    source_b: str = Field(description="The source compared with it.")
    measures: list[str] = Field(
        min_length=1, max_length=10, description="What to compare, for example amount."
    )
    align_on: list[str] | None = Field(
        None, description="Dimensions whose groups are compared; leave out for the default."
    )
    filters: dict[str, Any] | None = Field(None, description=FILTERS)
    thresholds: Thresholds | None = Field(
        None,
        description="Limits of the classes: absolute, percentage or both; of both, both must be"
        " kept. Leave out for the configured ones.",
    )


class OfComparison(Input):
    """What all tools need that look further into a comparison."""

    cache_key: str = Field(description="The `cache_key` that compare_sources gave.")


class ExplainDifferenceInput(OfComparison):
    """The arguments of `explain_difference`."""

    dimensions: list[str] | None = Field(
        None, description="Others to break the gap down by; see `unused_dimensions`."
    )


class DrillDownInput(OfComparison):
    """The arguments of `drill_down`."""

    key: dict[str, Any] = Field(description="The group: a value, or null, for each dimension.")
    limit: int = Field(20, ge=1, le=100, description="Rows of each side at most.")


class GetComparisonRowsInput(OfComparison):
    """The arguments of `get_comparison_rows`."""

    status: list[Status] | Status | None = Field(
        None, description="Classes wanted; leave out for all that differ."
    )
    offset: int = Field(0, ge=0, description="How many groups to skip.")
    limit: int = Field(20, ge=1, le=100, description="Groups at most.")


class DataAnalyst:
    """The tools' work, over these services."""

    def __init__(self, services: DataServices, last: LastComparisons) -> None:
        self._services = services
        self._last = last

    async def list_sources(self, _: ListSourcesInput) -> Mapping[str, Any]:
        """Each source in short."""
        return {"sources": [self._short(one) for one in await self._services.catalogue.sources()]}

    async def describe_source(self, asked: DescribeSourceInput) -> Mapping[str, Any]:
        """One source with the types of its dimensions and values of them."""
        found = await self._services.catalogue.source(asked.source)
        dimensions = {
            name: await self._dimension(asked.source, info)
            for name, info in found.dimensions.items()
        }
        return {**self._short(found), "dimensions": dimensions, "measures": brief_measures(found)}

    async def query_source(self, asked: QuerySourceInput) -> Mapping[str, Any]:
        """Aggregated rows of one source, and the SQL that gave them."""
        refuse_hidden(self._services.registry, [asked.source])
        result = await self._services.query.query(
            asked.source,
            asked.dimensions,
            asked.measures,
            asked.filters,
            order=asked.order,
            limit=asked.limit,
        )
        return {**result.to_dict(), "rows": brief_rows(result)}

    async def compare_sources(self, asked: CompareSourcesInput) -> Mapping[str, Any]:
        """How many groups are in which class, and the largest differences."""
        hidden = hidden_among(self._services.registry, (asked.source_a, asked.source_b))
        try:
            result = await self._services.comparison.compare(
                asked.source_a,
                asked.source_b,
                asked.measures,
                asked.align_on,
                asked.filters,
                thresholds=asked.thresholds,
            )
        except QueryError:
            if hidden:  # the database's words may hold a value
                names = " and ".join(hidden)
                raise QueryError(
                    f"the statement failed; the values of {names} are hidden from language models,"
                    " so ask a person to run `skillian compare`, which gives the reason"
                ) from None
            raise
        self._last.note(result.cache_key)
        return comparison_counts(result) if hidden else brief_comparison(result)

    async def explain_difference(self, asked: ExplainDifferenceInput) -> Mapping[str, Any]:
        """Which members of which dimensions carry the gap."""
        hidden = hidden_among(self._services.registry, self._compared(asked))
        found = await self._services.comparison.explain(asked.cache_key, asked.dimensions)
        return explanation_shares(found) if hidden else brief_explanation(found)

    async def drill_down(self, asked: DrillDownInput) -> Mapping[str, Any]:
        """The rows behind one group, both sides."""
        refuse_hidden(self._services.registry, self._compared(asked))
        found = await self._services.comparison.drill_down(asked.cache_key, asked.key, asked.limit)
        return {"key": asked.key, "a": brief_side(found.a), "b": brief_side(found.b)}

    async def get_comparison_rows(self, asked: GetComparisonRowsInput) -> Mapping[str, Any]:
        """A page of a comparison's groups."""
        refuse_hidden(self._services.registry, self._compared(asked))
        found = await self._services.comparison.rows(
            asked.cache_key, asked.status, asked.offset, asked.limit
        )
        return found.to_dict()

    def _compared(self, asked: OfComparison) -> tuple[str, str]:
        result = self._services.comparison.remembered(asked.cache_key)
        return result.source_a, result.source_b

    def _short(self, found: SourceInfo) -> dict[str, Any]:
        hidden = bool(hidden_among(self._services.registry, [found.name]))
        return {
            "name": found.name,
            "description": found.description,
            "dimensions": {name: info.type for name, info in found.dimensions.items()},
            "measures": {name: one.unit for name, one in found.measures.items()},
            "row_count": found.row_count,
            "freshness": None if hidden else jsonable(found.freshness),
            "values": "hidden" if hidden else "shown",
        }

    async def _dimension(self, source: str, info: DimensionInfo) -> dict[str, Any]:
        told = {"type": info.type, "description": info.description, "synonyms": info.synonyms}
        if hidden_among(self._services.registry, [source]):
            return told
        values = info.values
        if values is None:
            found = await self._services.query.query(source, [info.name], limit=SAMPLES)
            values = tuple(row[0] for row in found.rows)
        shown = [brief_value(value) for value in values[:SAMPLES]]
        complete = info.values is not None and len(values) <= SAMPLES
        return {**told, "values": shown, "more_values": not complete}


def tools(services: DataServices) -> list[SkillTool]:
    """The tools, over these services."""
    last = LastComparisons()
    analyst = DataAnalyst(services, last)
    reading = partial(SkillTool, idempotent=True)
    return [
        reading(
            "list_sources",
            "List the sources with their dimensions, measures, row count and freshness.",
            ListSourcesInput,
            analyst.list_sources,
        ),
        reading(
            "describe_source",
            "Describe one source: the types of its dimensions with values of them, its measures.",
            DescribeSourceInput,
            analyst.describe_source,
        ),
        reading(
            "query_source",
            "Aggregate the measures of one source, by dimensions if wanted. Gives rows and SQL.",
            QuerySourceInput,
            analyst.query_source,
        ),
        reading(
            "compare_sources",
            "Compare measures between two sources exactly, group by group: how many groups match,"
            " the largest differences, and what they point at.",
            CompareSourcesInput,
            analyst.compare_sources,
        ),
        reading(
            "explain_difference",
            "Say which members of which dimensions carry the gap of a comparison, with their"
            " shares; the smallest explanation first.",
            ExplainDifferenceInput,
            analyst.explain_difference,
        ),
        reading(
            "drill_down",
            "Show the rows behind one group of a comparison, on both sides.",
            DrillDownInput,
            analyst.drill_down,
        ),
        reading(
            "get_comparison_rows",
            "Page through the groups of a comparison, the largest difference first.",
            GetComparisonRowsInput,
            analyst.get_comparison_rows,
        ),
        python_tool(services, last),
    ]
