"""Example questions that the sources can answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from skillian.data.query.catalogue import SourceInfo

MOST = 4


def example_questions(sources: Sequence[SourceInfo]) -> tuple[str, ...]:
    """A few questions; the first compare the first two sources that can be compared."""
    return tuple(_questions(sources))[:MOST]


def _questions(sources: Sequence[SourceInfo]) -> Iterator[str]:
    yield from next((_compared(a, b) for a, b in combinations(sources, 2) if _shared(a, b)), ())
    yield "Which sources are there?"
    for source in sources:
        if source.measures and source.dimensions:
            measure, dimension = next(iter(source.measures)), next(iter(source.dimensions))
            yield f"Show {measure} in {source.name} by {dimension}"


def _compared(a: SourceInfo, b: SourceInfo) -> Iterable[str]:
    measure = next(iter(_both(a.measures, b.measures)))
    dimensions = list(_both(a.dimensions, b.dimensions))
    pair = f"{measure} between {a.name} and {b.name}"
    for name in dimensions:
        value = next((one for one in a.dimensions[name].values or () if one is not None), None)
        if value is not None:
            yield f"Compare {pair} for {name} {value}"
            break
    yield f"Compare {pair} by {dimensions[0]}"


def _shared(a: SourceInfo, b: SourceInfo) -> bool:
    return bool(_both(a.measures, b.measures)) and bool(_both(a.dimensions, b.dimensions))


def _both(first: Iterable[str], second: Iterable[str]) -> dict[str, None]:
    shared = set(second)
    return {name: None for name in first if name in shared}
