"""The open databases of one registry."""

from types import TracebackType
from typing import Self

from skillian.connectors import Connector, connect
from skillian.data.sources import SourceRegistry


class Connections:
    """Opens each declared connection once, when it is first needed; close it or use `async with`.

    Args:
        registry: Where the connections are declared.
    """

    def __init__(self, registry: SourceRegistry) -> None:
        self._registry = registry
        self._open: dict[str, Connector] = {}

    def get(self, name: str) -> Connector:
        """Return the connector of a connection; raises `UnavailableError` if it cannot be made."""
        if name not in self._open:
            url = self._registry.url(name)
            self._open[name] = connect(name, url, self._registry.folder)
        return self._open[name]

    async def aclose(self) -> None:
        """Close all of them."""
        while self._open:
            _, connector = self._open.popitem()
            await connector.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
