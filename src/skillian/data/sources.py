"""The registry of sources: reads `sources.yaml` and knows every logical name in it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from skillian.connectors import DIALECTS, scheme
from skillian.data.admission import admit_expression, admit_query
from skillian.data.definitions import ComparisonSettings, Measure, Source, SourcesFile
from skillian.data.yaml_lines import Document, read_yaml
from skillian.errors import (
    ConfigurationError,
    Fault,
    QueryError,
    SourceNotFoundError,
    UnavailableError,
    nearest,
)

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class SourceRegistry:
    """The sources of one configuration file, by name.

    Args:
        definitions: The checked content of the file.
        folder: What relative database paths are relative to.
    """

    def __init__(self, definitions: SourcesFile, folder: Path) -> None:
        self._definitions = definitions
        self.folder = folder

    @classmethod
    def load(cls, path: Path) -> "SourceRegistry":
        """Read a `sources.yaml`; raises `ConfigurationError` with all of its faults."""
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            mend = "write it, or name another file in SKILLIAN_SOURCES"
            raise ConfigurationError([Fault(str(path), 1, f"{error.strerror}", mend)]) from None
        except UnicodeDecodeError:
            raise ConfigurationError([Fault(str(path), 1, "this is not UTF-8 text")]) from None
        return cls(read_definitions(text, str(path)), path.resolve().parent)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all sources, in file order."""
        return tuple(self._definitions.sources)

    @property
    def comparison(self) -> ComparisonSettings:
        """The defaults of every comparison."""
        return self._definitions.comparison

    def get(self, name: str) -> Source:
        """Return a source; raises `SourceNotFoundError` with the nearest names."""
        if name not in self._definitions.sources:
            raise SourceNotFoundError(name, self.names)
        return self._definitions.sources[name]

    def url(self, connection: str) -> str:
        """Return a connection's URL with its secrets filled in: never print it.

        Raises `UnavailableError` for a variable that the environment does not have.
        """

        def value(match: re.Match[str]) -> str:
            if match[1] not in os.environ:
                raise UnavailableError(
                    f"connection {connection!r} needs the environment variable {match[1]},"
                    " which is not set"
                )
            return os.environ[match[1]]

        return _VARIABLE.sub(value, self._definitions.connections[connection].get_secret_value())


def read_definitions(text: str, file: str) -> SourcesFile:
    """Read and check the text of a `sources.yaml`; raises `ConfigurationError` with all faults."""
    document = read_yaml(text, file)
    definitions = _validate(document)
    if definitions is not None:
        _check(definitions, document)
    if definitions is None or document.faults:
        raise ConfigurationError(document.faults)
    return definitions


def _validate(document: Document) -> SourcesFile | None:
    try:
        return SourcesFile.model_validate(document.data)
    except ValidationError as error:
        # A line with a fault of YAML already may only look wrong because of it.
        known = {fault.line for fault in document.faults}
        for details in error.errors(include_url=False, include_input=False):
            line = document.line_of(details["loc"])
            if line not in known:
                document.fault(line, *_told(details))
    return None


def _told(details: ErrorDetails) -> tuple[str, str]:
    """Return the message and the mend for one fault that Pydantic found."""
    location = details["loc"]
    key = str(location[-1]) if location else "the file"
    if details["type"] == "extra_forbidden":
        known = nearest(key, _keys_at(location[:-1]))
        return f"unknown key `{key}`", f"did you mean `{known[0]}`? known: {', '.join(known)}"
    if details["type"] == "missing":
        return f"`{key}` is missing in `{_place(location[:-1])}`", f"add `{key}:`"
    message = details["msg"].removeprefix("Value error, ")
    return f"`{_place(location)}`: {message}", ""


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "the file"


def _keys_at(location: tuple[int | str, ...]) -> list[str]:
    """Return the keys that the mapping at `location` may have."""
    annotation: Any = SourcesFile
    for part in location:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            annotation = annotation.model_fields[str(part)].annotation
        else:
            # dict[Name, Model] and tuple[Model, ...]: the model is the one that is a class.
            annotation = next(arg for arg in get_args(annotation) if _is_model(arg))
    return list(annotation.model_fields)


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _check(definitions: SourcesFile, document: Document) -> None:
    """Note what the models cannot see: names that lead nowhere, and SQL that is refused."""
    for name, url in definitions.connections.items():
        kind = scheme(url.get_secret_value())
        if kind not in DIALECTS and not url.get_secret_value().startswith("${"):
            known = ", ".join(f"{known}://…" for known in DIALECTS)
            line = document.line_of(("connections", name))
            document.fault(line, f"connection `{name}`: no such kind of database", f"use {known}")
    for name, source in definitions.sources.items():
        _check_source(name, source, definitions, document)
    _check_comparison(definitions, document)


def _check_source(name: str, source: Source, definitions: SourcesFile, document: Document) -> None:
    path = ("sources", name)
    if source.connection not in definitions.connections:
        _unknown(document, (*path, "connection"), source.connection, definitions.connections)
    if source.freshness and source.freshness not in source.dimensions:
        _unknown(document, (*path, "freshness"), source.freshness, source.dimensions)
    for both in source.dimensions.keys() & source.measures.keys():
        line = document.line_of((*path, "measures", both))
        document.fault(line, f"`{both}` is a dimension too", "give one of them another name")
    url = definitions.connections.get(source.connection)
    dialect = DIALECTS.get(scheme(url.get_secret_value())) if url else None
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


def _unknown(document: Document, path: tuple[str | int, ...], name: str, known: Any) -> None:
    choices = nearest(name, known)
    mend = f"did you mean `{choices[0]}`? known: {', '.join(choices)}"
    document.fault(document.line_of(path), f"there is no `{name}`", mend)
