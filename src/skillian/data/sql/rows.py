"""Reads the few rows of a statement, wherever it runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from sqlglot import exp

from skillian.connectors.base import ArrowBatch
from skillian.data.sql import Statement, prepare
from skillian.data.sql.values import python_rows


class StatementEngine(Protocol):
    """Runs statements and returns their rows in batches."""

    @property
    def dialect(self) -> str:
        """The sqlglot dialect of its statements."""
        ...

    def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and yield its rows in batches."""
        ...


@runtime_checkable
class ReadsPlainRows(Protocol):
    """An engine that returns most rows without loading Arrow."""

    async def plain_rows(
        self, statement: str, parameters: Mapping[str, object]
    ) -> list[dict[str, Any]] | None:
        """All rows of one SELECT in Python values; None if only `stream` has all of them."""
        ...


async def fetch(engine: StatementEngine, statement: Statement) -> list[dict[str, Any]]:
    """Run a statement, without the time limit of a query, and return its few rows."""
    if isinstance(engine, ReadsPlainRows):
        plain = await engine.plain_rows(statement.text, statement.parameters)
        if plain is not None:
            return plain
    rows: list[dict[str, Any]] = []
    async with aclosing(engine.stream(statement.text, statement.parameters)) as batches:
        async for batch in batches:
            rows += python_rows(batch)
    return rows


async def fetch_tree(
    engine: StatementEngine, tree: exp.Expr, values: Mapping[str, object] = MappingProxyType({})
) -> list[dict[str, Any]]:
    """Run the statement of a tree with these values, as `fetch` does."""
    return await fetch(engine, prepare(tree, engine.dialect, values))
