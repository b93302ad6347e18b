"""The engines over the sources of one file."""

from typing import Self

from skillian.data.comparison.cache import Memory
from skillian.data.declare.sources import Connections, SourceRegistry
from skillian.data.engine import ComparisonEngine
from skillian.data.query.binding import Binder
from skillian.data.query.catalogue import Catalogue
from skillian.data.query.engine import QueryEngine

MOST_ROWS = 1_000_000
"""Of how many rows that differ all cells are kept."""


class DataServices:
    """The engines of one registry, on shared connections; close it or use `async with`.

    A `memory` that is given keeps the results of comparisons, known only to those who may read the
    sources, and stays open.
    """

    def __init__(self, registry: SourceRegistry, memory: Memory | None = None) -> None:
        self.registry = registry
        self._connections = Connections(registry)
        binder = Binder(registry, self._connections)
        self.catalogue = Catalogue(registry, binder)
        self.query = QueryEngine(binder)
        self.memory = memory or Memory(registry.comparison.cache_ttl_seconds, MOST_ROWS)
        self._owns_memory = memory is None
        self.engine = ComparisonEngine(registry, binder, self.memory, private=memory is not None)

    async def aclose(self) -> None:
        """Close the connections and drop all comparisons of its own memory."""
        if self._owns_memory:
            await self.memory.aclose()
        await self._connections.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
