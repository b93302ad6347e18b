"""From the settings to an agent that is ready to answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path

from skillian.chat.agent import Agent
from skillian.chat.reading.briefing import Example, read_briefing
from skillian.data.declare.definitions import Dimension, Measure
from skillian.data.declare.sources import SourceRegistry
from skillian.data.query.catalogue import DimensionInfo, Extent, SourceInfo
from skillian.data.services import DataServices
from skillian.local_models import chosen_model
from skillian.models import context_of, make_model
from skillian.offline.language.periods import are_periods, are_years, period_of
from skillian.offline.language.vocabulary import DimensionWords, SourceWords, ToolWords, Vocabulary
from skillian.skills.discovery import load_registry
from skillian.skills.registry import SkillRegistry


@asynccontextmanager
async def open_agent(
    sources: Path,
    model: str | None,
    skills: Iterable[Path] = (),
    examples: Iterable[Example] = (),
    context_tokens: int | None = None,
) -> AsyncGenerator[Agent, None]:
    """An agent for the sources of a file; its connections close with it.

    Args:
        sources: A `sources.yaml`.
        model: As in the settings; None is the offline planner.
        skills: Folders of skills in addition to the bundled ones.
        examples: Verified questions that the model reads.
        context_tokens: As in the settings.

    Raises:
        ConfigurationError: The file of the sources or of a skill has faults; it lists them all.
        tinyagent.ConfigurationError: The model's key is missing.
    """
    async with DataServices(SourceRegistry.load(sources)) as services:
        registry = load_registry(services, skills)
        try:
            vocabulary = await read_vocabulary(services, registry)
            name = await chosen_model(model)
            made, briefing = make_model(name, vocabulary), await read_briefing(services, examples)
            tokens = context_of(name, context_tokens)
            agent = Agent(made, registry, vocabulary, briefing=briefing, context_tokens=tokens)
            yield agent
        finally:
            await registry.aclose()


async def read_vocabulary(
    services: DataServices, skills: SkillRegistry | None = None
) -> Vocabulary:
    """The vocabulary of questions: the definitions, the values in the data, the tools' phrases."""
    tools = skills.get_all_tools() if skills is not None else ()
    return Vocabulary(
        {
            entry.name: SourceWords(
                {name: _measure(name, entry.measures) for name in entry.measures},
                await _dimensions(services, entry),
                {name: one.unit for name, one in entry.measures.items() if one.unit},
            )
            for entry in await services.catalogue.sources()
        },
        {
            tool.name: ToolWords(tool.phrases, tool.input_model.model_json_schema())
            for tool in tools
            if tool.phrases
        },
    )


def _measure(name: str, measures: Mapping[str, Measure]) -> tuple[str, ...]:
    """A measure's synonyms; the only counting measure is also called the count."""
    counts = [each for each, one in measures.items() if one.aggregation.startswith("count")]
    return (*measures[name].synonyms, *(("count",) if counts == [name] else ()))


async def _dimensions(services: DataServices, entry: SourceInfo) -> dict[str, DimensionWords]:
    declared = services.registry.get(entry.name).dimensions
    words = {name: _dimension(info, declared[name]) for name, info in entry.dimensions.items()}
    lengths = {
        name: length for name, each in words.items() if (length := _length(each)) is not None
    }
    for name, fine in product(lengths, repeat=2):
        if lengths[name] > lengths[fine]:
            extents = await services.catalogue.extents(entry.name, name, fine)
            if all(map(_is_within, extents)):
                words[name] = replace(words[name], parts=(*words[name].parts, fine))
    return words


def _length(words: DimensionWords) -> int | None:
    """How many months the values of a dimension of periods have; 0 for days."""
    if words.is_date:
        return 0
    known = period_of(words.values[0]) if words.values else None
    is_timed = known is not None and (are_periods(words.values) or are_years(words.values))
    return known.length if known is not None and is_timed else None


def _is_within(extent: Extent) -> bool:
    """Whether a period contains the shorter ones of its rows."""
    if extent.value is None:
        return extent.least is None
    whole, *parts = map(period_of, map(str, (extent.value, extent.least, extent.greatest)))
    return (
        extent.is_whole
        and whole is not None
        and all(part and whole.first <= part.first <= part.last <= whole.last for part in parts)
    )


def _dimension(info: DimensionInfo, definition: Dimension) -> DimensionWords:
    return DimensionWords(
        info.synonyms,
        _texts(info.values),
        is_open=info.values is None,
        is_date=info.type == "date",
        last="" if info.last is None else str(info.last),
        declared=tuple(dict.fromkeys(definition.values.values())),
    )


def _texts(values: Iterable[object] | None) -> tuple[str, ...]:
    return tuple(str(value) for value in values or () if value is not None)
