"""Comparisons saved in a file: read once with all faults, run as often as wanted."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from skillian.data.declare.definitions import Definition, Name, Thresholds
from skillian.data.declare.document import Document, read_yaml, validated
from skillian.data.declare.document import Path as Place
from skillian.data.declare.sources import SourceRegistry
from skillian.errors import ConfigurationError, Fault, SourceNotFoundError, UnknownNameError

FailOn = Literal["minor", "major"]

_Names = Annotated[tuple[Name, ...], Field(min_length=1)]


class SavedComparison(Definition):
    """One comparison: what to compare, and from which class on a difference is a finding.

    `filters` are in the filter language; `thresholds` go before those of the sources' file.
    """

    name: Name
    a: Name
    b: Name
    measures: _Names
    align_on: _Names | None = None
    filters: dict[Name, Any] = Field(default_factory=dict)
    thresholds: Thresholds = Thresholds()
    fail_on: FailOn = "minor"


class SavedFile(Definition):
    """The whole file; `sources` is the path of a `sources.yaml`, relative to this file."""

    sources: Name
    compare: tuple[SavedComparison, ...]


@dataclass(frozen=True, slots=True)
class Saved:
    """The comparisons of a file, and the sources they are over."""

    registry: SourceRegistry
    comparisons: tuple[SavedComparison, ...]


def read_saved(path: Path) -> Saved:
    """Read a saved file and its sources; raises `ConfigurationError` with the faults of both."""
    document = _document(path)
    found = validated(SavedFile, document)
    if found is None:
        raise ConfigurationError(document.faults)
    sources = path.parent / found.sources
    if not sources.is_file():
        line = document.line_of(("sources",))
        document.fault(line, f"there is no file `{found.sources}`", "its path is relative to here")
        raise ConfigurationError(document.faults)
    try:
        registry = SourceRegistry.load(sources)
    except ConfigurationError as failure:
        raise ConfigurationError([*document.faults, *failure.faults]) from None
    if not found.compare:
        document.fault(document.line_of(("compare",)), "`compare` names no comparison")
    for place, message in (*_repeated_names(found), *_unknown_names(found, registry)):
        document.fault(document.line_of(("compare", *place)), message)
    if document.faults:
        raise ConfigurationError(document.faults)
    return Saved(registry, found.compare)


def _document(path: Path) -> Document:
    try:
        return read_yaml(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise ConfigurationError([Fault(str(path), 1, f"{error.strerror}")]) from None
    except UnicodeDecodeError:
        raise ConfigurationError([Fault(str(path), 1, "this is not UTF-8 text")]) from None


def _repeated_names(found: SavedFile) -> Iterator[tuple[Place, str]]:
    seen: set[str] = set()
    for index, comparison in enumerate(found.compare):
        if comparison.name in seen:
            yield (index, "name"), f"`{comparison.name}` was given before; each needs its own name"
        seen.add(comparison.name)


def _unknown_names(found: SavedFile, registry: SourceRegistry) -> Iterator[tuple[Place, str]]:
    """Yield each place where a name stands that the sources do not have, and what is wrong."""
    for index, comparison in enumerate(found.compare):
        for key, name in (("a", comparison.a), ("b", comparison.b)):
            if name not in registry.names:
                yield (index, key), str(SourceNotFoundError(name, registry.names))
                continue
            source = registry.get(name)
            for kind, place, asked in _asked_of(comparison):
                known = source.measures if kind == "measure" else source.dimensions
                if asked not in known:
                    yield (index, *place), str(UnknownNameError(kind, asked, known, name))


def _asked_of(comparison: SavedComparison) -> Iterator[tuple[str, Place, str]]:
    for position, name in enumerate(comparison.measures):
        yield "measure", ("measures", position), name
    for position, name in enumerate(comparison.align_on or ()):
        yield "dimension", ("align_on", position), name
    for name in comparison.filters:
        yield "dimension", ("filters", name), name
