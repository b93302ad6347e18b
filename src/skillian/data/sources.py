"""The registry of sources: knows every logical name that `sources.yaml` declares."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from skillian.data.definitions import ComparisonSettings, Source, SourcesFile
from skillian.data.reading import VARIABLE, read_definitions
from skillian.errors import ConfigurationError, Fault, SourceNotFoundError, UnavailableError


@dataclass(frozen=True, slots=True)
class Shared:
    """What two sources can be compared by; `align_on` are the dimensions taken by default."""

    dimensions: tuple[str, ...]
    measures: tuple[str, ...]
    align_on: tuple[str, ...]


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

    def shared(self, a: str, b: str) -> Shared:
        """Return the names that two sources have in common; raises as `get`."""
        one, other = self.get(a), self.get(b)
        dimensions = tuple(name for name in one.dimensions if name in other.dimensions)
        return Shared(
            dimensions=dimensions,
            measures=tuple(name for name in one.measures if name in other.measures),
            align_on=tuple(name for name in self.comparison.default_align_on if name in dimensions),
        )

    def declared_url(self, connection: str) -> str:
        """Return a connection's URL as it is written, without its secrets: never print it."""
        return self._definitions.connections[connection].get_secret_value()

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

        return VARIABLE.sub(value, self.declared_url(connection))
