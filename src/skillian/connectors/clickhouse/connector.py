"""ClickHouse: one data folder, read only, in a process of its own."""

from collections.abc import AsyncGenerator, Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Self, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit
from zoneinfo import ZoneInfo

from skillian.connectors.base import (
    ArrowBatch,
    ArrowTable,
    ColumnType,
    Declaration,
    Table,
    tables_of,
)
from skillian.connectors.clickhouse.errors import ClickHouseError, explained
from skillian.connectors.clickhouse.process import ClickHouseProcess, ClickHouseStatement
from skillian.connectors.clickhouse.statement import bound, checked
from skillian.connectors.clickhouse.types import column_type, is_nullable
from skillian.connectors.limits import (
    STREAM_TIMEOUT_SECONDS,
    TIMEOUT_SECONDS,
    table_within_budget,
)
from skillian.connectors.threads import BlockingCalls
from skillian.errors import QueryError, UnavailableError

if find_spec("chdb") is None:  # only its own process loads it
    raise ModuleNotFoundError(name="chdb")

T = TypeVar("T")

# Standard SQL where ClickHouse has another default, and a bound on memory, beyond which it spills.
_SETTINGS: dict[str, str | int] = {
    "join_use_nulls": 1,
    "cast_keep_nullable": 1,
    "aggregate_functions_null_for_empty": 1,
    "prefer_column_name_to_alias": 1,
    "enable_positional_arguments": 0,
    "transform_null_in": 0,
    "union_default_mode": "DISTINCT",
    "intersect_default_mode": "DISTINCT",
    "except_default_mode": "DISTINCT",
    "enable_materialized_cte": 1,
    "short_circuit_function_evaluation": "force_enable",
    "formatdatetime_parsedatetime_m_is_month_name": 0,
    "output_format_arrow_string_as_string": 0,
    "output_format_arrow_low_cardinality_as_dictionary": 0,
    "query_plan_remove_redundant_sorting": 0,
    "max_memory_usage": 4_000_000_000,
    "max_bytes_before_external_group_by": 1_000_000_000,
    "max_bytes_before_external_sort": 1_000_000_000,
}
_CATALOG = """
SELECT "database", "table", "name", "type"
FROM "system"."columns"
WHERE "database" NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema')
ORDER BY "database" <> currentDatabase(), "database", "table", "position"
"""
_UNREADABLE = (
    "its folder is not a ClickHouse data folder; check that it is there, and holds the folders"
    " `metadata` and `store` or `data` that ClickHouse writes"
)


class ClickHouseConnector:
    """A `Connector` to one data folder of ClickHouse.

    Args:
        folder: The folder; it is never created.
        name: The connection's name in the configuration; messages use it in place of the path.
        timezone: The zone of a DateTime without one of its own.
        timeout: How many seconds a statement may run.
    """

    dialect = "clickhouse"
    keeps_catalog = False

    def __init__(
        self, folder: Path, name: str, timezone: str = "UTC", timeout: float = TIMEOUT_SECONDS
    ) -> None:
        self._folder = folder
        self._name = name
        self._timeout = timeout
        self._process = ClickHouseProcess(folder, {**_SETTINGS, "session_timezone": timezone})
        self._calls = BlockingCalls()
        self._streams: set[ClickHouseStatement] = set()

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """The connector for `clickhouse:///folder` or `clickhouse:///folder?timezone=…`.

        Raises `UnavailableError` for an unknown option or time zone.
        """
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        timezone = options.pop("timezone", "UTC")
        try:
            ZoneInfo(timezone)
            known = not options
        except (KeyError, ValueError, OSError):
            known = False
        if not known:
            raise UnavailableError(
                f"connection {name!r}: after a ? its URL may have `timezone=` and the name of a"
                " zone, such as Europe/Berlin"
            )
        path = unquote((parts.netloc + parts.path).removeprefix("/"))
        return cls(folder / path, name, timezone)

    async def catalog(self) -> tuple[Table, ...]:
        """All tables and views; those of the default database first."""
        rows = (await self.run(_CATALOG, {})).to_pylist()
        # A key of ClickHouse orders rows and may repeat: it is not declared as a key here.
        return tables_of(
            "clickhouse",
            (
                (
                    row["database"],
                    row["table"],
                    row["name"],
                    column_type(row["type"]),
                    Declaration(nullable=is_nullable(row["type"])),
                )
                for row in rows
            ),
        )

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without running it."""

        def columns(running: ClickHouseStatement) -> Mapping[str, ColumnType]:
            running.describe(checked(statement, {}), {})
            return running.columns

        return await self._read(columns)

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters and return its rows, within the budget."""
        values = bound(parameters)

        def table(running: ClickHouseStatement) -> ArrowTable:
            running.start(checked(statement, values), values)
            return table_within_budget(iter(running.batch, None), running.schema)

        return await self._read(table)

    async def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and yield its rows in batches, without a limit on their number."""
        values, running = bound(parameters), ClickHouseStatement(self._process)
        text = checked(statement, values)
        self._streams.add(running)
        seconds = STREAM_TIMEOUT_SECONDS
        try:
            await self._work(running, lambda: running.start(text, values), seconds)
            while (batch := await self._work(running, running.batch, seconds)) is not None:
                yield batch
        finally:
            self._streams.discard(running)
            running.close()

    async def aclose(self) -> None:
        """Stop running statements and the process; the next statement starts it again."""
        await self._calls.stop()
        while self._streams:
            self._streams.pop().interrupt()
        await self._calls.run(self._process.stop, lambda: None)

    async def _read(self, read: Callable[[ClickHouseStatement], T]) -> T:
        running = ClickHouseStatement(self._process)
        try:
            return await self._work(running, lambda: read(running), self._timeout)
        finally:
            running.close()

    async def _work(self, running: ClickHouseStatement, work: Callable[[], T], seconds: float) -> T:
        # ClickHouse would create a missing folder.
        if not (self._folder / "metadata").is_dir():
            raise QueryError(f"connection {self._name!r}: {_UNREADABLE}")
        try:
            return await self._calls.run(work, running.interrupt, seconds)
        except (ClickHouseError, OSError) as error:
            raise explained(self._name, error) from None
