"""The tables that a user names: a declared source, a file, or a table of a database's URL."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from skillian.connectors.base import Table
from skillian.data.declare.infer import connection_name, registry_of, tables_of
from skillian.data.declare.sources import Connections, SourceRegistry
from skillian.data.query.binding import Binder, by_name, find_table
from skillian.errors import InvalidInputError, nearest, quoted

# A password may contain a `#`, too.
_FRAGMENT = re.compile(r"(?P<url>.+://.*?)(?:#(?P<name>[^#@/]+))?", re.DOTALL)


class NamedTable(NamedTuple):
    """A table, and a name for messages that holds no secrets."""

    name: str
    table: Table


def split_url(text: str) -> tuple[str, str]:
    """Return the URL of a database, and what follows its last `#`, or an empty string."""
    match = _FRAGMENT.fullmatch(text)
    return (match["url"], match["name"] or "") if match else (text, "")


async def read_table(name: str, registry: SourceRegistry | None, folder: Path) -> NamedTable:
    """Return the table that a user names.

    Args:
        name: A source of the registry, `URL#table`, `URL#schema.table`, or the path of a file.
        registry: The declared sources, if there are any.
        folder: The folder that paths in a URL are relative to.

    Raises:
        ToolError: There is no such table, or it cannot be read.
    """
    if registry is not None and name in registry.names:
        async with Connections(registry) as connections:
            bound = await Binder(registry, connections).bind(name)
            if bound.table is None:
                raise AssertionError("a bound source has a table")
            return NamedTable(name, bound.table)
    if "://" in name:
        return await _of_url(name, folder)
    if not _is_path(name):
        known = ", ".join(nearest(name, registry.names)) if registry is not None else "none"
        raise InvalidInputError(
            f"{quoted(name)} is neither a file in {Path.cwd()} nor a source (sources, nearest"
            f" first: {known}); a table of a database is named as URL#table"
        )
    return NamedTable(name, (await tables_of([name]))[name])


def _is_path(name: str) -> bool:
    return Path(name).exists() or Path(name.partition("#")[0]).exists()


def distinct_names(names: Sequence[str]) -> tuple[str, str]:
    """Return two names, with their position if they are the same."""
    a, b = names
    return (f"{a} (a)", f"{b} (b)") if a == b else (a, b)


async def _of_url(text: str, folder: Path) -> NamedTable:
    url, wanted = split_url(text)
    connection = connection_name(url)
    if not wanted:
        raise InvalidInputError(
            f"name the table of connection {connection!r}: append #table or #schema.table to its"
            " URL, or compare all tables with --all"
        )
    async with Connections(registry_of({connection: url}, {}, folder)) as connections:
        tables = by_name(await connections.get(connection).catalog())
    table = find_table(f"connection {connection!r}", wanted, tables)
    return NamedTable(f"{connection}#{table.schema}.{table.name}", table)
