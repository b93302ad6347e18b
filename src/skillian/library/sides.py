"""What is compared: files, tables of databases, declared sources, SQL, and data frames."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from os import fspath
from pathlib import Path

from pydantic import ValidationError

from skillian.connectors import Connector
from skillian.connectors.base import Table
from skillian.connectors.frames import Frame, FramesConnector
from skillian.data.declare.definitions import reason_of
from skillian.data.declare.sources import Connections, SourceRegistry, free_name, registry_of
from skillian.data.named import named_tables, with_options
from skillian.data.query.queries import admitted_query, rows_of_query
from skillian.data.query.relation import SourceOfTable, connection_of, from_here
from skillian.errors import InvalidInputError
from skillian.library.frames import frame_of, is_frame
from skillian.settings import Settings


@dataclass(frozen=True, slots=True)
class Sql:
    """The rows of a SELECT, one side of a comparison; `sql` makes it."""

    statement: str
    url: str

    def __repr__(self) -> str:
        """The statement without the URL, which may hold a password."""
        return f"sql({self.statement!r}, …)"


def sql(statement: str, url: str) -> Sql:
    """The rows of a SELECT as one side of a comparison.

    Args:
        statement: One SELECT over tables of the database.
        url: The URL of the database, such as `postgresql://…/shop`; it may contain `${ENV}`.
    """
    return Sql(statement, url)


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides as sources: their names, the connectors of data frames by connection, and remarks.

    The remarks say how names are read.
    """

    registry: SourceRegistry
    names: tuple[str, str]
    given: Mapping[str, Connector]
    remarks: tuple[str, ...]

    @property
    def files(self) -> frozenset[Path]:
        """The files with the rows of both sides, or with their databases."""
        return self.registry.files(self.names)


async def sides_of(
    sides: tuple[object, object],
    names: tuple[str, str],
    sources: Path | None,
    as_source: SourceOfTable,
) -> Sides:
    """Both sides as sources.

    Args:
        sides: What the caller compares.
        names: What data frames and SQL are called.
        sources: The `sources.yaml`; None to use the configured one, if it exists.
        as_source: Makes a source of a table that nobody has declared.

    Raises:
        ToolError: A name is wrong, or a side cannot be read.
        ConfigurationError: The `sources.yaml` has faults.
    """
    remarks: list[str] = []
    texts = {
        at: with_options(fspath(side))
        for at, side in enumerate(sides)
        if isinstance(side, str | Path)
    }
    registry, found = registry_of({}, {}, Path()), tuple[str, ...]()
    if texts:
        registry, found = await named_tables(
            tuple(texts.values()),
            _configured() if sources is None else sources,
            remarks.append,
            as_source,
            is_stated=sources is not None,
        )
    chosen = dict(zip(texts, found, strict=True))
    frames: dict[str, Frame] = {}
    for at, side in enumerate(sides):
        name = chosen.setdefault(at, free_name(names[at], registry.names))
        if isinstance(side, Sql):
            registry = await _with_sql(registry, side, name, as_source)
        elif is_frame(side):
            if at and side is sides[0] and not hasattr(side, "columns"):
                raise InvalidInputError("both sides are one stream, which is read only once")
            frames[name] = await asyncio.to_thread(frame_of, side, name)
        elif at not in texts:
            raise InvalidInputError(
                f"{name}: a {type(side).__name__} cannot be compared; compare a path, the URL of a"
                " table, a declared source, skillian.sql(...), or a data frame of pandas,"
                " polars, Arrow or DuckDB"
            )
    registry, given = await _with_frames(registry, frames, as_source)
    return Sides(registry, (chosen[0], chosen[1]), given, tuple(remarks))


async def _with_sql(
    registry: SourceRegistry, side: Sql, name: str, as_source: SourceOfTable
) -> SourceRegistry:
    """The registry with a query as a source, over a connection that may be there already."""
    url = from_here(side.url)
    connection = connection_of(url, registry)
    async with Connections(registry_of({connection: url}, {}, Path())) as opened:
        connector = opened.get(connection)
        query = admitted_query(side.statement, connector)
        _, columns = await rows_of_query(query, side.statement, connector, name)
    source = as_source(connection, Table("", name, columns))
    source = source.model_copy(update={"table": None, "query": side.statement})
    return registry.with_tables({connection: url}, {name: source})


async def _with_frames(
    registry: SourceRegistry, frames: Mapping[str, Frame], as_source: SourceOfTable
) -> tuple[SourceRegistry, Mapping[str, Connector]]:
    """The registry with data frames as sources, and their connector; one reads them all."""
    if not frames:
        return registry, {}
    connector = FramesConnector(frames)
    connection = free_name("frames", registry.connections)
    sources = {table.name: as_source(connection, table) for table in await connector.catalog()}
    return registry.with_tables({connection: "frames://"}, sources), {connection: connector}


def _configured() -> Path:
    """The configured `sources.yaml`; raises `InvalidInputError` if a setting is invalid."""
    try:
        return Settings().sources
    except ValidationError as error:
        faults = (f"{each['loc'][0]}: {reason_of(each)}" for each in error.errors())
        raise InvalidInputError(f"the settings have faults: {'; '.join(faults)}") from None
