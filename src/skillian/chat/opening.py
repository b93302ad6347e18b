"""From the settings to an agent that is ready to answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from skillian.chat.agent import Agent
from skillian.chat.reading.briefing import Example, read_briefing
from skillian.data.declare.definitions import Dimension, Measure
from skillian.data.declare.sources import SourceRegistry
from skillian.data.query.catalogue import DimensionInfo
from skillian.data.services import DataServices
from skillian.local_models import chosen_model
from skillian.models import context_of, make_model
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
                {
                    name: _dimension(info, services.registry.get(entry.name).dimensions[name])
                    for name, info in entry.dimensions.items()
                },
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
