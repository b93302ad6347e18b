"""Questions of comparisons, in one line, and the sources that they are about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from skillian.data.comparison.page import ColumnFilter, Order, Page
from skillian.data.declare.saved import SavedComparison
from skillian.data.engine import ComparisonEngine
from skillian.data.results.result import ComparisonResult


def measures_asked(
    a: str,
    b: str,
    measures: str | Sequence[str],
    align_on: Sequence[str] | None = None,
    filters: Mapping[str, Any] | None = None,
    **fields: Any,
) -> SavedComparison:
    """A question about measures."""
    stated = {"align_on": align_on, "filters": filters, **fields}
    named = [measures] if isinstance(measures, str) else measures
    return rows_asked(
        a, b, measures=named, **{name: each for name, each in stated.items() if each is not None}
    )


def rows_asked(a: str, b: str, **fields: Any) -> SavedComparison:
    """A question about whole rows."""
    return SavedComparison.model_validate({"name": "comparison", "a": a, "b": b, **fields})


def comparing(engine: ComparisonEngine) -> Callable[..., Awaitable[ComparisonResult]]:
    """A function that compares measures and takes the arguments of `measures_asked`."""
    return lambda *given, **fields: engine.compare(measures_asked(*given, **fields))


def page_of(
    status: str | Sequence[str] | None = None,
    offset: int = 0,
    limit: int = 100,
    *,
    order: Order | None = None,
    where: Sequence[ColumnFilter] = (),
) -> Page:
    """A page of these classes, or of all that differ."""
    statuses = (status,) if isinstance(status, str) else tuple(status or ())
    return Page(statuses, offset, limit, order, tuple(where))


def two_sources(
    dimensions: str,
    measures: str,
    align_on: str = "",
    *,
    tables: tuple[str, str] = ("connection: c, table: a", "connection: c, table: b"),
    measures_b: str | None = None,
    connections: str = "c: 'duckdb:///test.duckdb'",
) -> str:
    """A sources.yaml with sources a and b, over tables a and b of `test.duckdb` by default."""
    sources = "".join(
        f"  {name}: {{{table}, dimensions: {{{dimensions}}}, measures: {{{measured}}}}}\n"
        for name, table, measured in zip(
            "ab", tables, (measures, measures_b or measures), strict=True
        )
    )
    aligned = f"comparison: {{default_align_on: [{align_on}]}}\n"
    return f"connections: {{{connections}}}\nsources:\n{sources}{aligned}"
