"""Tables named on the command line, as sources: a file, or a table of a database."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from skillian.connectors import schemes
from skillian.connectors.base import Table
from skillian.data.declare.definitions import ComparisonSettings, Dimension, Source, SourcesFile
from skillian.data.declare.infer import connection_name, file_url, tables_of
from skillian.data.declare.sources import Connections, SourceRegistry
from skillian.data.query.binding import by_name, find_table
from skillian.errors import InvalidInputError

# A password may contain a `#`, too.
_FRAGMENT = re.compile(r"(?P<url>.+://.*?)(?:#(?P<name>[^#@/]+))?", re.DOTALL)


class Address(NamedTuple):
    """A table of a database: the URL and the table's name, which may be empty."""

    url: str
    table: str


def split_url(text: str) -> tuple[str, str]:
    """Return the URL of a database, and what follows its last `#`, or an empty string."""
    match = _FRAGMENT.fullmatch(text)
    return (match["url"], match["name"] or "") if match else (text, "")


def address_of(name: str) -> Address | None:
    """Return the address that `url#table` names; None for anything without a known scheme."""
    scheme, separator, _ = name.partition("://")
    if not separator or scheme.lower() not in schemes():
        return None
    return Address(*split_url(name))


async def bare_tables(
    names: Iterable[str], declared: SourceRegistry | None = None
) -> tuple[SourceRegistry, tuple[str, ...]]:
    """Return tables as sources with all of their columns, and the names of these sources.

    Args:
        names: Files, addresses such as `postgresql://…/shop#orders`, or declared sources.
        declared: The declared sources.

    Raises:
        ToolError: A file or a database cannot be read, or has no such table.
    """
    names = tuple(names)
    urls: dict[str, str] = {}
    sources: dict[str, Source] = {}
    files = [
        name
        for name in names
        if address_of(name) is None and (declared is None or name not in declared.names)
    ]
    for name, table in (await tables_of(files)).items():
        urls[name] = file_url(name)
        sources[name] = bare_source(name, table)
    chosen: list[str] = []
    for name in names:
        address = address_of(name)
        if address is not None:
            chosen.append(await _of_database(address, urls, sources))
            continue
        if declared is not None and name in declared.names:
            source = declared.get(name)
            urls[source.connection] = declared.declared_url(source.connection)
            sources[name] = source
        chosen.append(name)
    folder = Path() if declared is None else declared.folder
    settings = ComparisonSettings() if declared is None else declared.comparison
    definitions = SourcesFile.model_construct(
        connections={name: SecretStr(url) for name, url in urls.items()},
        sources=sources,
        comparison=settings,
    )
    return SourceRegistry(definitions, folder), tuple(chosen)


async def _of_database(address: Address, urls: dict[str, str], sources: dict[str, Source]) -> str:
    """Add the table at an address and return the name of its source."""
    connection = next((name for name, url in urls.items() if url == address.url), None)
    if connection is None:
        connection = free_name(connection_name(address.url), urls)
        urls[connection] = address.url
    definitions = SourcesFile.model_construct(
        connections={connection: SecretStr(address.url)}, sources={}
    )
    async with Connections(SourceRegistry(definitions, Path())) as connections:
        tables = await connections.get(connection).catalog()
        table = _chosen(connection, address.table, tables)
        name, source = f"{connection}#{table.name}", bare_source(connection, table)
        if name in sources and sources[name].table != source.table:
            name = f"{connection}#{source.table}"  # of another schema
        sources[name] = source
        return name


def _chosen(connection: str, name: str, tables: tuple[Table, ...]) -> Table:
    if name:
        return find_table(f"connection {connection!r}", name, by_name(tables))
    if len(tables) == 1:
        return tables[0]
    listed = ", ".join(f"{table.schema}.{table.name}" for table in tables[:20]) or "none"
    raise InvalidInputError(
        f"name a table of {connection} after its URL, such as URL#table; its tables: {listed}"
    )


def bare_source(connection: str, table: Table) -> Source:
    """Return a table as a source with all of its columns."""
    # Not validated: a bare table has no measures, and its columns may have any name.
    dimensions = {name: Dimension.model_construct(column=name) for name in table.columns}
    return Source.model_construct(
        connection=connection,
        table=f"{table.schema}.{table.name}",
        dimensions=dimensions,
        measures={},
    )


def free_name(name: str, taken: Mapping[str, str]) -> str:
    """Return the name, with a number if it is taken."""
    numbered = (f"{name}_{number}" for number in range(2, len(taken) + 3))
    return next(each for each in (name, *numbered) if each not in taken)
