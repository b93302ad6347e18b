"""From the settings to an agent that is ready to answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from skillian.chat.agent import Agent
from skillian.data.declare.definitions import Measure
from skillian.data.declare.sources import SourceRegistry
from skillian.data.query.catalogue import DimensionInfo
from skillian.data.services import DataServices
from skillian.models import make_model
from skillian.offline.vocabulary import DimensionWords, SourceWords, ToolWords, Vocabulary
from skillian.skills.discovery import load_registry
from skillian.skills.registry import SkillRegistry


@asynccontextmanager
async def open_agent(
    sources: Path, model: str | None, skills: Iterable[Path] = ()
) -> AsyncGenerator[Agent, None]:
    """An agent over the sources of a file; its connections close with it.

    Args:
        sources: a `sources.yaml`.
        model: as in the settings; None is the offline planner.
        skills: folders of skills besides those that come with skillian.

    Raises:
        ConfigurationError: the file, or a skill's, with all its faults.
        tinyagent.ConfigurationError: the model's key is missing.
    """
    async with DataServices(SourceRegistry.load(sources)) as services:
        registry = load_skills(services, skills)
        try:
            vocabulary = await read_vocabulary(services, registry)
            yield Agent(make_model(model, vocabulary), registry, vocabulary)
        finally:
            await registry.aclose()


def load_skills(services: DataServices, paths: Iterable[Path] = ()) -> SkillRegistry:
    """The skills that there are, over these services; close them.

    Raises:
        ConfigurationError: with the faults of all skills.
        SkillianError: a name of a skill or tool is taken twice, or an entry point is wrong.
    """
    return load_registry(services, paths)


async def read_vocabulary(
    services: DataServices, skills: SkillRegistry | None = None
) -> Vocabulary:
    """What can be spoken about: the definitions, the values in the data, the tools' phrases."""
    tools = skills.get_all_tools() if skills is not None else ()
    return Vocabulary(
        {
            entry.name: SourceWords(
                {name: _measure(name, entry.measures) for name in entry.measures},
                {name: _dimension(info) for name, info in entry.dimensions.items()},
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
    """A measure's synonyms; the only one that counts may be called the count."""
    counts = [each for each, one in measures.items() if one.aggregation.startswith("count")]
    return (*measures[name].synonyms, *(("count",) if counts == [name] else ()))


def _dimension(info: DimensionInfo) -> DimensionWords:
    return DimensionWords(
        info.synonyms,
        _texts(info.values),
        is_open=info.values is None,
        is_date=info.type == "date",
    )


def _texts(values: Iterable[object] | None) -> tuple[str, ...]:
    return tuple(str(value) for value in values or () if value is not None)
