"""Comparisons saved in a file, checked with all of their faults at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, field_validator, model_validator

from skillian.data.declare.definitions import ColumnName, Definition, Name, Thresholds
from skillian.data.declare.rules import Rules
from skillian.data.declare.sources import SourceRegistry
from skillian.data.subjects import Subject, subject_of
from skillian.errors import ConfigurationError, SourceNotFoundError, UnknownNameError

if TYPE_CHECKING:
    from skillian.data.declare.document import KeyPath, YamlDocument

FailOn = Literal["minor", "major", "new", "schema"]

_Names = Annotated[tuple[Name, ...], Field(min_length=1)]


_ACCEPTED = "schema:"
_ENDLESS = 1_000_000


class SavedComparison(Definition):
    """One comparison: what to compare, and which class of differences is a finding.

    With `measures` it compares their sums for each combination of `align_on`; `thresholds` have
    precedence over those of the sources. Without `measures` it compares whole rows: `key` has the
    columns that identify one, `columns` those to compare, `map` the names in b of columns of a
    (`columns` may have them too), and `rules` how cells are compared. `accept` has the columns
    whose schema differences are not findings, such as `schema:name`; `schema:*` is all of them.
    `filters` are in the filter language.
    """

    name: Name
    a: Name
    b: Name
    measures: tuple[Name, ...] = ()
    align_on: _Names | None = None
    filters: dict[Name, Any] = Field(default_factory=dict)
    thresholds: Thresholds = Thresholds.model_construct()
    fail_on: FailOn = "minor"
    key: tuple[ColumnName, ...] = ()
    columns: tuple[ColumnName, ...] | dict[ColumnName, ColumnName] | None = None
    map: dict[ColumnName, ColumnName] = Field(default_factory=dict)
    ignore: tuple[ColumnName, ...] = ()
    accept: tuple[ColumnName, ...] = ()
    rules: Rules = Rules.model_construct()
    multiset: bool = False

    @field_validator("accept")
    @classmethod
    def _of_schemas(cls, accept: tuple[str, ...]) -> tuple[str, ...]:
        for each in accept:
            if not each.removeprefix(_ACCEPTED) or not each.startswith(_ACCEPTED):
                raise ValueError(f"`{each}` is not of the form `{_ACCEPTED}COLUMN`")
        return accept

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        subject = self.subject
        stated = [f"`{name}`" for name in subject.foreign if name in self.model_fields_set]
        if stated:
            raise ValueError(f"{', '.join(stated)} {subject.reason}")
        return self

    @property
    def subject(self) -> Subject:
        """The kind of what is compared."""
        return subject_of(self.measures)

    @property
    def accepted_columns(self) -> tuple[str, ...]:
        """The columns whose schema differences are not findings; `*` is all of them."""
        return tuple(each.removeprefix(_ACCEPTED) for each in self.accept)

    @property
    def names_in_b(self) -> dict[str, str]:
        """The name in b of columns of a that have another one there."""
        return {**(self.columns if isinstance(self.columns, dict) else {}), **self.map}

    @property
    def chosen_columns(self) -> tuple[str, ...] | None:
        """The only columns to compare; None for all."""
        return None if isinstance(self.columns, dict) else self.columns

    @property
    def digest(self) -> str:
        """A digest of what is asked, the same for the same request, whatever its name."""
        asked = self.model_dump(mode="json", exclude={"name", "fail_on"}, fallback=repr)
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


class FileWithSources(Definition):
    """A file about sources; `sources` is the path of a `sources.yaml`, relative to this file."""

    sources: Name


class SavedFile(FileWithSources):
    """The whole file."""

    compare: tuple[SavedComparison, ...]


F = TypeVar("F", bound=FileWithSources)


@dataclass(frozen=True, slots=True)
class Saved:
    """Comparisons and their sources; those of a file have a history."""

    registry: SourceRegistry
    comparisons: tuple[SavedComparison, ...]
    has_history: bool = False


def saved_text(sources: str, comparisons: Iterable[SavedComparison]) -> str:
    """The text of a saved file; the path of its `sources.yaml` is relative to it."""
    return as_yaml({"sources": sources, "compare": [stated(each) for each in comparisons]})


def stated(definition: Definition) -> dict[str, Any]:
    """What a definition states, without defaults, for a file."""
    return definition.model_dump(mode="json", exclude_defaults=True)


def as_yaml(content: Mapping[str, Any]) -> str:
    """The content of a file as YAML, in its order."""
    import yaml  # noqa: PLC0415 - slow to load

    text: str = yaml.safe_dump(
        content, default_flow_style=None, allow_unicode=True, sort_keys=False, width=_ENDLESS
    )
    return text


def read_saved(path: Path) -> Saved:
    """Read a saved file and its sources; raises `ConfigurationError` with the faults of both."""
    document, content, registry = read_with_sources(path, SavedFile)
    if not content.compare:
        document.fault(document.line_of(("compare",)), "`compare` has no comparisons")
    names = [each.name for each in content.compare]
    for index, name in enumerate(names):
        if name in names[:index]:
            line = document.line_of(("compare", index, "name"))
            document.fault(line, f"`{name}` is repeated; names must be unique")
    for key_path, message in _unknown_names(content, registry):
        document.fault(document.line_of(("compare", *key_path)), message)
    if document.faults:
        raise ConfigurationError(document.faults)
    return Saved(registry, content.compare, has_history=True)


def read_with_sources(path: Path, model: type[F]) -> tuple[YamlDocument, F, SourceRegistry]:
    """Read a file and its sources; raises `ConfigurationError` with the faults of both."""
    from skillian.data.declare.document import read_yaml, text_of, validated  # noqa: PLC0415 - loads YAML

    document = read_yaml(text_of(path), str(path))
    content = validated(model, document)
    if content is None:
        raise ConfigurationError(document.faults)
    sources = path.parent / content.sources
    if not sources.is_file():
        line = document.line_of(("sources",))
        fix = "its path is relative to this file"
        document.fault(line, f"there is no file `{content.sources}`", fix)
        raise ConfigurationError(document.faults)
    try:
        return document, content, SourceRegistry.load(sources)
    except ConfigurationError as failure:
        raise ConfigurationError([*document.faults, *failure.faults]) from None


def _unknown_names(content: SavedFile, registry: SourceRegistry) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path and the fault of each name that the sources do not declare."""
    for index, comparison in enumerate(content.compare):
        for key, name in (("a", comparison.a), ("b", comparison.b)):
            if name not in registry.names:
                yield (index, key), str(SourceNotFoundError(name, registry.names))
                continue
            source = registry.get(name)
            for kind, part, logical in _names_in(comparison):
                known = source.measures if kind == "measure" else source.dimensions
                if logical not in known:
                    yield (index, *part), str(UnknownNameError(kind, logical, known, name))


def _names_in(comparison: SavedComparison) -> Iterator[tuple[str, KeyPath, str]]:
    """Yield each name that sources declare: of what, where it is, and the name."""
    for field, kind in comparison.subject.declared.items():
        names = getattr(comparison, field) or ()
        for position, name in enumerate(names):
            yield kind, (field, name if isinstance(names, dict) else position), name
