"""Asks the engine a question, over tables that are put where a pair of places says.

At the end, a short way to write the two tables of a rule, and to ask about them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from tests.skillian.oracle.checks import check, check_follow_up
from tests.skillian.oracle.questions import Question, Side
from tests.skillian.oracle.tables import Profile
from tests.support.asking import measures_asked
from tests.support.places import ClickHousePlace, Column, Place, Table

from skillian.data.declare.definitions import SourcesFile
from skillian.data.declare.sources import SourceRegistry
from skillian.data.results.groups import Difference
from skillian.data.results.result import ComparisonResult
from skillian.data.services import DataServices

T = TypeVar("T")

Ask = Callable[[DataServices], Awaitable[T]]


class Pair:
    """Two databases, or one that holds both sides of a question; `kinds` names them."""

    def __init__(
        self, places: Sequence[Place], profile: Profile, kinds: Sequence[str] = ()
    ) -> None:
        self._places = tuple(places)
        self.profile = profile
        self.kinds = (*kinds, *kinds)[:2]
        self.suffixes = [place.suffix for place in (self._places * 2)[:2]]

    def written(self, query: str) -> str:
        """Return a query of table_b as the database of b names it."""
        place = (self._places * 2)[1]
        named = "tables.table_b" if isinstance(place, ClickHousePlace) else "table_b"
        return query.replace("table_b", named)

    def put(self, *tables: Table) -> list[str]:
        """Create both tables; returns the URLs of their databases."""
        if len(self._places) == 1:
            return [self._places[0].put(tables)] * 2
        return [place.put([one]) for place, one in zip(self._places, tables, strict=True)]

    def asked(self, question: Question, ask: Ask[T]) -> T:
        """Put the tables there and return what `ask` finds out."""
        urls = self.put(question.a.table, question.b.table)

        async def run() -> T:
            async with DataServices(self._registry(question, urls)) as services:
                return await ask(services)

        return asyncio.run(run())

    def checked(self, question: Question) -> None:
        """Hold the answer, and everything that can be asked about it, against the oracle's."""
        positional, named = question.arguments()

        async def ask(services: DataServices) -> None:
            result = await services.engine.compare(measures_asked(*positional, **named))
            check(result, question)
            await check_follow_up(services, result.cache_key, question)

        self.asked(question, ask)

    def compared(self, question: Question) -> ComparisonResult:
        positional, named = question.arguments()
        return self.asked(
            question, lambda each: each.engine.compare(measures_asked(*positional, **named))
        )

    def _registry(self, question: Question, urls: Sequence[str]) -> SourceRegistry:
        connections = ("one", "one") if urls[0] == urls[1] else ("one", "other")
        sides = zip((question.a, question.b), connections, self.suffixes, strict=True)
        content = {
            "connections": dict(zip(connections, urls, strict=True)),
            "sources": {
                side.name: side.declaration(connection, suffix)
                for side, connection, suffix in sides
            },
            "comparison": question.settings,
        }
        return SourceRegistry(SourcesFile.model_validate(content), Path("/"))


KEY = Column("k")
AMOUNT = Column("v", "decimal")

Rows = Sequence[tuple[Any, ...]]


def side(
    name: str,
    rows: Rows,
    columns: Sequence[Column] = (KEY, AMOUNT),
    dimensions: Mapping[str, Any] | None = None,
    measures: Mapping[str, Any] | None = None,
) -> Side:
    """A source; numbers written as text are decimals where the column is one.

    Without more its dimension `key` is column k, and its measure `amount` the sum of v.
    """
    cells = tuple(
        tuple(_cell(value, column) for value, column in zip(row, columns, strict=True))
        for row in rows
    )
    return Side(
        name,
        Table(f"table_{name}", tuple(columns), cells),
        dimensions or {"key": {"column": "k"}},
        measures or {"amount": {"column": "v", "aggregation": "sum"}},
    )


def _cell(value: Any, column: Column) -> Any:
    return Decimal(value) if column.kind == "decimal" and value is not None else value


def question(a: Rows | Side, b: Rows | Side, **given: Any) -> Question:
    """A question about two sources a and b, by `key` and for `amount` by default."""
    sides = [
        each if isinstance(each, Side) else side(name, each) for name, each in (("a", a), ("b", b))
    ]
    settings = {"default_align_on": ["key"], **given.pop("settings", {})}
    measures = given.pop("measures", ("amount",))
    return Question(sides[0], sides[1], tuple(measures), settings=settings, **given)


def compared(pair: Pair, a: Rows | Side, b: Rows | Side, **given: Any) -> ComparisonResult:
    """Compare, and hold the whole answer against the oracle's."""
    asked = question(a, b, **given)
    result = pair.compared(asked)
    check(result, asked)
    return result


def statuses(result: ComparisonResult) -> dict[str, int]:
    """The classes that some group is in, and how many are."""
    return {name: count for name, count in result.summary.classes.to_dict().items() if count}


def only(result: ComparisonResult) -> Difference:
    [difference] = result.top_differences
    return difference
