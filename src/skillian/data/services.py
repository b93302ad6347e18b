"""The engines over the sources of one file."""

from types import TracebackType
from typing import Self

from skillian.data.comparison.engine import ComparisonEngine
from skillian.data.declare.sources import Connections, SourceRegistry
from skillian.data.query.binding import Binder
from skillian.data.query.catalogue import Catalogue
from skillian.data.query.engine import QueryEngine
from skillian.data.tables.engine import TableEngine


class DataServices:
    """The engines of one registry, on shared connections; close it or use `async with`."""

    def __init__(self, registry: SourceRegistry) -> None:
        self.registry = registry
        self._connections = Connections(registry)
        binder = Binder(registry, self._connections)
        self.catalogue = Catalogue(registry, binder)
        self.query = QueryEngine(binder)
        self.comparison = ComparisonEngine(registry, binder)
        self.tables = TableEngine(binder)

    async def aclose(self) -> None:
        """Close the connections and drop all comparisons."""
        await self.comparison.aclose()
        await self.tables.aclose()
        await self._connections.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
