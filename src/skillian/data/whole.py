"""All tables of two schemas: which belong together, and by which key their rows are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from skillian.connectors import scheme
from skillian.connectors.base import Table
from skillian.connectors.files.connector import is_table, others_in
from skillian.connectors.files.options import read_url
from skillian.connectors.files.prepared import PACKED
from skillian.data.declare.definitions import Source
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import (
    Connections,
    SourceRegistry,
    connection_name,
    free_name,
    registry_of,
)
from skillian.data.query.relation import bare_source, split_url
from skillian.data.schema.diff import distinct_names, pair_columns
from skillian.errors import InvalidInputError, ToolError, nearest, quoted

_POSTGRES = frozenset({"postgres", "postgresql"})
_LISTED = 5


@dataclass(frozen=True, slots=True)
class MissingTable:
    """A table that only one side has; `name` is that of the comparison it would have had."""

    name: str
    side: str
    source: str


@dataclass(frozen=True, slots=True)
class WholeSchema:
    """What to compare in two schemas.

    Attributes:
        registry: A source for each table.
        comparisons: A comparison of rows for each pair of tables, in the order of their names.
        missing: The tables that only one side has.
        names: What the two schemas are called, without secrets.
        others: What folders have that is not compared, for each of them a sentence.
    """

    registry: SourceRegistry
    comparisons: tuple[SavedComparison, ...]
    missing: tuple[MissingTable, ...]
    names: tuple[str, str]
    others: tuple[str, ...] = ()


class _Side(NamedTuple):
    """One schema: its connection, the schema's name, and its tables by their names for pairing."""

    connection: str
    schema: str
    tables: Mapping[str, Table]

    @property
    def name(self) -> str:
        return f"{self.connection}#{self.schema}" if self.schema else self.connection

    def source(self, table: str) -> str:
        return f"{self.name}.{table}"


async def plan_whole(
    urls: tuple[str, str],
    folder: Path,
    template: SavedComparison,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> WholeSchema:
    """What to compare in two schemas.

    Tables belong together if they have the same name, or one that differs only in case; the suffix
    of a file does not count, unless two files of a folder differ only in it. Rows are compared by
    the primary key; where neither side declares one, the key is left open.

    Args:
        urls: The two databases. A schema follows after `#`, otherwise it is the default schema.
        folder: The folder that paths in a URL are relative to.
        template: What all comparisons have in common: rules, columns to ignore, findings.
        include: Patterns such as `fact_*`; only tables with such a name are compared.
        exclude: Patterns of tables that are left out.

    Raises:
        ToolError: A database cannot be read, or there is no table to compare.
    """
    parts = [_split(url) for url in urls]
    connections = _connections([url for url, _ in parts])
    registry = registry_of(connections, {}, folder)
    names = [next(name for name, url in connections.items() if url == each) for each, _ in parts]
    async with Connections(registry) as opened:
        found = [
            _side(name, schema, await opened.get(name).catalog())
            for name, (_, schema) in zip(names, parts, strict=True)
        ]
    alike = {stem for side in found for stem in _repeated_stems(side.tables.values())}
    sides = [side._replace(tables=_named(side.tables.values(), alike)) for side in found]
    chosen = _chosen({**sides[0].tables, **sides[1].tables}, include, exclude)
    whole = _planned(sides[0], sides[1], chosen, template, (connections, folder))
    return replace(whole, others=tuple(_others(connections, folder)))


def _chosen(
    names: Collection[str], include: Sequence[str], exclude: Sequence[str]
) -> frozenset[str]:
    """The names that are to be compared; raises for a pattern to include that fits no name."""
    for pattern in include:
        if not any(_fits(name, [pattern]) for name in names):
            near = ", ".join(nearest(pattern, names)[:5]) or "none"
            raise InvalidInputError(f"no table fits --include {quoted(pattern)}; nearest: {near}")
    included = (name for name in names if not include or _fits(name, include))
    return frozenset(name for name in included if not _fits(name, exclude))


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name.casefold(), pattern.casefold()) for pattern in patterns)


def _planned(
    a: _Side,
    b: _Side,
    chosen: Collection[str],
    template: SavedComparison,
    place: tuple[Mapping[str, str], Path],
) -> WholeSchema:
    names_a, names_b = ([name for name in side.tables if name in chosen] for side in (a, b))
    pairs = pair_columns(names_a, names_b)
    taken = {*pairs.values()}
    missing = (
        *(MissingTable(name, "a", a.source(name)) for name in names_a if name not in pairs),
        *(MissingTable(name, "b", b.source(name)) for name in names_b if name not in taken),
    )
    if not pairs and not missing:
        raise InvalidInputError(f"there is no table to compare in {a.name} and {b.name}")
    names = distinct_names((a.name, b.name))
    sources: dict[str, Source] = {}
    comparisons: list[SavedComparison] = []
    for one, other in sorted(pairs.items()):
        table_a, table_b = a.tables[one], b.tables[other]
        sources[f"{names[0]}.{one}"] = _source(a.connection, table_a)
        sources[f"{names[1]}.{other}"] = _source(b.connection, table_b)
        update = {
            "name": one,
            "a": f"{names[0]}.{one}",
            "b": f"{names[1]}.{other}",
            **_settings(table_a, table_b, template),
        }
        comparisons.append(template.model_copy(update=update))
    registry = registry_of(place[0], sources, place[1], undeclared=sources)
    return WholeSchema(registry, tuple(comparisons), missing, names)


def _settings(a: Table, b: Table, template: SavedComparison) -> dict[str, object]:
    """The columns to ignore and to accept, and whether to compare without a key."""
    try:
        paired = pair_columns([*a.columns], [*b.columns])
        known = {name.casefold() for table in (a, b) for name in table.columns}
    except ToolError:  # a table that cannot be read; the comparison reports it
        return {"ignore": (), "accept": ()}
    back = {other: one for one, other in paired.items()}
    keys = (a.primary_key, tuple(back.get(name, "") for name in b.primary_key))
    usable = any(key and all(name in paired for name in key) for key in keys)
    ignored = tuple(name for name in template.ignore if name.casefold() in known)
    columns = zip(template.accept, template.accepted_columns, strict=True)
    accepted = tuple(each for each, name in columns if name.casefold() in {*known, "*"})
    return {"ignore": ignored, "accept": accepted, "multiset": template.multiset and not usable}


def _source(connection: str, table: Table) -> Source:
    try:
        return bare_source(connection, table)
    except ToolError:  # as above
        empty = Table(table.schema, table.name, {})
        return bare_source(connection, empty)


def _split(text: str) -> tuple[str, str]:
    """The URL of a database, and the name of the schema after `#` or in its path."""
    if "://" not in text:
        if Path(text).is_dir():
            return f"files:///{Path(text).absolute()}", ""
        raise InvalidInputError(
            f"{quoted(text)} is neither the URL of a database nor a folder of files; --all"
            " compares all tables of two of them"
        )
    url, schema = split_url(text)
    if not schema and scheme(url) in _POSTGRES:
        database, slash, schema = urlsplit(url).path.removeprefix("/").partition("/")
        if slash:
            url = url.replace(f"/{database}/{schema}", f"/{database}", 1)
    return url, schema


def _connections(urls: Sequence[str]) -> dict[str, str]:
    """A name for each different URL."""
    named: dict[str, str] = {}
    for url in dict.fromkeys(urls):
        named[free_name(connection_name(url), named)] = url
    return named


def _side(connection: str, schema: str, tables: Sequence[Table]) -> _Side:
    """The tables of a schema; without a name, those of the default schema, which is first.

    Raises:
        InvalidInputError: There is no such schema.
    """
    schemas = dict.fromkeys(table.schema for table in tables)
    wanted = schema or next(iter(schemas), "")
    alike = [each for each in schemas if each == wanted or each.casefold() == wanted.casefold()]
    if schema and not alike:
        known = ", ".join(schemas) or "none"
        raise InvalidInputError(
            f"connection {connection!r} has no schema {quoted(schema)} with tables; known: {known}"
        )
    name = wanted if wanted in schemas or not alike else alike[0]
    own = [table for table in tables if table.schema == name]
    return _Side(connection, name if schema else "", {table.name: table for table in own})


def _repeated_stems(tables: Iterable[Table]) -> Iterator[str]:
    """Yield each name without a suffix that several files have."""
    counts = Counter(_stem(table) for table in tables)
    yield from (stem for stem, count in counts.items() if count > 1)


def _named(tables: Iterable[Table], alike: Collection[str]) -> dict[str, Table]:
    """Each table by its name: that of a file without its suffix, unless others are `alike`."""
    return {table.name if (stem := _stem(table)) in alike else stem: table for table in tables}


def _stem(table: Table) -> str:
    path = Path(table.name)
    if table.engine != "files" or not is_table(path):
        return table.name
    return (path.with_suffix("") if path.suffix.lower() == PACKED else path).stem


def _others(connections: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Yield what folders have that is not compared."""
    for name, url in connections.items():
        path = read_url(name, url, folder)[0] if scheme(url) == "files" else None
        if path is not None and path.is_dir() and (others := others_in(path)):
            more = f" and {len(others) - _LISTED:,} more" if len(others) > _LISTED else ""
            listed = ", ".join(map(quoted, others[:_LISTED]))
            yield f"not compared, since no table has such a name: {listed}{more} in {name}"
