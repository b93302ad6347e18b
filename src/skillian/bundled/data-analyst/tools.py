"""The tools of the data-analyst skill: the engines of skillian, for a model to call.

Results are bounded: long texts are cut, and long lists are paged.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from cachetools import LRUCache
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from skillian.bundled.run_python import python_tool
from skillian.data.comparison.page import Page
from skillian.data.declare.forms import QuestionForm
from skillian.data.for_models import (
    brief_rows,
    brief_side,
    brief_value,
    comparison_scope,
    for_models,
    hidden_among,
    query_scope,
    refuse_hidden,
    refuse_undeclared,
)
from skillian.data.query.catalogue import DimensionInfo, SourceInfo, matching_sources
from skillian.data.services import DataServices
from skillian.data.sql.values import jsonable
from skillian.data.subjects import ROW_CLASSES, STATUSES, RowClass, Status
from skillian.errors import InvalidInputError, NamesValuesError, OtherSubjectError, QueryError
from skillian.skills.skill import SkillTool, session_id

if TYPE_CHECKING:
    from skillian.data.results.result import ComparisonResult

FILTERS = (
    "{dimension: value, [values], null, or {op: value}}; op: ne, gte, gt, lte, lt, between"
    " [low, high]"
)
_OF_GROUP = {"cache_key", "key", "limit"}
SAMPLES = 20
MOST_DESCRIBED = 4
MOST_SESSIONS = 10_000


class Input(BaseModel):
    """Arguments of a tool; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid")


class ListSourcesInput(Input):
    """The arguments of `list_sources`."""

    search: str | None = Field(
        None, max_length=200, description="Words of names, descriptions or synonyms."
    )


class DescribeSourceInput(Input):
    """The arguments of `describe_source`."""

    source: str = Field(description="The source's name.")


class QuerySourceInput(Input):
    """The arguments of `query_source`."""

    source: str
    measures: list[str] | None = None
    dimensions: list[str] | None = Field(None, description="Groups.")
    filters: dict[str, Any] | None = Field(None, description=FILTERS)
    order: list[str] | None = Field(None, description='Columns; "-amount" is highest first.')
    limit: int = Field(50, ge=1, le=1000)


_STATUS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_TEXT = WithJsonSchema({"type": "string"})
_OBJECT = WithJsonSchema({"type": "object"})


def _texts(most: int | None = None) -> tuple[Any, Any]:
    """A list of at most so many texts, of which a schema says no more."""
    schema: dict[str, Any] = {"items": {"type": "string"}, "type": "array"}
    bounds = {} if most is None else {"minItems": 1, "maxItems": most}
    return Field(min_length=1, max_length=most), WithJsonSchema(schema | bounds)


_COMPARE_SOURCES = QuestionForm(
    "CompareSourcesInput",
    "The arguments of `compare_sources`.",
    {
        "a": (None, _TEXT),
        "b": (None, _TEXT),
        "measures": ("Leave out to compare whole rows.", *_texts(10)),
        "align_on": ("Groups; only if the question says by which.", *_texts()),
        "filters": (
            "As in query_source.",
            WithJsonSchema({"additionalProperties": True, "type": "object"}),
        ),
        "thresholds": (
            'A tolerance of the question: {"match": {"absolute": 5}} or "percentage".',
            _OBJECT,
        ),
        "key": ("Of rows: columns that identify one.", *_texts(20)),
        "ignore": ("Of rows: columns to leave out.", *_texts(1000)),
        "columns": ("Of rows: only these.", *_texts(1000)),
        "map": (
            "Of rows: column of source_a to its name in source_b.",
            Field(min_length=1, max_length=1000),
            WithJsonSchema(
                {
                    "additionalProperties": {"type": "string"},
                    "maxProperties": 1000,
                    "minProperties": 1,
                    "type": "object",
                }
            ),
        ),
        "rules": (
            (
                "Of rows: {all: rule, columns: {name: rule}}; a rule: absolute, relative,"
                " seconds, trim, ignore_case, ..."
            ),
            _OBJECT,
        ),
        "multiset": ("Of rows: without a key, count each.",),
    },
)


class ComparisonInput(Input):
    """The arguments of tools that look further into a comparison."""

    cache_key: str = Field(description="Of the comparison.")


class ExplainDifferenceInput(ComparisonInput):
    """The arguments of `explain_difference`."""

    dimensions: list[str] | None = Field(
        None, description="More dimensions, of `unused_dimensions`."
    )


class DrillDownInput(ComparisonInput):
    """The arguments of `drill_down`."""

    key: dict[str, Any] = Field(description="The group: a value, or null, for each dimension.")
    limit: int = Field(20, ge=1, le=100, description="The maximum number of rows of each side.")


class GetComparisonRowsInput(ComparisonInput):
    """The arguments of `get_comparison_rows`."""

    status: (
        Annotated[list[Status | RowClass] | Status | RowClass, WithJsonSchema(_STATUS)] | None
    ) = Field(None, description=f"Of {', '.join((*STATUSES, *ROW_CLASSES))}.")
    offset: int = Field(0, ge=0)
    limit: int = Field(20, ge=1, le=100)
    key: dict[str, Any] | None = Field(None, description="The group whose rows to show.")


class DataAnalyst:
    """The work of the tools.

    Args:
        services: The sources and the comparisons.
    """

    def __init__(self, services: DataServices) -> None:
        self._services = services
        self._last_keys: LRUCache[str, str] = LRUCache(MOST_SESSIONS)

    def last_comparison(self) -> str | None:
        """The key of the last comparison of the session of the current call."""
        return self._last_keys.get(session_id())

    async def list_sources(self, arguments: ListSourcesInput) -> Mapping[str, Any]:
        """A summary of each source; of a search, those that fit best, with all that they have."""
        sources = await self._services.catalogue.sources()
        if arguments.search is None:
            return {"sources": [self._summary(info) for info in sources]}
        names = [each.name for each in matching_sources(sources, arguments.search)]
        best = [DescribeSourceInput(source=name) for name in names[:MOST_DESCRIBED]]
        described = [await self.describe_source(each) for each in best]
        return {"sources": described, "more": names[MOST_DESCRIBED:SAMPLES]}

    async def describe_source(self, arguments: DescribeSourceInput) -> Mapping[str, Any]:
        """One source with the types and sample values of its dimensions."""
        info = await self._services.catalogue.source(arguments.source)
        dimensions = {
            name: await self._dimension(arguments.source, dimension)
            for name, dimension in info.dimensions.items()
        }
        return {**self._summary(info), "dimensions": dimensions, "measures": info.measures_in_json}

    async def query_source(self, arguments: QuerySourceInput) -> Mapping[str, Any]:
        """Aggregated rows of one source, and their SQL."""
        refuse_hidden(self._services.registry, [arguments.source])
        result = await self._services.query.query(
            arguments.source,
            arguments.dimensions,
            arguments.measures,
            arguments.filters,
            order=arguments.order,
            limit=arguments.limit,
        )
        info = await self._services.catalogue.source(arguments.source)
        snapshot = datetime.now(UTC).isoformat(timespec="seconds")
        scope = query_scope(result, info, arguments.dimensions or (), snapshot)
        measures = [name for name in result.columns if name in info.measures]
        brief = {**result.to_dict(), "rows": brief_rows(result), "measures": measures}
        return {**brief, "scope": scope}

    async def compare_sources(self, arguments: BaseModel) -> Mapping[str, Any]:
        """The number of groups or rows in each class, and what differs."""
        try:
            question = _COMPARE_SOURCES.question(arguments)
        except ValueError as error:
            raise InvalidInputError(str(error)) from None
        hidden = hidden_among(self._services.registry, (question.a, question.b))
        with _as_models_read(hidden):
            refuse_undeclared(self._services.registry, hidden, question.filters)
            result = await self._services.engine.compare(question)
        if session_id():
            self._last_keys[session_id()] = result.cache_key
        forms = for_models(result)
        brief = forms.counts(result) if hidden else forms.brief(result)
        return {**brief, "scope": comparison_scope(result)}

    async def explain_difference(self, arguments: ExplainDifferenceInput) -> Mapping[str, Any]:
        """Which members of which dimensions carry the gap; of rows, which rules explain it."""
        result = self._result(arguments)
        hidden = hidden_among(self._services.registry, (result.source_a, result.source_b))
        with _as_models_read(hidden):
            found = await self._services.engine.explain(arguments.cache_key, arguments.dimensions)
        forms = for_models(result)
        brief = forms.why_counts(found) if hidden else forms.brief_why(found)
        return {**brief, "scope": comparison_scope(result)}

    async def drill_down(self, arguments: DrillDownInput) -> Mapping[str, Any]:
        """The rows behind one group, both sides."""
        result = self._result(arguments)
        refuse_hidden(self._services.registry, (result.source_a, result.source_b))
        with _as_models_read():
            rows = await self._services.engine.measures.drill_down(
                arguments.cache_key, arguments.key, arguments.limit
            )
        sides = {"a": brief_side(rows.a), "b": brief_side(rows.b)}
        return {"key": arguments.key, **sides, "scope": comparison_scope(result)}

    async def get_comparison_rows(self, arguments: GetComparisonRowsInput) -> Mapping[str, Any]:
        """A page of a comparison's groups, or of its rows that differ."""
        if arguments.key is not None:
            of_group = arguments.model_dump(include=_OF_GROUP)
            return await self.drill_down(DrillDownInput(**of_group))
        result = self._result(arguments)
        refuse_hidden(self._services.registry, (result.source_a, result.source_b))
        status = arguments.status
        statuses = (status,) if isinstance(status, str) else tuple(status or ())
        page = Page(statuses, arguments.offset, arguments.limit)
        rows = await self._services.engine.rows(arguments.cache_key, page)
        forms = for_models(result)
        shown = [forms.row(each) for each in rows.rows]
        return {**rows.to_dict(), "rows": shown, "scope": comparison_scope(result)}

    def _result(self, arguments: ComparisonInput) -> ComparisonResult:
        return self._services.engine.public(arguments.cache_key)

    def _summary(self, info: SourceInfo) -> dict[str, Any]:
        hidden = bool(hidden_among(self._services.registry, [info.name]))
        return {
            "name": info.name,
            "description": info.description,
            "dimensions": {name: each.type for name, each in info.dimensions.items()},
            "measures": {name: each.unit for name, each in info.measures.items()},
            "row_count": info.row_count,
            "freshness": None if hidden else jsonable(info.freshness),
            "values": "hidden" if hidden else "shown",
        }

    async def _dimension(self, source: str, info: DimensionInfo) -> dict[str, Any]:
        result = {"type": info.type, "description": info.description, "synonyms": info.synonyms}
        if hidden_among(self._services.registry, [source]):
            return result
        values = info.values
        if values is None:
            sample = await self._services.query.query(source, [info.name], limit=SAMPLES)
            values = tuple(row[0] for row in sample.rows)
        samples = [brief_value(value) for value in values[:SAMPLES]]
        complete = info.values is not None and len(values) <= SAMPLES
        return {**result, "values": samples, "more_values": not complete}


@contextmanager
def _as_models_read(hidden: Sequence[str] = ()) -> Generator[None]:
    """Keep the values of hidden sources out of errors, and name the tool for whole rows."""
    try:
        yield
    except OtherSubjectError as error:
        raise InvalidInputError(f"{error}, whose cells get_comparison_rows gives") from None
    except NamesValuesError as error:
        raise InvalidInputError(error.without_values) if hidden else error from None
    except QueryError:
        if hidden:  # the message of the database may contain a value
            names = " and ".join(hidden)
            raise QueryError(
                f"the statement failed; the values of {names} are hidden from language models,"
                " so ask a person to run `skillian compare`, which gives the reason"
            ) from None
        raise


def tools(services: DataServices) -> list[SkillTool]:
    """Make the tools."""
    analyst = DataAnalyst(services)
    read_only = partial(SkillTool, idempotent=True, sink="free")
    hidden = partial(read_only, is_offered=False)
    return [
        hidden(
            "list_sources",
            "Find sources with their measures and dimensions.",
            ListSourcesInput,
            analyst.list_sources,
        ),
        hidden(
            "describe_source",
            "Describe one source: its dimensions with types and sample values, and its measures.",
            DescribeSourceInput,
            analyst.describe_source,
        ),
        read_only(
            "query_source",
            "Aggregate measures of one source.",
            QuerySourceInput,
            analyst.query_source,
        ),
        read_only(
            "compare_sources",
            "Compare measures of two sources, group by group, or whole rows.",
            _COMPARE_SOURCES.model,
            analyst.compare_sources,
        ),
        read_only(
            "explain_difference",
            "Why a comparison differs: which members carry the gap; of whole rows, proved rules.",
            ExplainDifferenceInput,
            analyst.explain_difference,
        ),
        hidden(
            "drill_down",
            "Show the rows behind one group of a comparison of measures, on both sides.",
            DrillDownInput,
            analyst.drill_down,
        ),
        read_only(
            "get_comparison_rows",
            "More groups or rows of a comparison that differ, or the rows behind one group.",
            GetComparisonRowsInput,
            analyst.get_comparison_rows,
        ),
        python_tool(services, analyst.last_comparison),
    ]
