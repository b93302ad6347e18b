"""Tables named on the command line, as sources: a file, or a table of a database."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from skillian.connectors import PATHS, Connector, scheme, schemes
from skillian.connectors.base import Table, path_of
from skillian.connectors.files.options import split_name
from skillian.data.declare.definitions import Dimension, Source
from skillian.data.declare.sources import (
    Connections,
    SourceRegistry,
    connection_name,
    free_name,
    registry_of,
)
from skillian.data.query.binding import by_name, find_table
from skillian.errors import InvalidInputError, QueryError, UnknownNameError

# A password may contain a `#`, too.
_FRAGMENT = re.compile(r"(?P<url>.+://.*?)(?:#(?P<name>[^#@/]+))?", re.DOTALL)


SourceOfTable = Callable[[str, Table], Source]
"""Makes a source of a table, which the connection of this name has."""


class Address(NamedTuple):
    """A table of a database: the URL and the table's name, which may be empty."""

    url: str
    table: str


def split_url(text: str) -> tuple[str, str]:
    """The URL of a database, and what follows its last `#`, or an empty string.

    In a name, `%23` is `#` and `%2F` is `/`.
    """
    match = _FRAGMENT.fullmatch(text)
    if match is None:
        return text, ""
    return match["url"], (match["name"] or "").replace("%23", "#").replace("%2F", "/")


def address_of(name: str) -> Address | None:
    """The address that `url#table` names; None for anything without a known scheme."""
    scheme, separator, _ = name.partition("://")
    if not separator or scheme.lower() not in schemes():
        return None
    return Address(*split_url(name))


async def bare_tables(
    names: Iterable[str],
    declared: SourceRegistry | None = None,
    as_source: SourceOfTable | None = None,
) -> tuple[SourceRegistry, tuple[str, ...]]:
    """Tables as sources, and the names of these sources.

    Args:
        names: Files, addresses such as `postgresql://…/shop#orders`, or declared sources.
        declared: The declared sources; a file that one of them declares is read as that says.
        as_source: Makes a source of a table that nobody has declared; by default it has all
            columns and no measures.

    Raises:
        ToolError: A file or a database cannot be read, or has no such table.
    """
    as_source, names = as_source or bare_source, tuple(names)
    known: dict[str, Source] = {}
    urls: dict[str, str] = {}
    for name in names:
        source = None if declared is None else declared_name(name, declared)
        if declared is not None and source is not None:
            known[name] = declared.get(source)
            urls[known[name].connection] = declared.declared_url(known[name].connection)
    folder = Path() if declared is None else declared.folder
    settings = None if declared is None else declared.comparison
    registry = registry_of(urls, known, folder, settings)
    others = [name for name in names if name not in known and address_of(name) is None]
    titles = titles_of(others)
    tables, opened = await tables_of(others)
    connectors: dict[str, Connector] = {}
    for name, table in tables.items():
        title, connection = titles[name], free_name(titles[name], registry.connections)
        source_of_file = {title: as_source(connection, table)}
        registry = registry.with_tables({connection: file_url(name)}, source_of_file)
        connectors[connection] = opened[title]
    chosen: list[str] = []
    for name in names:
        registry, source = await _with_address(registry, titles.get(name, name), as_source)
        chosen.append(source)
    registry.opened |= connectors
    return registry, tuple(chosen)


def declared_name(name: str, declared: SourceRegistry) -> str | None:
    """The declared source of this name, or for the file of this name."""
    if name in declared.names:
        return name
    return declared_file(name, declared) if address_of(name) is None else None


async def _with_address(
    registry: SourceRegistry, name: str, as_source: SourceOfTable
) -> tuple[SourceRegistry, str]:
    """The sources with the table at an address, if the name is one, and what that is called."""
    address = address_of(name)
    if name in registry.names or address is None:
        return registry, name
    url = from_here(address.url)
    connection = connection_of(url, registry)
    async with Connections(registry_of({connection: url}, {}, Path())) as connections:
        table = _chosen(connection, address.table, await connections.get(connection).catalog())
    source = f"{connection}#{table.name}"
    if source in registry.names and registry.get(source).table != full_name(table):
        source = f"{connection}#{full_name(table)}"  # of another schema
    added = {source: as_source(connection, table)}
    return registry.with_tables({connection: url}, added), source


def connection_of(url: str, registry: SourceRegistry) -> str:
    """The connection that has this URL, or a free name for one."""
    known = (each for each in registry.connections if registry.declared_url(each) == url)
    return next(known, None) or free_name(connection_name(url), registry.connections)


def from_here(url: str) -> str:
    """A URL whose path, if it is that of a file or a folder, is absolute."""
    if scheme(url) not in PATHS:
        return url
    return f"{scheme(url)}:///{path_of(url, Path()).absolute()}"


def _chosen(connection: str, name: str, tables: tuple[Table, ...]) -> Table:
    if name:
        return find_table(f"connection {connection!r}", name, by_name(tables))
    readable = [table for table in tables if table.is_readable]
    if len(readable) == 1:
        return readable[0]
    listed = ", ".join(f"{table.schema}.{table.name}" for table in tables[:20]) or "none"
    raise InvalidInputError(
        f"name a table of {connection} after its URL, such as URL#table; its tables: {listed}"
    )


def bare_source(connection: str, table: Table) -> Source:
    """A table as a source with all of its columns."""
    # Not validated: a bare table has no measures, and its columns may have any name.
    dimensions = {name: Dimension.model_construct(column=name) for name in table.columns}
    return Source.model_construct(
        connection=connection, table=full_name(table), dimensions=dimensions, measures={}
    )


def full_name(table: Table) -> str:
    """The name of a table with its schema, if it has one."""
    return f"{table.schema}.{table.name}" if table.schema else table.name


def _named(name: str) -> tuple[Path, tuple[str, ...]]:
    """Path and options of `old.csv?decimal=,` or, for one of its sheets, `book.xlsx#Sheet`."""
    file, query = split_name(name)
    path = Path(file)
    options = (query,) if query else ()
    book, _, sheet = path.name.partition("#")
    if not sheet or not book or path.exists():
        return path, options
    return path.with_name(book), (*options, f"sheet={quote(sheet)}")


def file_url(name: str) -> str:
    """The URL of a file, or of the workbook that a sheet is in, with its options."""
    path, options = _named(name)
    return f"files:///{path.absolute()}" + (f"?{'&'.join(options)}" if options else "")


def titles_of(names: Sequence[str]) -> dict[str, str]:
    """What these files are called: without their options, if that tells them apart."""
    plain = {name: split_name(name)[0] for name in names}
    counts = Counter([*plain.values(), *(name for name in plain if plain[name] != name)])
    return {name: title if counts[title] == 1 else name for name, title in plain.items()}


async def tables_of(names: Sequence[str]) -> tuple[dict[str, Table], dict[str, Connector]]:
    """The table of each of these files, and the connectors that read them, by their titles.

    A sheet of a workbook is named `book.xlsx#Sheet`. Raises `QueryError` for an unreadable file or
    a sheet or rows that do not exist, and `UnknownNameError` for an empty one of several sheets.
    """
    by_name: dict[str, Table] = {}
    titles = titles_of(names)
    urls = {title: file_url(name) for name, title in titles.items()}
    async with Connections(registry_of(urls, {}, Path()), _together(urls)) as opened:
        for name, title in titles.items():
            tables = {table.name: table for table in await opened.get(title).catalog()}
            wanted = _named(name)[0].name
            if wanted not in tables:
                if sheets := [each for each in tables if each.startswith(f"{wanted}#")]:
                    raise UnknownNameError("sheet", name, sheets)
                raise QueryError(
                    f"{name}: the sheet has no names and rows; write them into it, or name another"
                    " one, or another line of the names, such as header=1"
                )
            by_name[name] = tables[wanted]
        return by_name, opened.handed_on()


def _together(urls: Mapping[str, str]) -> dict[str, Connector]:
    """One connector for several files, so that a statement can read all of them."""
    if len(urls) < 2:  # noqa: PLR2004 - alone it needs no other
        return {}
    from skillian.connectors.files.connector import FilesConnector  # noqa: PLC0415 - loads its libraries

    connector = FilesConnector.of_files(urls)
    return {} if connector is None else dict.fromkeys(urls, connector)


def declared_file(name: str, declared: SourceRegistry) -> str | None:
    """The source that is declared for a file; options after its name have precedence."""
    path, options = _named(name)
    if options:
        return None
    for each in declared.names:
        source = declared.get(each)
        url = declared.declared_url(source.connection)
        if scheme(url) == "files" and source.table is not None:
            url = declared.url(source.connection)
            root = path_of(split_name(url)[0], declared.folder)
            if path.resolve() in {root.resolve(), (root / source.table).resolve()}:
                return each
    return None
