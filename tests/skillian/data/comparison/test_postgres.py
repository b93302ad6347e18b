"""A source in a DuckDB file and in PostgreSQL, over the same rows: its catalogue and its order."""

from collections.abc import AsyncIterator
from pathlib import Path

import duckdb
import pytest
from tests.support.postgres import Database

from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.errors import QueryError

SCRIPT = """
CREATE TABLE a (company VARCHAR, period INTEGER, code CHAR(6), amount DECIMAL(17, 2), day DATE,
    flag BOOLEAN, moment TIMESTAMP, written VARCHAR);
INSERT INTO a VALUES
    ('1000', 1, 'A', 10.10, '2024-01-31', true, '2024-01-31 10:00:00', '31.1.2024'),
    ('1000', 1, 'A', 0.05, '2024-01-31', true, '2024-01-31 10:00:00.5', '31.01.2024'),
    ('1000 ', 2, 'o''neil', -5, NULL, false, NULL, NULL),
    (NULL, 3, NULL, 7, '2024-02-29', NULL, '0001-01-01 00:00:00', '29.02.2024'),
    ('é', 4, 'é', 999999999999999.99, '2024-03-01', true, NULL, '01.03.2024'),
    ('Zz', 5, 'z', 3.33, '9999-12-31', true, NULL, '01.03.2024'),
    ('aa', 5, 'z', 3.33, '9999-12-31', true, NULL, '01.03.2024'),
    ('x', NULL, 'x', NULL, NULL, NULL, NULL, NULL), ('x', NULL, 'x', 1, NULL, NULL, NULL, NULL);
"""
SOURCE = """
connections: {{c: '{}'}}
sources:
  a:
    connection: c
    table: a
    dimensions:
      company: {{column: company}}
      tidy: {{column: company, normalise: [trim, upper, nfc, "lpad(6,'0')"]}}
      number: {{column: period, type: text}}
      code: {{column: code}}
      day: {{column: day}}
      month: {{column: day, type: text, format: '%Y-Month %b'}}
      flagged: {{column: flag, type: text}}
      second: {{column: moment, type: text}}
      read: {{column: written, type: date, format: '%d.%m.%Y'}}
    measures:
      amount: {{column: amount, aggregation: sum}}
      turned: {{expression: 'CASE WHEN period > 1 THEN -1 * amount END', aggregation: sum}}
      mean: {{column: amount, aggregation: avg}}
      companies: {{column: company, aggregation: count_distinct}}
"""


@pytest.fixture
async def both(tmp_path: Path, postgres_database: Database) -> AsyncIterator[list[DataServices]]:
    script = SCRIPT.rstrip().rstrip(",") + ";"
    with duckdb.connect(tmp_path / "test.duckdb") as connection:
        connection.execute(script)
    postgres_database.execute(script)
    opened: list[DataServices] = []
    for number, url in enumerate(("duckdb:///test.duckdb", postgres_database.url)):
        path = tmp_path / f"{number}.yaml"
        path.write_text(SOURCE.format(url), encoding="utf-8")
        opened.append(DataServices(SourceRegistry.load(path)))
    yield opened
    for services in opened:
        await services.aclose()


async def test_both_databases_answer_in_the_same_order(both: list[DataServices]) -> None:
    measures = ["amount", "turned", "mean", "companies"]
    for order in (None, ["-amount", "company"], ["-company"], ["-day"]):
        local, server = [
            (await services.query.query("a", ["company", "day"], measures, order=order)).rows
            for services in both
        ]
        assert server == local
        assert len(local) == 7


async def test_both_databases_have_the_same_catalogue(both: list[DataServices]) -> None:
    local, server = [
        [source.to_dict() for source in await services.catalogue.sources()] for services in both
    ]
    assert server == local


async def test_a_text_that_is_not_a_date_is_named(
    both: list[DataServices], postgres_database: Database
) -> None:
    postgres_database.execute("UPDATE a SET written = '31.01.2024 or so'")
    with pytest.raises(QueryError, match=r"31\.01\.2024 or so"):
        await both[1].query.query("a", ["read"])


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
