"""The same comparison in a DuckDB file, in PostgreSQL and across both, over the same rows."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.asking import measures_asked, page_of
from tests.support.postgres import Database

from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.errors import QueryError

TABLES = """
CREATE TABLE a (company VARCHAR, period INTEGER, code CHAR(6), amount DECIMAL(17, 2), day DATE,
    flag BOOLEAN, moment TIMESTAMP, written VARCHAR);
CREATE TABLE b (company VARCHAR, period BIGINT, code VARCHAR, amount DECIMAL(18, 3), day DATE,
    flag BOOLEAN, moment TIMESTAMP, written VARCHAR);
"""
ROWS = """
INSERT INTO a VALUES
    ('1000', 1, 'A', 10.10, '2024-01-31', true, '2024-01-31 10:00:00', '31.1.2024'),
    ('1000', 1, 'A', 0.05, '2024-01-31', true, '2024-01-31 10:00:00.5', '31.01.2024'),
    ('1000 ', 2, 'o''neil', -5, NULL, false, NULL, NULL),
    (NULL, 3, NULL, 7, '2024-02-29', NULL, '0001-01-01 00:00:00', '29.02.2024'),
    ('é', 4, 'é', 999999999999999.99, '2024-03-01', true, NULL, '01.03.2024'),
    ('Zz', 5, 'z', 3.33, '9999-12-31', true, NULL, '01.03.2024'),
    ('aa', 5, 'z', 3.33, '9999-12-31', true, NULL, '01.03.2024'),
    ('x', NULL, 'x', NULL, NULL, NULL, NULL, NULL), ('x', NULL, 'x', 1, NULL, NULL, NULL, NULL);
INSERT INTO b VALUES
    ('1000', 1, 'A', 10.15, '2024-01-31', true, '2024-01-31 10:00:00', '31.01.2024'),
    ('1000', 2, 'o''neil', -5.001, NULL, false, NULL, NULL),
    (NULL, 3, NULL, 7, '2024-02-29', NULL, '0001-01-01 00:00:00', '29.2.2024'),
    ('e' || chr(769), 4, 'é', 999999999999999.98, '2024-03-01', true, NULL, '1.3.2024'),
    ('0aa', 5, 'z', 3.33, '9999-12-31', true, NULL, '01.03.2024'),
    ('x', NULL, 'x', 2, NULL, NULL, NULL, NULL);
"""
DIMENSIONS = """
      company: {column: company}
      tidy: {column: company, normalise: [trim, upper, nfc, "lpad(6,'0')"]}
      mapped: {column: company, values: {'1000': 'A', 'x': 'o''neil'}}
      period: {column: period}
      number: {column: period, type: text}
      code: {column: code}
      day: {column: day}
      german: {column: day, type: text, format: '%d.%m.%Y'}
      month: {column: day, type: text, format: '%Y-Month %b'}
      flag: {column: flag}
      flagged: {column: flag, type: text}
      moment: {column: moment}
      second: {column: moment, type: text}
      read: {column: written, type: date, format: '%d.%m.%Y'}
"""
MEASURES = """
      amount: {column: amount, aggregation: sum}
      turned: {expression: 'CASE WHEN period > 1 THEN -1 * amount END', aggregation: sum}
      mean: {column: amount, aggregation: avg}
      companies: {column: company, aggregation: count_distinct}
      high: {column: amount, aggregation: max}
"""
NAMES = ["amount", "turned", "mean", "companies", "high"]
LIMITS = {"minor_diff": {"absolute": 1, "percentage": "0.5"}}


def sources_yaml(url_a: str, url_b: str) -> str:
    text = f"connections: {{a: '{url_a}', b: '{url_b}'}}\nsources:\n"
    for name in ("a", "b"):
        text += f"  {name}:\n    connection: {'a' if url_a == url_b else name}\n    table: {name}\n"
        text += f"    dimensions:{DIMENSIONS}    measures:{MEASURES}"
    return text


class Pair:
    """The same rows in both databases; services for each, and for one against the other."""

    def __init__(self, folder: Path, database: Database) -> None:
        self._duckdb = folder / "test.duckdb"
        self._database = database
        self._services: list[DataServices] = []
        urls = ("duckdb:///test.duckdb", database.url)
        for number, (a, b) in enumerate([(urls[0], urls[0]), (urls[1], urls[1]), urls, urls[::-1]]):
            path = folder / f"{number}.yaml"
            path.write_text(sources_yaml(a, b), encoding="utf-8")
            self._services.append(DataServices(SourceRegistry.load(path)))

    async def load(self, script: str) -> None:
        await self.aclose()
        with duckdb.connect(self._duckdb) as connection:
            connection.execute(script)
        self._database.execute(script)

    async def compared(self, *given: Any, **named: Any) -> list[dict[str, Any]]:
        """All that one comparison returns: within DuckDB first."""
        return [await _comparison(services, *given, **named) for services in self._services]

    async def explained(self, align_on: list[str]) -> list[list[Any]]:
        """What is reported about the differences of one comparison."""
        return [await _explained(services, align_on) for services in self._services]

    async def asked(self, *given: Any, **named: Any) -> list[dict[str, Any]]:
        """What both databases answer to one question about one source."""
        results = [await each.query.query(*given, **named) for each in self._services[:2]]
        return [_without_sql(result.to_dict()) for result in results]

    async def catalogues(self) -> list[Any]:
        return [
            [source.to_dict() for source in await services.catalogue.sources()]
            for services in self._services[:2]
        ]

    async def aclose(self) -> None:
        for services in self._services:
            await services.aclose()


async def _comparison(services: DataServices, *given: Any, **named: Any) -> dict[str, Any]:
    result = await services.comparison.compare(measures_asked("a", "b", *given, **named))
    content: dict[str, Any] = _without_sql(result.to_dict())
    return content


async def _explained(services: DataServices, align_on: list[str]) -> list[Any]:
    result = await services.comparison.compare(measures_asked("a", "b", ["amount"], align_on))
    groups = await services.comparison.rows(result.cache_key, page_of())
    explanation = await services.comparison.explain(result.cache_key)
    rows = await services.comparison.drill_down(result.cache_key, groups.rows[0].key)
    assert (rows.a.row_count, rows.b.row_count) == (1, 0)
    content: list[Any] = _without_sql([each.to_dict() for each in (groups, explanation)])
    return content


def _without_sql(content: Any) -> Any:
    """Leave out how it was asked, and the types, which are the database's own."""
    own = {"sql", "parameters", "snapshot", "cache_key", "queries", "schema"}
    if isinstance(content, Mapping):
        return {name: _without_sql(value) for name, value in content.items() if name not in own}
    if isinstance(content, Sequence) and not isinstance(content, str):
        return [_without_sql(value) for value in content]
    return content


@pytest.fixture
async def pair(tmp_path: Path, postgres_database: Database) -> AsyncIterator[Pair]:
    opened = Pair(tmp_path, postgres_database)
    await opened.load(TABLES + ROWS)
    yield opened
    await opened.aclose()


@pytest.mark.parametrize(
    "align_on",
    [
        ["company", "period"],
        ["code"],
        ["tidy"],
        ["mapped", "number"],
        ["day", "flag", "moment"],
        ["german", "flagged", "second", "month"],
        ["read"],
    ],
    ids="+".join,
)
async def test_both_databases_tell_the_same(pair: Pair, align_on: list[str]) -> None:
    local, *others = await pair.compared(NAMES, align_on, thresholds=LIMITS)
    assert others == [local] * 3
    assert local["summary"]["rows_a"] == 9


async def test_both_databases_tell_the_same_about_the_differences(pair: Pair) -> None:
    local, *others = await pair.explained(["company", "period"])
    assert others == [local] * 3


@pytest.mark.parametrize(
    "filters",
    [
        {"company": "1000"},
        {"company": ["1000", "é", None]},
        {"company": {"ne": ["1000", "o'neil"]}},
        {"company": {"gt": "1000", "lte": "aa"}},
        {"code": "o'neil"},
        {"number": ["1", "5"]},
        {"period": {"between": [2, 4]}},
        {"flag": True},
        {"flag": None},
        {"day": {"gte": "2024-02-29"}},
        {"moment": {"ne": "2024-01-31T10:00:00.5"}},
        {"read": ["2024-02-29", None]},
        {"tidy": {"ne": "001000"}},
    ],
    ids=str,
)
async def test_both_databases_keep_the_same_rows(pair: Pair, filters: dict[str, Any]) -> None:
    local, *others = await pair.compared(["amount"], ["company"], filters)
    assert others == [local] * 3
    assert 0 < local["summary"]["rows_a"] < 9


@pytest.mark.parametrize("order", [None, ["-amount", "company"], ["-company"], ["-day"]], ids=str)
async def test_both_databases_answer_in_the_same_order(pair: Pair, order: list[str] | None) -> None:
    local, server = await pair.asked("a", ["company", "day"], NAMES, order=order)
    assert server == local
    assert local["row_count"] == 7


async def test_both_databases_have_the_same_catalogue(pair: Pair) -> None:
    local, server = await pair.catalogues()
    assert server == local


async def test_a_text_that_is_not_a_date_is_named(pair: Pair, postgres_database: Database) -> None:
    postgres_database.execute("UPDATE a SET written = '31.01.2024 or so'")
    with pytest.raises(QueryError, match=r"31\.01\.2024 or so"):
        await pair.compared(["amount"], ["read"])


Row = tuple[str | None, int | None, Decimal | None]
KEYS = ("1001", "1001 ", "01001", "é", "É", "e\u0301", "o'neil", '"; DROP TABLE a; --', "名前", "")
amounts = st.decimals(min_value=-(10**13), max_value=10**13, places=2)
tables = st.lists(
    st.tuples(
        st.one_of(st.none(), st.sampled_from(KEYS)),
        st.one_of(st.none(), st.integers(1, 3)),
        st.one_of(st.none(), st.sampled_from([Decimal("0.00"), Decimal("-0.05")]), amounts),
    ),
    max_size=30,
)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(a=tables, b=tables, align_on=st.sampled_from([["company"], ["company", "period"]]))
def test_any_rows_give_the_same_comparison_everywhere(
    tmp_path: Path, postgres_database: Database, a: list[Row], b: list[Row], align_on: list[str]
) -> None:
    async def ask() -> list[dict[str, Any]]:
        pair = Pair(tmp_path, postgres_database)
        await pair.load(f"DROP TABLE IF EXISTS a; DROP TABLE IF EXISTS b; {TABLES}")
        await pair.load(inserted("a", a) + inserted("b", b))
        try:
            return await pair.compared(["amount", "mean"], align_on, thresholds=LIMITS)
        finally:
            await pair.aclose()

    local, *others = asyncio.run(ask())
    assert others == [local] * 3


def inserted(table: str, rows: list[Row]) -> str:
    return "".join(
        f"INSERT INTO {table} (company, period, amount) VALUES"  # noqa: S608 - written here
        f" ({', '.join(literal(value) for value in row)});"
        for row in rows
    )


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


async def test_a_time_with_its_zone_is_read_as_a_timestamp(
    tmp_path: Path, postgres_database: Database
) -> None:
    postgres_database.execute(
        "CREATE TABLE z (at timestamptz, v numeric(9, 2));"
        " INSERT INTO z VALUES ('2024-01-31 10:00:00.5+02', 1), (NULL, 2)"
    )
    (tmp_path / "z.yaml").write_text(
        f"connections: {{c: '{postgres_database.url}'}}\n"
        "sources:\n"
        "  z: {connection: c, table: z, dimensions: {at: {column: at, type: timestamp}},"
        " measures: {v: {column: v, aggregation: sum}}}\n",
        encoding="utf-8",
    )
    async with DataServices(SourceRegistry.load(tmp_path / "z.yaml")) as services:
        rows = (await services.query.query("z", ["at"], ["v"])).to_dict()["rows"]
    assert rows == [["2024-01-31T08:00:00.500000", "1.00"], [None, "2.00"]]
