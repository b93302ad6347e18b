"""The tools of the data-analyst skill: the engines of skillian, for a model to call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from skillian.data.definitions import Thresholds
from skillian.data.services import DataServices
from skillian.skills.skill import SkillTool

FILTERS = (
    "Dimension to value. A value, a list of values, null, or one of "
    '{"ne": v}, {"gte": v}, {"gt": v}, {"lte": v}, {"lt": v}, {"between": [low, high]}.'
)


class Input(BaseModel):
    """Arguments of a tool; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid")


class ListSourcesInput(Input):
    """`list_sources` takes nothing."""


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
    measures: list[str] = Field(min_length=1, description="What to compare, for example amount.")
    align_on: list[str] | None = Field(
        None, description="Dimensions whose groups are compared; leave out for the default."
    )
    filters: dict[str, Any] | None = Field(None, description=FILTERS)
    thresholds: Thresholds | None = Field(
        None, description="Limits of the classes; leave out for the configured ones."
    )


def tools(services: DataServices) -> list[SkillTool]:
    """The tools, over these services."""

    async def list_sources(_: ListSourcesInput) -> Mapping[str, Any]:
        return {"sources": [source.to_dict() for source in await services.catalogue.sources()]}

    async def query_source(asked: QuerySourceInput) -> Mapping[str, Any]:
        result = await services.query.query(
            asked.source,
            asked.dimensions,
            asked.measures,
            asked.filters,
            order=asked.order,
            limit=asked.limit,
        )
        return result.to_dict()

    async def compare_sources(asked: CompareSourcesInput) -> Mapping[str, Any]:
        result = await services.comparison.compare(
            asked.source_a,
            asked.source_b,
            asked.measures,
            asked.align_on,
            asked.filters,
            thresholds=asked.thresholds,
        )
        return _without_sql(result.to_dict())

    return [
        SkillTool(
            "list_sources",
            "List the sources with their dimensions, measures, row count and freshness.",
            ListSourcesInput,
            list_sources,
        ),
        SkillTool(
            "query_source",
            "Aggregate the measures of one source, by dimensions if wanted. Gives rows and SQL.",
            QuerySourceInput,
            query_source,
        ),
        SkillTool(
            "compare_sources",
            "Compare measures between two sources exactly, group by group: how many groups match,"
            " the largest differences, and what they point at.",
            CompareSourcesInput,
            compare_sources,
        ),
    ]


def _without_sql(comparison: dict[str, Any]) -> dict[str, Any]:
    """The comparison without its statement: thousands of characters that a model need not read."""
    hidden = {"sql", "parameters"}
    proof = {key: value for key, value in comparison["proof"].items() if key not in hidden}
    return {**comparison, "proof": proof}
