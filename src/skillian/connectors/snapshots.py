"""Statements that read one state of a database, whatever others write to it in the meantime."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

from skillian.connectors.base import ArrowBatch, ArrowTable, ColumnType, Connector, Table
from skillian.errors import QueryError, ToolError, UnavailableError

Stream = Callable[[str, Mapping[str, object]], AsyncGenerator[ArrowBatch]]


@runtime_checkable
class HoldsState(Protocol):
    """A connector whose database shows several statements the same state."""

    def one_state(self) -> AbstractAsyncContextManager[Connector]:
        """A connector whose streams all read the state of the first one."""
        ...


@runtime_checkable
class NoticesChanges(Protocol):
    """A connector that cannot hold a state, and knows whether files have changed."""

    def unchanged(self, tables: Collection[str], name: str) -> AbstractAsyncContextManager[None]:
        """Raise `QueryError`, which starts with `name`, at the end if a table has changed."""
        ...


class StateConnector:
    """A connector whose streams run in one transaction; everything else is as before.

    Args:
        connector: The connector of the database.
        stream: Runs a statement in the transaction.
    """

    def __init__(self, connector: Connector, stream: Stream) -> None:
        self._connector = connector
        self._stream = stream
        self.dialect = connector.dialect
        self.keeps_catalog = connector.keeps_catalog

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:  # noqa: ARG003 - it has none
        """Raise `UnavailableError`, because `one_state` returns it."""
        raise UnavailableError(f"connection {name!r}: a transaction has no URL")

    async def catalog(self) -> tuple[Table, ...]:
        """All tables and views, as they are now."""
        return await self._connector.catalog()

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT, as they are now."""
        return await self._connector.describe(statement)

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT outside of the transaction."""
        return await self._connector.run(statement, parameters)

    def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT in the transaction, after those before it have ended."""
        return self._stream(statement, parameters)

    async def aclose(self) -> None:
        """Stop running statements and disconnect."""
        await self._connector.aclose()


@asynccontextmanager
async def same_version(
    before: object, now: Callable[[], Awaitable[object]], name: str
) -> AsyncGenerator[None]:
    """Raise `QueryError` if `now` does not return `before`, also in place of another error."""
    try:
        yield
    except ToolError:
        await _check(before, now, name)
        raise
    await _check(before, now, name)


async def _check(before: object, now: Callable[[], Awaitable[object]], name: str) -> None:
    try:
        if await now() == before:
            return
    except (OSError, ToolError):  # it is gone
        pass
    raise QueryError(
        f"{name} changed while it was compared, so there is no result; compare again when nothing"
        " writes to it, or compare a copy"
    )
