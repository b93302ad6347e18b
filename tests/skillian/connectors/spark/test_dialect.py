"""What Spark answers, compared with what DuckDB answers, over the same rows."""

import shutil
from pathlib import Path

import duckdb
import pytest
from tests.support.asking import comparing, measures_asked
from tests.support.spark_connect import spark_tables

from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices

pytest.importorskip("grpc", reason="Spark Connect is not installed: pip install 'pyspark[connect]'")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17 or later"),
    # Nothing here goes through pandas.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

_ROWS = """
CREATE TABLE a AS SELECT * FROM (VALUES
    ('A', '202401', DATE '2024-01-31', TIMESTAMP '2024-01-31 10:00:00.5', '001', 5, 1.10, 'd1'),
    ('a', '202401', DATE '2024-01-31', TIMESTAMP '2024-01-31 10:00:00', '1', 6, -1.10, 'D1'),
    ('A ', '202401', NULL, NULL, '-7', NULL, 9999999999999990.99, 'd1 '),
    (NULL, '202402', DATE '2024-02-29', NULL, NULL, 1, NULL, NULL),
    (NULL, NULL, DATE '2024-02-29', NULL, NULL, 2, 3.33, 'é'),
    ('ß😀日', 'x', DATE '2024-02-29', NULL, '12', 7, -3.33, 'e'),
    ('O''Hara \\ "q"', 'x', DATE '2024-02-29', NULL, '12', 7, 3.33, 'e'),
    ('  7 ', 'x', DATE '2024-02-29', NULL, '12', 8, 2.50, 'e')
) AS t (company, period, day, moment, number, n, amount, document);
ALTER TABLE a ALTER amount TYPE DECIMAL(18, 2);
CREATE TABLE b AS SELECT * REPLACE (CAST(amount + n / 100 AS DECIMAL(18, 2)) AS amount)
FROM a WHERE company IS DISTINCT FROM 'a' UNION ALL SELECT * FROM a WHERE n = 8;
"""
_SOURCE = """
    connection: db
    table: {table}
    dimensions:
      company: {{column: company}}
      period: {{column: period}}
      day: {{column: day}}
      written: {{column: moment, type: text}}
      tidy: {{column: company, normalise: [trim, upper, "lpad(6,'0')"]}}
      number: {{column: number, type: integer}}
      month: {{column: day, type: text, format: "%Y-M%m"}}
    measures:
      amount: {{column: amount, aggregation: sum}}
      mean: {{column: amount, aggregation: avg}}
      low: {{column: amount, aggregation: min}}
      documents: {{column: document, aggregation: count_distinct}}
      mean_n: {{expression: "n * 1", aggregation: avg}}
"""
_SOURCES = """
connections: {{db: "{url}"}}
sources:
  a:{a}
  b:{b}
comparison:
  thresholds: {{match: {{absolute: 0.01}}, minor_diff: {{absolute: 5, percentage: 10}}}}
"""


def _services(folder: Path, url: str) -> DataServices:
    path = folder / f"{url.partition(':')[0]}.yaml"
    a, b = (_SOURCE.format(table=table) for table in "ab")
    path.write_text(_SOURCES.format(url=url, a=a, b=b), encoding="utf-8")
    return DataServices(SourceRegistry.load(path))


async def test_comparisons_are_those_of_duckdb(spark_server: str, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    with duckdb.connect(tmp_path / "ledger.duckdb") as connection:
        connection.execute(_ROWS)
        for table in "ab":
            target = tmp_path / "tables" / f"{table}.parquet"
            connection.execute(f"COPY {table} TO '{target}' (FORMAT parquet)")
    urls = "duckdb:///ledger.duckdb", spark_tables(spark_server, "ledger", tmp_path / "tables")
    async with _services(tmp_path, urls[0]) as one, _services(tmp_path, urls[1]) as other:
        for measures, align_on, filters in (
            (["amount", "mean", "documents"], ["company", "period"], None),
            (
                ["low", "mean_n"],
                ["tidy", "number", "month", "written"],
                {"company": ['O\'Hara \\ "q"', None, "A"], "day": {"gte": "2024-01-31"}},
            ),
        ):
            expected, found = [
                (
                    await services.comparison.compare(
                        measures_asked("a", "b", measures, align_on, filters)
                    )
                ).to_dict()
                for services in (one, other)
            ]
            for result in (expected, found):
                for own in ("cache_key", "proof", "schema"):
                    del result[own]
            assert found == expected
            assert isinstance(expected["summary"], dict)
            assert expected["summary"]["groups"]


# Of these Java before version 19 prints some with superfluous digits, or not the nearest decimal,
# and DuckDB prints 429870.125 for the float that is 429870.12.
_DOUBLES = "0.1, 5.684341886080802e-14, 1e-7, 123456789.5, -0.0, 2e-3, 1e8, 0.5"
_FLOATS = "0.1, 3.438498e14, 9.75594506420224e14, 1.5, 16777216, -2e-3, 3.25, 429870.125"
_FLOAT_ROWS = """
CREATE TABLE a AS SELECT * FROM (
    SELECT 'k' || i AS k, v, w FROM (
        SELECT UNNEST(range(8)) AS i, UNNEST([{doubles}]::DOUBLE[]) AS v,
        UNNEST([{floats}]::FLOAT[]) AS w)
    UNION ALL SELECT * FROM (VALUES ('n', 'nan'::DOUBLE, 'nan'::FLOAT), ('n', 1, 1),
        ('h', 'inf', '-inf'), ('both', 'inf', 1), ('both', '-inf', 1), ('none', NULL, NULL)));
CREATE TABLE b AS FROM a WHERE k <> 'h' UNION ALL SELECT 'h', 1, '-inf'::FLOAT;
"""
_FLOAT_SOURCE = (
    "{{connection: {0}, table: {1}, dimensions: {{k: {{column: k}}}}, measures:"
    " {{v: {{column: v, aggregation: sum}}, w: {{column: w, aggregation: sum}}}}}}"
)


async def test_floats_are_those_of_duckdb(spark_server: str, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    with duckdb.connect(tmp_path / "floats.duckdb") as connection:
        connection.execute(_FLOAT_ROWS.format(doubles=_DOUBLES, floats=_FLOATS))
        for table in "ab":
            target = tmp_path / "tables" / f"{table}.parquet"
            connection.execute(f"COPY {table} TO '{target}' (FORMAT parquet)")
    url = spark_tables(spark_server, "floats", tmp_path / "tables")
    text = f"connections: {{d: 'duckdb:///floats.duckdb', s: '{url}'}}\nsources:\n"
    for place in "ds":
        for table in "ab":
            text += f"  {place}{table}: {_FLOAT_SOURCE.format(place, table)}\n"
    (tmp_path / "sources.yaml").write_text(text, encoding="utf-8")
    async with DataServices(SourceRegistry.load(tmp_path / "sources.yaml")) as services:
        compare = comparing(services.comparison)
        result = await compare("da", "sa", ["v", "w"], ["k"])
        assert result.summary.classes.match == result.summary.classes.groups, result.to_dict()
        own = [await compare(f"{place}a", f"{place}b", ["v", "w"], ["k"]) for place in "ds"]
    content, other = ([each.to_dict() for each in one.top_differences] for one in own)
    assert content == other
    assert [each["reason"] for each in content] == ["infinite_in_a"]
