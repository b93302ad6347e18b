"""From the settings to an agent that is ready to answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from skillian.chat.agent import Agent
from skillian.data.catalogue import DimensionInfo
from skillian.data.definitions import Measure
from skillian.data.services import DataServices
from skillian.data.sources import SourceRegistry
from skillian.llm.provider import make_model
from skillian.llm.vocabulary import DimensionWords, SourceWords, Vocabulary
from skillian.skills.loader import BUNDLED, load_skill
from skillian.skills.registry import SkillRegistry

SKILLS = ("data-analyst",)


@asynccontextmanager
async def open_agent(sources: Path, model: str | None) -> AsyncGenerator[Agent, None]:
    """An agent over the sources of a file; its connections close with it.

    Args:
        sources: a `sources.yaml`.
        model: as in the settings; None is the offline planner.

    Raises:
        ConfigurationError: the file, with all its faults.
        tinyagent.ConfigurationError: the model's key is missing.
    """
    async with DataServices(SourceRegistry.load(sources)) as services:
        skills = SkillRegistry(load_skill(BUNDLED / name, services) for name in SKILLS)
        vocabulary = await read_vocabulary(services)
        yield Agent(make_model(model, vocabulary), skills, vocabulary)


async def read_vocabulary(services: DataServices) -> Vocabulary:
    """What can be spoken about, from the definitions and the values in the data."""
    return Vocabulary(
        {
            entry.name: SourceWords(
                {name: _measure(name, entry.measures) for name in entry.measures},
                {name: _dimension(info) for name, info in entry.dimensions.items()},
            )
            for entry in await services.catalogue.sources()
        }
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
