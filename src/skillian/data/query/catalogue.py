"""The catalogue of sources: their dimensions with values, and their measures."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from cachetools import TTLCache
from sqlglot import exp

from skillian.data import sql
from skillian.data.declare.definitions import Measure
from skillian.data.declare.sources import SourceRegistry
from skillian.data.query.binding import Binder, BoundSource
from skillian.data.query.engine import QueryResult, raw_rows
from skillian.data.query.filters import filtered_rows
from skillian.data.sql.values import Record, none_last, python_value

MAX_VALUES = 50
MAX_SHORT = 250
"""The most whole numbers or short texts, such as names of countries, that are known as values."""
_SHORT, _FEW_WORDS = 30, 3

_OF_A_MEASURE = {"aggregation", "unit", "description", "synonyms"}
_CACHE_SECONDS = 300
_MOST_EXTENTS = 1000


@dataclass(frozen=True, slots=True)
class DimensionInfo(Record):
    """A dimension; `values` are all of its values, or None if there are too many.

    There are at most 50, or 250 whole numbers or texts of at most 30 characters and three words.
    `last` is the latest of the values of a dimension of dates that has more.
    """

    json_names = "type description synonyms values"

    name: str
    type: str
    description: str
    synonyms: tuple[str, ...]
    values: tuple[object, ...] | None
    last: object = None


@dataclass(frozen=True, slots=True)
class SourceInfo(Record):
    """A source; `freshness` is the largest value of its declared freshness dimension, or None."""

    json_names = "name description dimensions measures=measures_in_json row_count freshness"

    name: str
    description: str
    dimensions: Mapping[str, DimensionInfo]
    measures: Mapping[str, Measure]
    row_count: int
    freshness: object

    @property
    def measures_in_json(self) -> Mapping[str, dict[str, object]]:
        """What JSON, and a model, has of each measure."""
        return {
            name: measure.model_dump(mode="json", include=_OF_A_MEASURE)
            for name, measure in self.measures.items()
        }


def matching_sources(sources: Sequence[SourceInfo], words: str) -> list[SourceInfo]:
    """The sources that have some of these words in their names, descriptions or synonyms.

    Those with the rarest words are first.
    """
    scores = dict.fromkeys((info.name for info in sources), 0.0)
    texts = {info.name: _text(info) for info in sources}
    for word in {*_words(words)}:
        having = [name for name, text in texts.items() if word in text]
        for name in having:
            scores[name] += 1 / len(having)
    ordered = sorted(sources, key=lambda info: -scores[info.name])
    return [info for info in ordered if scores[info.name]]


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _text(info: SourceInfo) -> str:
    """All words of a source."""
    parts = [info.name, info.description]
    for name, measure in info.measures.items():
        parts += [name, measure.description or "", *measure.synonyms]
    for name, dimension in info.dimensions.items():
        parts += [name, dimension.description, *dimension.synonyms]
    return " ".join(_words(" ".join(parts)))


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows of a source as stored in its table; `types` are the types of its columns."""

    types: tuple[str, ...]
    rows: QueryResult


@dataclass(frozen=True, slots=True)
class Extent:
    """The least and greatest value of a dimension in the rows that have a value of another one.

    `is_whole` says that each of these rows has a value of the dimension.
    """

    value: object
    least: object
    greatest: object
    is_whole: bool


class Catalogue:
    """Describes the sources of a registry; descriptions are cached for five minutes."""

    def __init__(self, registry: SourceRegistry, binder: Binder) -> None:
        self._registry = registry
        self._binder = binder
        self._described: TTLCache[str, SourceInfo] = TTLCache(
            len(registry.names), _CACHE_SECONDS, timer=monotonic
        )
        self._extents: TTLCache[tuple[str, str, str], tuple[Extent, ...]] = TTLCache(
            _MOST_EXTENTS, _CACHE_SECONDS, timer=monotonic
        )

    async def sources(self) -> tuple[SourceInfo, ...]:
        """All sources, in file order; raises `QueryError` or `UnavailableError`."""
        return tuple([await self.source(name) for name in self._registry.names])

    async def source(self, name: str) -> SourceInfo:
        """One source; also raises `SourceNotFoundError`."""
        source = self._described.get(name)
        if source is None:
            bound = await self._binder.bind(name)
            source = self._described[name] = await _describe(bound)
        return source

    async def extents(self, name: str, dimension: str, of: str) -> tuple[Extent, ...]:
        """For each value of a dimension, the least and greatest value of another one.

        Raises as `source`, and `UnknownNameError`.
        """
        extents = self._extents.get((name, dimension, of))
        if extents is None:
            bound = await self._binder.bind(name)
            extents = self._extents[name, dimension, of] = await _extents(bound, dimension, of)
        return extents

    async def columns(self, name: str) -> tuple[str, ...]:
        """The columns of a source's table; raises as `source`."""
        return tuple((await self._binder.bind(name)).columns)

    async def sample(self, name: str, limit: int) -> Sample:
        """At most `limit` rows of a source; raises as `source`."""
        bound = await self._binder.bind(name)
        types = tuple(kind.sql for kind in bound.columns.values())
        return Sample(types, await raw_rows(bound, (), limit, in_order=False))


async def _describe(source: BoundSource) -> SourceInfo:
    row_count, freshness = await _extent(source)
    return SourceInfo(
        name=source.name,
        description=source.definition.description,
        dimensions={name: await _dimension(source, name) for name in source.definition.dimensions},
        measures=source.definition.measures,
        row_count=row_count,
        freshness=freshness,
    )


async def _extent(source: BoundSource) -> tuple[int, object]:
    """The number of rows and the freshness."""
    parameters = sql.BoundValues()
    columns: list[exp.Expr] = [sql.named(exp.Count(this=exp.Star()), "row_count")]
    if source.definition.freshness is not None:
        newest = source.dimension(source.definition.freshness, parameters).value
        columns.append(sql.named(exp.Max(this=newest), "freshness"))
    [row] = await source.read(source.rows(exp.Select(expressions=columns)), parameters)
    return int(row["row_count"]), row.get("freshness")


async def _dimension(source: BoundSource, name: str) -> DimensionInfo:
    parameters = sql.BoundValues()
    term = source.dimension(name, parameters)
    definition = source.definition.dimensions[name]
    rows = filtered_rows(source, {"value": term.value}, (), parameters).distinct()
    found = await source.read(rows.limit(MAX_SHORT + 1), parameters)
    values = [python_value(row["value"], term.type.kind) for row in found]
    are_short = term.type.kind in {"text", "integer"} and all(map(_is_short, values))
    few = len(values) <= (MAX_SHORT if are_short else MAX_VALUES)
    is_open_date = term.type.kind == "date" and not few
    return DimensionInfo(
        name=name,
        type=term.type.kind,
        description=definition.description,
        synonyms=definition.synonyms,
        values=tuple(sorted(values, key=none_last)) if few else None,
        last=await _last(source, name) if is_open_date else None,
    )


def _is_short(value: object) -> bool:
    text = str(value)
    return len(text) <= _SHORT and len(text.split()) <= _FEW_WORDS


async def _last(source: BoundSource, name: str) -> object:
    """The latest value of a dimension."""
    parameters = sql.BoundValues()
    term = source.dimension(name, parameters)
    newest = exp.Select(expressions=[sql.named(exp.Max(this=term.value), "value")])
    [row] = await source.read(source.rows(newest), parameters)
    return python_value(row["value"], term.type.kind)


async def _extents(source: BoundSource, dimension: str, of: str) -> tuple[Extent, ...]:
    parameters = sql.BoundValues()
    term, other = (source.dimension(name, parameters) for name in (dimension, of))
    rows = filtered_rows(source, {"value": term.value, "other": other.value}, (), parameters)
    columns: list[exp.Expr] = [
        sql.bare("value"),
        sql.named(exp.Min(this=sql.bare("other")), "least"),
        sql.named(exp.Max(this=sql.bare("other")), "greatest"),
        sql.named(exp.Count(this=sql.bare("other")), "filled"),
        sql.named(exp.Count(this=exp.Star()), "row_count"),
    ]
    grouped = sql.select(columns, rows, "rows")
    grouped.group_by(sql.bare("value"), copy=False)
    return tuple(
        Extent(
            python_value(row["value"], term.type.kind),
            python_value(row["least"], other.type.kind),
            python_value(row["greatest"], other.type.kind),
            row["filled"] == row["row_count"],
        )
        for row in await source.read(grouped.limit(MAX_SHORT + 1), parameters)
    )
