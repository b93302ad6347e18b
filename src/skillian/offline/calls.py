"""What a question leads to: a call, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillian.offline.reading import Reading
    from skillian.offline.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A tool call to make."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """Why there is no call, as a sentence; empty if nothing was understood.

    `offers` are sentences near the question that are understood.
    """

    reason: str = ""
    offers: tuple[str, ...] = ()


Plan = PlannedCall | NotUnderstood


class UnclearError(Exception):
    """Why there is no call, as a sentence."""


def check_names(reading: Reading, source: str, vocabulary: Vocabulary) -> None:
    """Refuse a measure, a group or a condition that this source does not have."""
    known = vocabulary.sources.get(source)
    if known is None:
        return
    for name in reading.measures:
        if name not in known.measures:
            raise UnclearError(f"{source} has no {name}.")
    for name in (*reading.breakdown, *reading.members, *reading.filters):
        if name not in known.dimensions:
            value = reading.filters.get(name)
            raise UnclearError(f"{source} has no {name}{f' ({value})' if value else ''}.")
