"""What can be spoken about: the names, synonyms and values of the sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DimensionWords:
    """How a dimension is called, and the values known of it, as text."""

    synonyms: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceWords:
    """One source: its measures with their synonyms, its dimensions."""

    measures: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    dimensions: Mapping[str, DimensionWords] = field(default_factory=dict[str, DimensionWords])


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All sources by name."""

    sources: Mapping[str, SourceWords]

    def measure_phrases(self) -> dict[str, str]:
        """Every way to say a measure, with the measure's name."""
        return {
            phrase: name
            for words in self.sources.values()
            for name, synonyms in words.measures.items()
            for phrase in (name, *synonyms)
        }

    def dimension_phrases(self) -> dict[str, str]:
        """Every way to say a dimension, with the dimension's name."""
        return {
            phrase: name
            for words in self.sources.values()
            for name, dimension in words.dimensions.items()
            for phrase in (name, *dimension.synonyms)
        }

    def dimensions_with(self, value: str) -> tuple[str, ...]:
        """The dimensions that have this value in some source."""
        return tuple(
            dict.fromkeys(
                name
                for words in self.sources.values()
                for name, dimension in words.dimensions.items()
                if value in dimension.values
            )
        )
