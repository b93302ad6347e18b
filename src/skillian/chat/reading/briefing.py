"""What a language model reads before any question: the same text for each question and user."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

from skillian.chat.sealed.plain import is_code
from skillian.data.for_models import hidden_among
from skillian.data.query.catalogue import DimensionInfo, SourceInfo
from skillian.data.services import DataServices
from skillian.offline.earlier import COMPARE, QUERY
from skillian.skills.skill import SkillTool

LONGEST = 4000
"""The number of characters of a catalogue that is in the prompt; a longer one is searched."""
MOST_EXAMPLES = 3
_MOST_VALUES = 12
_MOST_SYNONYMS = 3
_SEARCH, _UNNEEDED = "list_sources", "run_python"
_HEAD = "# Sources"


@dataclass(frozen=True, slots=True)
class Example:
    """A question with the call that answers it, as the team has verified it."""

    question: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Briefing:
    """The catalogue and examples for the system prompt.

    Attributes:
        text: What the model reads.
        is_whole: Whether it has the whole catalogue; otherwise the model is offered a search.
    """

    text: str = ""
    is_whole: bool = True

    def offers(self, tool: SkillTool) -> bool:
        """Whether a tool is offered to the model: the search takes the place of code."""
        if self.is_whole or tool.name not in {_SEARCH, _UNNEEDED}:
            return tool.is_offered
        return tool.name == _SEARCH


async def read_briefing(services: DataServices, examples: Iterable[Example] = ()) -> Briefing:
    """Describe all sources; of sources with hidden values, no values.

    Args:
        services: The sources.
        examples: Verified questions; without them there are examples made of the catalogue.
    """
    sources = await services.catalogue.sources()
    if not sources:
        return Briefing()
    hidden = {*hidden_among(services.registry, [info.name for info in sources])}
    catalogue = "\n".join((_HEAD, *_catalogue(sources, hidden)))
    is_whole = len(catalogue) <= LONGEST
    if not is_whole:
        catalogue = "\n".join((_HEAD, _names(sources)))
    verified = [each for each in examples if each.tool in {COMPARE, QUERY}]
    # A model that reads only the names must search before it calls anything.
    chosen = verified or (_examples(sources, hidden) if is_whole else ())
    lines = [
        f"{each.question} -> {each.tool} {json.dumps(each.arguments, ensure_ascii=False)}"
        for each in islice(chosen, MOST_EXAMPLES)
    ]
    shown = "\n".join(("\n\n# Examples", *lines)) if lines else ""
    return Briefing(f"{catalogue}{shown}", is_whole)


def _catalogue(sources: Sequence[SourceInfo], hidden: set[str]) -> Iterator[str]:
    """Yield each source with its names, then each measure and dimension once."""
    measures: dict[str, str] = {}
    dimensions: dict[str, tuple[DimensionInfo, list[object] | None]] = {}
    for info in sources:
        closed = " Its values are hidden." if info.name in hidden else ""
        yield (
            f"- {info.name}: {info.description}{closed} Measures {', '.join(info.measures)};"
            f" dimensions {', '.join(info.dimensions)}"
        )
        for name, one in info.measures.items():
            unit = f" in {one.unit}" if one.unit else ""
            measures.setdefault(name, f"{name}{unit}{_also(one.synonyms)}")
        for name, dimension in info.dimensions.items():
            before = dimensions.get(name, (dimension, []))[1]
            open_ = info.name in hidden or dimension.values is None or before is None
            values = None if open_ else [*(before or ()), *(dimension.values or ())]
            dimensions[name] = (dimension, values)
    yield "Measures: " + "; ".join(measures.values())
    yield "Dimensions: " + "; ".join(
        f"{name}{_also(one.synonyms)}{_values(values)}"
        for name, (one, values) in dimensions.items()
    )


def _also(synonyms: Sequence[str]) -> str:
    return f" ({', '.join(synonyms[:_MOST_SYNONYMS])})" if synonyms else ""


def _values(values: Sequence[object] | None) -> str:
    """The values of a dimension; of many, the first and the last."""
    texts = [str(value) for value in dict.fromkeys(values or ()) if is_code(str(value))]
    if not texts:
        return ""
    if len(texts) > _MOST_VALUES or (len(texts) > 6 and texts == sorted(texts)):  # noqa: PLR2004
        return f" {texts[0]} to {texts[-1]}"
    return f" {', '.join(texts)}"


def _names(sources: Sequence[SourceInfo]) -> str:
    """The names of the sources, as many as fit."""
    names, length = list[str](), 0
    for info in sources:
        length += len(info.name) + 2
        if length > LONGEST:
            names.append(f"and {len(sources) - len(names)} more")
            break
        names.append(info.name)
    return (
        f"{', '.join(names)}\nSearch with `{_SEARCH}` for the words of a question; it gives the"
        " measures, dimensions and values of the sources that have them."
    )


def _examples(sources: Sequence[SourceInfo], hidden: set[str]) -> Iterator[Example]:
    """Yield a query and a comparison that these sources can answer."""
    shown = [each for each in sources if each.name not in hidden]
    for info in [each for each in shown if each.measures and each.dimensions][:1]:
        measure, dimension = next(iter(info.measures)), next(iter(info.dimensions))
        question = f"Top 2 {dimension} of {info.name} by {measure}"
        ranked = {"measures": [measure], "dimensions": [dimension], "order": [f"-{measure}"]}
        yield Example(question, QUERY, {"source": info.name, **ranked, "limit": 2})
    for a, b in combinations(shown, 2):
        measures = [name for name in a.measures if name in b.measures]
        shared = [name for name in a.dimensions if name in b.dimensions]
        known = (str(each) for name in shared[:1] for each in a.dimensions[name].values or ())
        value = next(filter(is_code, known), None)
        if measures and value is not None:
            question = f"Do {a.name} and {b.name} agree on {measures[0]} for {shared[0]} {value}?"
            sides = {"source_a": a.name, "source_b": b.name, "measures": measures[:1]}
            yield Example(question, COMPARE, {**sides, "filters": {shared[0]: value}})
            return
