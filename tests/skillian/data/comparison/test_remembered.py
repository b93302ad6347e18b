"""Comparisons that are answered from memory or by one that is being made, and what they leave."""

import asyncio
import gc
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any
from unittest.mock import Mock, create_autospec

import duckdb
import pytest
from sqlglot import exp
from tests.skillian.data.conftest import MakeServices
from tests.support.asking import comparing, measures_asked, page_of, two_sources

from skillian.connectors.base import ColumnType
from skillian.connectors.duckdb import joint
from skillian.connectors.duckdb.connector import DuckDBConnector
from skillian.data.comparison import cache as remembered
from skillian.data.comparison import engine as measures_engine
from skillian.data.comparison.cache import Kept, Memory
from skillian.data.comparison.plan import Planner
from skillian.data.declare.saved import SavedComparison
from skillian.data.engine import ComparisonEngine
from skillian.errors import InvalidInputError, QueryError

TABLES = "CREATE TABLE a (k VARCHAR, v DECIMAL(17, 2)); CREATE TABLE b AS FROM a;"
AMOUNT = "amount: {column: v, aggregation: sum}"
SOURCES = two_sources("key: {column: k}", AMOUNT, "key")


async def test_a_remembered_question_is_not_planned_again_unless_a_source_has_changed(
    make_services: MakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_services(TABLES, SOURCES).engine
    compare = comparing(engine)
    planned = create_autospec(Planner.plan, side_effect=Planner.plan)
    bind = Planner.bind

    async def widened(planner: Planner, question: SavedComparison) -> Any:
        a, b = await bind(planner, question)
        return replace(a, columns={**a.columns, "more": ColumnType("text", "VARCHAR")}), b

    monkeypatch.setattr(Planner, "plan", planned)
    first = await compare("a", "b", ["amount"], filters={"key": "x"})
    assert await compare("a", "b", ["amount"], filters={"key": "x"}) is first
    assert planned.call_count == 1
    async with engine.kept(measures_asked("a", "b", ["amount"], filters={"key": "x"})) as kept:
        assert kept is first
    question = measures_asked("a", "b", ["amount"], filters={"key": "x"})
    async with engine.kept(question, again=True) as made:
        assert (made.cache_key, planned.call_count) == (first.cache_key, 2)
    assert await compare("a", "b", ["amount"], filters={"key": "y"}) is not first
    assert planned.call_count == 3
    monkeypatch.setattr(Planner, "bind", widened)
    changed = await compare("a", "b", ["amount"], filters={"key": "x"})
    assert changed.cache_key != first.cache_key
    assert planned.call_count == 4


# Other questions than for amounts of x by key, each by what is stated otherwise.
OTHERS: tuple[dict[str, Any], ...] = (
    *({"a": "b", "b": "a"}, {"thresholds": {"match": {"absolute": 1}}}, {"filters": {}}),
    *({"filters": {"key": each}} for each in ("y", {"ne": "x"}, None)),
    *({"measures": names} for names in (["amount", "count"], ["count", "amount"])),
    *({"align_on": names} for names in (["key", "again"], ["again", "key"])),
)


async def test_each_part_of_a_question_and_of_its_definitions_counts(
    make_services: MakeServices,
) -> None:
    wider = two_sources(
        "key: {column: k}, again: {column: k}",
        f"{AMOUNT}, count: {{column: v, aggregation: count}}",
        "key",
    )
    question = {"a": "a", "b": "b", "measures": ["amount"], "filters": {"key": "x"}}
    compare, priced = (
        comparing(make_services(TABLES, each).engine)
        for each in (wider, wider.replace("sum}", "sum, unit: USD}"))
    )
    first = await compare(**question)
    assert await compare("a", "b", "amount", ["key"], {"key": ["x"]}, thresholds={}) is first
    found = [first, await priced(**question)]
    found += [await compare(**{**question, **each}) for each in OTHERS]
    assert len({each.cache_key for each in found}) == len(found)


async def test_nothing_is_kept_where_the_file_says_so(make_services: MakeServices) -> None:
    sources = SOURCES.replace("comparison: {", "comparison: {cache_ttl_seconds: 0, ")
    compare = comparing(make_services(TABLES, sources).engine)
    assert await compare("a", "b", ["amount"]) is not await compare("a", "b", ["amount"])


async def test_fifty_at_once_ask_the_database_once(
    make_services: MakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_services(TABLES, SOURCES).engine
    connector = (await engine.measures._planner._binder.bind("a")).connector
    assert isinstance(connector, DuckDBConnector)
    spied = Mock(wraps=connector.plain_rows)
    monkeypatch.setattr(connector, "plain_rows", spied)
    question = measures_asked("a", "b", ["amount"])
    results = await asyncio.gather(*(engine.compare(question) for _ in range(50)))
    asked = [call.args[0] for call in spied.call_args_list]
    assert 0 < len(asked) == len({*asked})
    assert len({id(result) for result in results}) == 1


async def test_a_side_that_fails_stops_the_other(make_services: MakeServices) -> None:
    connections = "c: 'duckdb:///test.duckdb', other: 'sqlite:///other.sqlite'"
    tables = "connection: c, table: a", "connection: other, table: b"
    sources = two_sources("key: {column: k}", AMOUNT, tables=tables, connections=connections)
    services = make_services(TABLES, sources)
    (services.registry.folder / "other.sqlite").write_bytes(b"no database")
    with pytest.raises(QueryError, match="connection 'other'"):
        await services.engine.compare(measures_asked("a", "b", ["amount"], ["key"]))
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


class Sized(Kept):
    """What the cache looks at of a comparison."""

    def __init__(self, name: str, size: int) -> None:
        self.tables = [name]
        self.size = size


def test_the_least_recently_used_and_what_is_too_large_are_evicted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remembered, "MAX_BYTES", 100)
    cache = Memory(3600)
    for name in "abc":
        cache.keep(name, Sized(name, 30))
    assert cache.find("a") is not None
    cache.keep("d", Sized("d", 30))
    assert cache.find("b") is None
    assert cache.evicted() == ("b",)
    assert cache.evicted() == ()
    cache.keep("large", Sized("large", 101))
    assert cache.find("large") is None
    assert cache.find("a") is not None
    assert cache.evicted() == ("large",)


def test_what_is_too_old_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(remembered, "monotonic", lambda: now[0])
    cache = Memory(3600)
    cache.keep("a", Sized("a", 1))
    now[0] = 3599
    assert cache.get("a").size == 1
    now[0] = 3601
    with pytest.raises(InvalidInputError, match=r"'a' is unknown .*compare the sources again"):
        cache.get("a")
    assert cache.evicted() == ("a",)


def test_one_that_is_made_again_replaces_the_first() -> None:
    cache = Memory(3600)
    first, second = Sized("first", 1), Sized("second", 1)
    cache.keep("a", first)
    with cache.holding("a"):
        cache.keep("a", second)
        assert cache.get("a") is second
        assert cache.evicted() == ()  # someone may read the first
    assert cache.evicted() == ("first",)
    assert cache.get("a") is second


BYTES = 2_000_000  # room for about a dozen
COMPARISONS = 20
WARM = 10
PARTS = 60  # a comparison; its statements have hundreds
COMPANIES = two_sources(
    "company: {column: company}, account: {column: account}",
    "amount: {column: amount, aggregation: sum}",
)
SCRIPT = """
CREATE TABLE a AS
    SELECT i % 200 AS company, i % 7 AS account, (i * 0.01)::DECIMAL(17, 2) AS amount
    FROM range(5000) t (i);
CREATE TABLE b AS
    SELECT company, account, CASE WHEN account = 3 THEN amount + 1 ELSE amount END AS amount FROM a
"""


def parts_of_statements() -> int:
    """How many parts of SQL statements this process holds."""
    gc.collect()
    return sum(isinstance(each, exp.Expression) for each in gc.get_objects())


async def compare(engine: ComparisonEngine, count: int) -> AsyncGenerator[str]:
    """Comparisons of a company each, by cache key; some have a table of the workspace."""
    for number in range(count):
        result = await engine.compare(
            measures_asked("a", "b", ["amount"], ["account"], {"company": number})
        )
        if number % 10 == 0:
            await engine.measures.explain(result.cache_key)
        yield result.cache_key


async def test_what_is_forgotten_leaves_nothing_behind(
    make_services: MakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "MAX_BYTES", BYTES)
    engine = make_services(SCRIPT, COMPANIES).engine
    keys = [key async for key in compare(engine, 18)]
    kept = [key for key in keys if engine._memory.find(key) is not None]
    held = sum(engine._memory.get(key).size for key in kept)
    tables = {name for key in kept for name in engine._memory.get(key).tables}
    stored = await engine.measures._workspace.run("SELECT table_name FROM duckdb_tables()", {})
    assert kept == keys[-len(kept) :]
    assert len(kept) < len(keys)
    assert 0 < held <= BYTES
    assert {row["table_name"] for row in stored.to_pylist()} == tables


async def test_a_comparison_that_fails_leaves_no_table(
    make_services: MakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failed(*_: object) -> None:
        raise QueryError("no space")

    monkeypatch.setattr(measures_engine, "read_summary", failed)
    engine = make_services(SCRIPT, COMPANIES).engine
    with pytest.raises(QueryError, match="no space"):
        await engine.compare(measures_asked("a", "b", ["amount"], ["account"]))
    stored = await engine.measures._workspace.run("SELECT table_name FROM duckdb_tables()", {})
    assert stored.num_rows == 0


async def test_engines_over_two_databases_do_not_all_stay_open(make_services: MakeServices) -> None:
    sources = COMPANIES.replace("test.duckdb'}", "test.duckdb', d: 'files://.'}")
    services = make_services(SCRIPT, sources.replace("c, table: b", "d, table: b.parquet"))
    folder = services.registry.folder
    with duckdb.connect(folder / "test.duckdb") as made:
        made.execute(f"COPY b TO '{folder / 'b.parquet'}'")
    before = {*joint._open}
    keys = [key async for key in compare(services.engine, 10)]
    assert len({*joint._open} - before) == joint.MAX_IDLE
    pages = [await services.engine.rows(key, page_of(["major_diff"])) for key in keys]
    assert all(page.rows for page in pages)


async def test_no_statement_is_remembered(make_services: MakeServices) -> None:
    engine = make_services(SCRIPT, COMPANIES).engine
    warm, keys = 0, []
    async for key in compare(engine, COMPARISONS):
        keys.append(key)
        if len(keys) == WARM:
            warm = parts_of_statements()
    assert all(engine._memory.find(key) is not None for key in keys)
    assert parts_of_statements() - warm < PARTS * (COMPARISONS - WARM)
