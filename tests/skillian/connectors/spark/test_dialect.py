"""What Spark answers, compared with what DuckDB answers, over the same rows."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.skillian.data.conftest import two_sources
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
_DECLARED = (
    (
        "company: {column: company}, period: {column: period}, day: {column: day},"
        " written: {column: moment, type: text}, number: {column: number, type: integer},"
        """ tidy: {column: company, normalise: [trim, upper, "lpad(6,'0')"]},"""
        ' month: {column: day, type: text, format: "%Y-M%m"}'
    ),
    (
        "amount: {column: amount, aggregation: sum}, mean: {column: amount, aggregation: avg},"
        " low: {column: amount, aggregation: min}, mean_n: {expression: n * 1, aggregation: avg},"
        " documents: {column: document, aggregation: count_distinct}"
    ),
)
_LIMITS = {"match": {"absolute": 0.01}, "minor_diff": {"absolute": 5, "percentage": 10}}


def _services(folder: Path, declared: tuple[str, str], *urls: str, b: str = "b") -> DataServices:
    """Sources over table a of the first database, and b of the last."""
    text = two_sources(
        *declared,
        tables=("connection: c0, table: a", f"connection: c{len(urls) - 1}, table: {b}"),
        connections=", ".join(f"c{index}: '{url}'" for index, url in enumerate(urls)),
    )
    path = folder / "sources.yaml"
    path.write_text(text, encoding="utf-8")
    return DataServices(SourceRegistry.load(path))


async def test_comparisons_are_those_of_duckdb(spark_server: str, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    with duckdb.connect(tmp_path / "ledger.duckdb") as connection:
        connection.execute(_ROWS)
        for table in "ab":
            target = tmp_path / "tables" / f"{table}.parquet"
            connection.execute(f"COPY {table} TO '{target}' (FORMAT parquet)")
    urls = "duckdb:///ledger.duckdb", spark_tables(spark_server, "ledger", tmp_path / "tables")
    one, other = (_services(tmp_path, _DECLARED, url) for url in urls)
    async with one, other:
        for measures, align_on, filters in (
            (["amount", "mean", "documents"], ["company", "period"], None),
            (
                ["low", "mean_n"],
                ["tidy", "number", "month", "written"],
                {"company": ['O\'Hara \\ "q"', None, "A"], "day": {"gte": "2024-01-31"}},
            ),
        ):
            asked = measures_asked("a", "b", measures, align_on, filters, thresholds=_LIMITS)
            expected, found = [
                (await services.comparison.compare(asked)).to_dict() for services in (one, other)
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
_FLOAT_SUMS = (
    *("k: {column: k}", "v: {column: v, aggregation: sum}, w: {column: w, aggregation: sum}"),
)


async def test_floats_are_those_of_duckdb(spark_server: str, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    with duckdb.connect(tmp_path / "floats.duckdb") as connection:
        connection.execute(_FLOAT_ROWS.format(doubles=_DOUBLES, floats=_FLOATS))
        for table in "ab":
            target = tmp_path / "tables" / f"{table}.parquet"
            connection.execute(f"COPY {table} TO '{target}' (FORMAT parquet)")
    url = spark_tables(spark_server, "floats", tmp_path / "tables")
    urls = "duckdb:///floats.duckdb", url
    async with _services(tmp_path, _FLOAT_SUMS, *urls, b="a") as services:
        result = await comparing(services.comparison)("a", "b", ["v", "w"], ["k"])
    assert result.summary.classes.match == result.summary.classes.groups, result.to_dict()
    differences: list[Any] = []
    for each in urls:
        async with _services(tmp_path, _FLOAT_SUMS, each) as services:
            result = await comparing(services.comparison)("a", "b", ["v", "w"], ["k"])
        differences.append([difference.to_dict() for difference in result.top_differences])
    content, other = differences
    assert content == other
    assert [each["reason"] for each in content] == ["infinite_in_a"]
