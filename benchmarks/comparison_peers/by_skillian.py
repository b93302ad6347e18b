"""This project's own comparison; the process has compared a little before, as in a session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from skillian.data.comparison import MAX_PAGE
from skillian.data.comparison.page import Page
from skillian.data.declare.definitions import Thresholds
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import SourceRegistry
from skillian.data.results.result import ComparisonResult
from skillian.data.services import DataServices

Found = dict[str, object]
Go = Callable[[], Callable[[], Found]]

AGGREGATED = ("company", "period")
ROWS = ("company", "period", "account", "doc")
THRESHOLDS = {"minor_diff": {"absolute": "0.05", "percentage": "100"}}
CONNECTIONS = {"duckdb": "duckdb:///ledgers.duckdb", "files": "files:///.", "postgres": "{url}"}
SUFFIXES = {"files": ".parquet"}
SOURCE = """
  {connection}_{table}:
    connection: {connection}
    table: {table}{suffix}
    dimensions:
      company: {{column: company}}
      period: {{column: period}}
      account: {{column: account}}
      doc: {{column: doc}}
    measures: {{amount: {{column: amount, aggregation: sum}}}}
"""


class Compared:
    """One comparison, in an event loop that is kept from go to go."""

    def __init__(
        self, folder: str, url: str, sides: tuple[str, str], grain: tuple[str, ...]
    ) -> None:
        self._sides, self._grain = sides, grain
        self._runner = asyncio.Runner()
        file = Path(folder) / "sources.yaml"
        sources = [
            SOURCE.format(connection=connection, table=table, suffix=SUFFIXES.get(connection, ""))
            for connection in CONNECTIONS
            for table in ("a", "b")
        ]
        urls = "".join(f"  {name}: {at.format(url=url)}\n" for name, at in CONNECTIONS.items())
        file.write_text(f"connections:\n{urls}sources:{''.join(sources)}")
        self._services = DataServices(SourceRegistry.load(file))
        self._run(self._compare(("company",), {"company": 1000, "period": "2023001"}))

    def compare(self) -> Callable[[], Found]:
        """Compare; what is returned reads out what was found."""
        result = self._run(self._compare(self._grain))

        def read_out() -> Found:
            found = self._found(result)
            self._close()
            return found

        return read_out

    def explained(self) -> Go:
        """Compare, and return what explains the gap."""
        result = self._run(self._compare(self._grain))

        def explain() -> Callable[[], Found]:
            explanation = self._run(self._services.engine.explain(result.cache_key))

            def read_out() -> Found:
                [amount] = explanation.measures
                self._close()
                return {"net": str(amount.net), "gross": str(amount.gross)}

            return read_out

        return explain

    def _close(self) -> None:
        self._run(self._services.aclose())
        self._runner.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(work)

    async def _compare(
        self, grain: tuple[str, ...], filters: dict[str, Any] | None = None
    ) -> ComparisonResult:
        return await self._services.engine.compare(
            SavedComparison(
                name="measures",
                a=self._sides[0],
                b=self._sides[1],
                measures=("amount",),
                align_on=grain,
                filters=filters or {},
                thresholds=Thresholds.model_validate(THRESHOLDS),
            )
        )

    def _found(self, result: ComparisonResult) -> Found:
        [amount] = result.summary.measures
        found: Found = {
            **result.summary.classes.to_dict(),
            "net": str(amount.net_difference),
            "gross": str(amount.gross_difference),
            "doubled": amount.doubled_in_b,
        }
        if "doc" in self._grain and result.summary.rows_a < 2_000_000:
            found["docs"] = self._run(self._docs(result))
        return found

    async def _docs(self, result: ComparisonResult) -> dict[str, int]:
        """The documents of every difference, added up by class."""
        sums: dict[str, int] = {}
        total, offset = 1, 0
        while offset < total:
            page = await self._services.engine.rows(result.cache_key, Page((), offset, MAX_PAGE))
            for row in page.rows:
                sums[row.status] = sums.get(row.status, 0) + int(str(row.key["doc"]))
            total, offset = page.total, offset + MAX_PAGE
        return sums


def _case(a: str, b: str, grain: tuple[str, ...]) -> Callable[[str, str], Go]:
    return lambda folder, url: Compared(folder, url, (a, b), grain).compare


def _explained(a: str, b: str) -> Callable[[str, str], Go]:
    return lambda folder, url: Compared(folder, url, (a, b), AGGREGATED).explained()


CASES = {
    "duckdb aggregated": _case("duckdb_a", "duckdb_b", AGGREGATED),
    "duckdb rows": _case("duckdb_a", "duckdb_b", ROWS),
    "duckdb explain": _explained("duckdb_a", "duckdb_b"),
    "parquet aggregated": _case("files_a", "files_b", AGGREGATED),
    "parquet rows": _case("files_a", "files_b", ROWS),
    "postgres aggregated": _case("postgres_a", "postgres_b", AGGREGATED),
    "postgres rows": _case("postgres_a", "postgres_b", ROWS),
    "postgres explain": _explained("postgres_a", "postgres_b"),
    "across aggregated": _case("postgres_a", "duckdb_b", AGGREGATED),
    "across rows": _case("postgres_a", "duckdb_b", ROWS),
}
