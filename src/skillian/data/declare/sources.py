"""The sources that `sources.yaml` declares: read and checked, by name, with open connections."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import SecretStr

from skillian.connectors import PATHS, Connector, connect, dialect_of, engine_of, scheme, schemes
from skillian.connectors.base import path_of
from skillian.data.declare.definitions import ComparisonSettings, Source, SourcesFile
from skillian.data.sql.admission import admit_expression, admit_query
from skillian.errors import ConfigurationError, QueryError, SourceNotFoundError, UnavailableError

if TYPE_CHECKING:
    from skillian.data.declare.document import Data, YamlDocument

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A reference to an environment variable in a connection's URL."""


def read_definitions(text: str, file: str) -> SourcesFile:
    """Read and check the text of a `sources.yaml`; raises `ConfigurationError` with all faults."""
    from skillian.data.declare.document import read_yaml, validated  # noqa: PLC0415 - loads YAML

    document = read_yaml(text, file)
    definitions = validated(SourcesFile, document, secret="connections")  # noqa: S106 - a key
    if definitions is not None:
        _check(definitions, document)
    else:
        _check_connections(document)
    _check_variables(document)
    if definitions is None or document.faults:
        raise ConfigurationError(document.faults)
    return definitions


def _check_connections(document: YamlDocument) -> None:
    """Report undeclared connections in a file with faults that prevent the other checks."""
    data = _mapping(document.data)
    known = _mapping(data.get("connections"))
    for name, source in _mapping(data.get("sources")).items():
        connection = _mapping(source).get("connection")
        if isinstance(connection, str) and connection not in known:
            document.unknown(("sources", name, "connection"), connection, known)


def _check_variables(document: YamlDocument) -> None:
    """Report variables of connections that are not set in the environment."""
    for name, url in _mapping(_mapping(document.data).get("connections")).items():
        for variable in VARIABLE.findall(url) if isinstance(url, str) else ():
            if variable not in os.environ:
                line = document.line_of(("connections", name))
                message = f"connection `{name}` needs the environment variable {variable}"
                document.fault(line, f"{message}, which is not set", "set it")


def _mapping(data: Data) -> Mapping[str, Data]:
    return data if isinstance(data, Mapping) else {}


def _check(definitions: SourcesFile, document: YamlDocument) -> None:
    """Report faults between parts of the file: undeclared names, and SQL that is not allowed."""
    for name, url in definitions.connections.items():
        kind = scheme(url.get_secret_value())
        if kind not in schemes() and not url.get_secret_value().startswith("${"):
            known = ", ".join(f"{known}://…" for known in schemes())
            line = document.line_of(("connections", name))
            document.fault(line, f"connection `{name}`: unknown kind of database", f"use {known}")
    for name, source in definitions.sources.items():
        _check_source(name, source, definitions, document)
    _check_comparison(definitions, document)


def _check_source(
    name: str, source: Source, definitions: SourcesFile, document: YamlDocument
) -> None:
    path = ("sources", name)
    if source.connection not in definitions.connections:
        document.unknown((*path, "connection"), source.connection, definitions.connections)
    if source.freshness and source.freshness not in source.dimensions:
        document.unknown((*path, "freshness"), source.freshness, source.dimensions)
    taken: dict[str, str] = {}
    names = [("dimensions", name) for name in source.dimensions]
    names += [("measures", name) for name in source.measures]
    for kind, logical in names:
        other = taken.setdefault(logical.casefold(), logical)
        if other is not logical:
            # Databases do not distinguish output columns that differ only in case.
            line = document.line_of((*path, kind, logical))
            document.fault(line, f"`{logical}` has the same name as `{other}`", "rename one")
    url = definitions.connections.get(source.connection)
    kind = scheme(url.get_secret_value()) if url else ""
    dialect = dialect_of(kind) if kind else None
    if dialect is not None:
        engine = engine_of(kind)
        of_query = (engine.query_dialect if engine else "") or dialect
        _check_sql(path, source, (dialect, of_query), document)


def _check_sql(
    path: tuple[str, ...], source: Source, dialects: tuple[str, str], document: YamlDocument
) -> None:
    dialect, of_query = dialects
    if source.query is not None:
        try:
            admit_query(source.query, of_query)
        except QueryError as error:
            document.fault(document.line_of((*path, "query")), f"`query`: {error}")
    for name, measure in source.measures.items():
        try:
            if measure.expression is not None:
                admit_expression(measure.expression, dialect)
        except QueryError as error:
            line = document.line_of((*path, "measures", name, "expression"))
            document.fault(line, f"`expression`: {error}")


def _check_comparison(definitions: SourcesFile, document: YamlDocument) -> None:
    comparison, sources = definitions.comparison, definitions.sources.values()
    dimensions = {name for source in sources for name in source.dimensions}
    measures = {name for source in sources for name in source.measures}
    for index, name in enumerate(comparison.default_align_on):
        if name not in dimensions:
            document.unknown(("comparison", "default_align_on", index), name, dimensions)
    for name in comparison.measures:
        if name not in measures:
            document.unknown(("comparison", "measures", name), name, measures)
    for index, pair in enumerate(comparison.pairs):
        for name in pair.sources:
            if name not in definitions.sources:
                document.unknown(("comparison", "pairs", index), name, definitions.sources)


@dataclass(frozen=True, slots=True)
class Shared:
    """The common names of two sources; `align_on` are the default dimensions of the key."""

    dimensions: tuple[str, ...]
    measures: tuple[str, ...]
    align_on: tuple[str, ...]


class SourceRegistry:
    """The sources of one configuration file, by name.

    Args:
        definitions: The checked content of the file.
        folder: The base of relative database paths.
        undeclared: The sources that nobody has declared, each of which stands for a whole table.

    Attributes:
        opened: Connectors that are open already, by the names of their connections.
    """

    def __init__(
        self, definitions: SourcesFile, folder: Path, undeclared: Iterable[str] = ()
    ) -> None:
        self._definitions = definitions
        self.folder = folder
        self.undeclared = frozenset(undeclared)
        self.opened: dict[str, Connector] = {}

    @classmethod
    def load(cls, path: Path) -> SourceRegistry:
        """Read a `sources.yaml`; raises `ConfigurationError` with all of its faults."""
        from skillian.data.declare.document import text_of  # noqa: PLC0415 - loads YAML

        fix = "name another file in SKILLIAN_SOURCES"
        text = text_of(path, fix if path.exists() else f"create it, or {fix}")
        return cls(read_definitions(text, str(path)), path.resolve().parent)

    def with_tables(self, urls: Mapping[str, str], sources: Mapping[str, Source]) -> SourceRegistry:
        """These sources and others, which nobody has declared, over connections of these URLs."""
        known = self._definitions
        added = {name: SecretStr(url) for name, url in urls.items()}
        update = {
            "connections": {**known.connections, **added},
            "sources": {**known.sources, **sources},
        }
        definitions = known.model_copy(update=update)
        return SourceRegistry(definitions, self.folder, {*self.undeclared, *sources})

    def only(self, names: Iterable[str]) -> SourceRegistry:
        """These of the sources, and their connections; raises as `get`."""
        sources = {name: self.get(name) for name in names}
        urls = {each.connection: self.declared_url(each.connection) for each in sources.values()}
        return registry_of(urls, sources, self.folder, self.comparison)

    @property
    def connections(self) -> tuple[str, ...]:
        """The names of all connections, in file order."""
        return tuple(self._definitions.connections)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all sources, in file order."""
        return tuple(self._definitions.sources)

    @property
    def comparison(self) -> ComparisonSettings:
        """The defaults of every comparison."""
        return self._definitions.comparison

    def get(self, name: str) -> Source:
        """A source; raises `SourceNotFoundError` with the nearest names."""
        if name not in self._definitions.sources:
            raise SourceNotFoundError(name, self.names)
        return self._definitions.sources[name]

    def files(self, names: Iterable[str]) -> frozenset[Path]:
        """The files that may have the rows of these sources; raises as `get` and `url`."""
        return frozenset(file.resolve() for name in names for file in self._files_of(name))

    def _files_of(self, name: str) -> set[Path]:
        source = self.get(name)
        url = self.url(source.connection)
        if scheme(url) not in PATHS:
            return set()
        if scheme(url) != "files":
            return {path_of(url, self.folder)}
        from skillian.connectors.files.options import read_url  # noqa: PLC0415 - of files only

        path, _ = read_url(source.connection, url, self.folder)
        table, _, _ = (source.table or "").partition("#")
        return {path / table, path / table.removeprefix("main.")} if path.is_dir() else {path}

    def shared(self, a: str, b: str) -> Shared:
        """The common names of two sources; raises as `get`."""
        one, other = self.get(a), self.get(b)
        dimensions = tuple(name for name in one.dimensions if name in other.dimensions)
        return Shared(
            dimensions=dimensions,
            measures=tuple(name for name in one.measures if name in other.measures),
            align_on=tuple(name for name in self.comparison.default_align_on if name in dimensions),
        )

    def declared_url(self, connection: str) -> str:
        """A connection's URL as declared, with references to secrets: never print it."""
        return self._definitions.connections[connection].get_secret_value()

    def url(self, connection: str) -> str:
        """A connection's URL with its secrets: never print it.

        Raises `UnavailableError` for a variable that is not set.
        """

        def value(match: re.Match[str]) -> str:
            if match[1] not in os.environ:
                raise UnavailableError(
                    f"connection {connection!r} needs the environment variable {match[1]},"
                    " which is not set"
                )
            return os.environ[match[1]]

        return VARIABLE.sub(value, self.declared_url(connection))


def registry_of(
    urls: Mapping[str, str],
    sources: Mapping[str, Source],
    folder: Path,
    comparison: ComparisonSettings | None = None,
    undeclared: Iterable[str] = (),
) -> SourceRegistry:
    """A registry of these connections, by name, and sources.

    Args:
        urls: The URLs of the connections; they may contain `${ENV}`.
        sources: The sources.
        folder: The folder that paths in a URL are relative to.
        comparison: The defaults of every comparison.
        undeclared: The sources that stand for a whole table.
    """
    # Not validated, since there are no sources before the catalogue has been read.
    definitions = SourcesFile.model_construct(
        connections={name: SecretStr(url) for name, url in urls.items()},
        sources=dict(sources),
        comparison=comparison or ComparisonSettings(),
    )
    return SourceRegistry(definitions, folder, undeclared)


def options_of(url: str) -> list[tuple[str, str]]:
    """The options of a URL and their values; those of Spark Connect are in its path.

    Raises:
        ValueError: The URL is malformed.
    """
    parts = urlsplit(url)
    in_path = parse_qsl(parts.path, separator=";") if scheme(url) == "sc" else []
    return parse_qsl(parts.query) + in_path


def connection_name(url: str) -> str:
    """A name for the connection: that of the file, folder or database in its URL."""
    try:
        options = dict(options_of(url))
        path = options.get("database", "") if scheme(url) == "sc" else urlsplit(url).path
    except ValueError:
        path = ""
    stem = Path(path).stem
    return re.sub(r"\W+", "_", stem).strip("_").lower() or "data"


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, with a number if one of `taken` differs from it only in case."""
    known = {other.casefold() for other in taken}
    others = (f"{name}_{number}" for number in range(2, len(known) + 3))
    return next(free for free in (name, *others) if free.casefold() not in known)


class Connections:
    """Opens each declared connection once, when first needed; close it or use `async with`.

    Those that the registry has open are used, and closed with the others.

    Args:
        registry: The declared connections.
        given: Connectors of connections that have no URL to open, by name.
    """

    def __init__(
        self, registry: SourceRegistry, given: Mapping[str, Connector] = MappingProxyType({})
    ) -> None:
        self._registry = registry
        self._open: dict[str, Connector] = {**registry.opened, **given}
        registry.opened.clear()

    def get(self, name: str) -> Connector:
        """The connector of a connection; raises `UnavailableError` as `connect` does."""
        if name not in self._open:
            url = self._registry.url(name)
            self._open[name] = connect(name, url, self._registry.folder)
        return self._open[name]

    def handed_on(self) -> dict[str, Connector]:
        """The open connectors, which this no longer closes."""
        opened, self._open = self._open, {}
        return opened

    async def aclose(self) -> None:
        """Close all connections."""
        while self._open:
            _, connector = self._open.popitem()
            await connector.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
