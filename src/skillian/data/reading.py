"""Reads the text of `sources.yaml` and finds all of its faults, each with its line."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from skillian.connectors import dialect_of, scheme, schemes
from skillian.data.admission import admit_expression, admit_query
from skillian.data.definitions import Measure, Source, SourcesFile
from skillian.data.model_faults import shown, validated
from skillian.data.yaml_lines import Data, Document, read_yaml
from skillian.errors import ConfigurationError, QueryError, nearest

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""How a secret stands in a connection's URL."""


def read_definitions(text: str, file: str) -> SourcesFile:
    """Read and check the text of a `sources.yaml`; raises `ConfigurationError` with all faults."""
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


def _check_connections(document: Document) -> None:
    """Note sources without their connection in a file whose other faults hide the rest of it."""
    data = _mapping(document.data)
    known = _mapping(data.get("connections"))
    for name, source in _mapping(data.get("sources")).items():
        connection = _mapping(source).get("connection")
        if isinstance(connection, str) and connection not in known:
            _unknown(document, ("sources", name, "connection"), connection, known)


def _check_variables(document: Document) -> None:
    """Note variables of connections that the environment does not have."""
    for name, url in _mapping(_mapping(document.data).get("connections")).items():
        for variable in VARIABLE.findall(url) if isinstance(url, str) else ():
            if variable not in os.environ:
                line = document.line_of(("connections", name))
                message = f"connection `{name}` needs the environment variable {variable}"
                document.fault(line, f"{message}, which is not set", "set it")


def _mapping(data: Data) -> Mapping[str, Data]:
    return data if isinstance(data, Mapping) else {}


def _check(definitions: SourcesFile, document: Document) -> None:
    """Note what the models cannot see: names that lead nowhere, and SQL that is refused."""
    for name, url in definitions.connections.items():
        kind = scheme(url.get_secret_value())
        if kind not in schemes() and not url.get_secret_value().startswith("${"):
            known = ", ".join(f"{known}://…" for known in schemes())
            line = document.line_of(("connections", name))
            document.fault(line, f"connection `{name}`: unknown kind of database", f"use {known}")
    for name, source in definitions.sources.items():
        _check_source(name, source, definitions, document)
    _check_comparison(definitions, document)


def _check_source(name: str, source: Source, definitions: SourcesFile, document: Document) -> None:
    path = ("sources", name)
    if source.connection not in definitions.connections:
        _unknown(document, (*path, "connection"), source.connection, definitions.connections)
    if source.freshness and source.freshness not in source.dimensions:
        _unknown(document, (*path, "freshness"), source.freshness, source.dimensions)
    taken: dict[str, str] = {}
    for kind, logical in _logical_names(source):
        other = taken.setdefault(logical.casefold(), logical)
        if other is not logical:
            # Databases do not tell apart output columns that differ in case alone.
            line = document.line_of((*path, kind, logical))
            document.fault(line, f"`{logical}` is taken by `{other}`", "give it another name")
    url = definitions.connections.get(source.connection)
    dialect = dialect_of(scheme(url.get_secret_value())) if url else None
    if dialect is not None:
        _check_sql(path, source, dialect, document)


def _check_sql(path: tuple[str, ...], source: Source, dialect: str, document: Document) -> None:
    if source.query is not None:
        try:
            admit_query(source.query, dialect)
        except QueryError as error:
            document.fault(document.line_of((*path, "query")), f"`query`: {error}")
    for name, expression in _expressions(source.measures):
        try:
            admit_expression(expression, dialect)
        except QueryError as error:
            line = document.line_of((*path, "measures", name, "expression"))
            document.fault(line, f"`expression`: {error}")


def _logical_names(source: Source) -> Iterator[tuple[str, str]]:
    yield from (("dimensions", name) for name in source.dimensions)
    yield from (("measures", name) for name in source.measures)


def _expressions(measures: dict[str, Measure]) -> Iterator[tuple[str, str]]:
    for name, measure in measures.items():
        if measure.expression is not None:
            yield name, measure.expression


def _check_comparison(definitions: SourcesFile, document: Document) -> None:
    comparison, sources = definitions.comparison, definitions.sources.values()
    dimensions = {name for source in sources for name in source.dimensions}
    measures = {name for source in sources for name in source.measures}
    for index, name in enumerate(comparison.default_align_on):
        if name not in dimensions:
            _unknown(document, ("comparison", "default_align_on", index), name, dimensions)
    for name in comparison.measures:
        if name not in measures:
            _unknown(document, ("comparison", "measures", name), name, measures)
    for index, pair in enumerate(comparison.pairs):
        for name in pair.sources:
            if name not in definitions.sources:
                _unknown(document, ("comparison", "pairs", index), name, definitions.sources)


def _unknown(
    document: Document, path: tuple[str | int, ...], name: str, known: Iterable[str]
) -> None:
    choices = nearest(name, known)
    mend = f"did you mean `{choices[0]}`? known: {', '.join(choices)}" if choices else "declare it"
    document.fault(document.line_of(path), f"there is no `{shown(name)}`", mend)
