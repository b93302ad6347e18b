"""Asks the engine a question, over tables that are put where a pair of places says."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from tests.skillian.oracle.check_follow_up import check_follow_up
from tests.skillian.oracle.checks import check
from tests.skillian.oracle.places import ClickHousePlace, Place
from tests.skillian.oracle.questions import Question
from tests.skillian.oracle.tables import Profile
from tests.support.asking import measures_asked

from skillian.data.declare.definitions import SourcesFile
from skillian.data.declare.sources import SourceRegistry
from skillian.data.results.result import ComparisonResult
from skillian.data.services import DataServices

T = TypeVar("T")

Ask = Callable[[DataServices], Awaitable[T]]


class Pair:
    """Two databases, or one that holds both sides of a question."""

    def __init__(self, places: Sequence[Place], profile: Profile) -> None:
        self._places = tuple(places)
        self.profile = profile

    def written(self, query: str) -> str:
        """Return a query of table_b as the database of b names it."""
        place = (self._places * 2)[1]
        named = "tables.table_b" if isinstance(place, ClickHousePlace) else "table_b"
        return query.replace("table_b", named)

    def asked(self, question: Question, ask: Ask[T]) -> T:
        """Put the tables there and return what `ask` finds out."""
        tables = question.a.table, question.b.table
        if len(self._places) == 1:
            urls = [self._places[0].put(tables)] * 2
        else:
            urls = [place.put([one]) for place, one in zip(self._places, tables, strict=True)]

        async def run() -> T:
            async with DataServices(self._registry(question, urls)) as services:
                return await ask(services)

        return asyncio.run(run())

    def checked(self, question: Question) -> None:
        """Hold the answer, and everything that can be asked about it, against the oracle's."""
        positional, named = question.arguments()

        async def ask(services: DataServices) -> None:
            result = await services.comparison.compare(measures_asked(*positional, **named))
            check(result, question)
            await check_follow_up(services, result.cache_key, question)

        self.asked(question, ask)

    def compared(self, question: Question) -> ComparisonResult:
        positional, named = question.arguments()
        return self.asked(
            question, lambda each: each.comparison.compare(measures_asked(*positional, **named))
        )

    def _registry(self, question: Question, urls: Sequence[str]) -> SourceRegistry:
        connections = ("one", "one") if urls[0] == urls[1] else ("one", "other")
        suffixes = [place.suffix for place in (self._places * 2)[:2]]
        sides = zip((question.a, question.b), connections, suffixes, strict=True)
        content = {
            "connections": dict(zip(connections, urls, strict=True)),
            "sources": {
                side.name: side.declaration(connection, suffix)
                for side, connection, suffix in sides
            },
            "comparison": question.settings,
        }
        return SourceRegistry(SourcesFile.model_validate(content), Path("/"))
