"""What Spark answers, compared with what DuckDB answers, over the same rows."""

from pathlib import Path

import duckdb
from tests.skillian.data.conftest import two_sources
from tests.support.asking import measures_asked
from tests.support.spark_connect import SPARK, spark_tables

from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices

pytestmark = SPARK
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
ALTER TABLE a ADD ratio DOUBLE; ALTER TABLE a ADD single FLOAT;
UPDATE a SET ratio = CASE n WHEN 5 THEN 'nan'::DOUBLE WHEN 7 THEN '-inf' WHEN 8 THEN 'inf'
    ELSE n / 10.0 END, single = n * 1e14 + 0.1;
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
        " documents: {column: document, aggregation: count_distinct},"
        " ratio: {column: ratio, aggregation: sum}, single: {column: single, aggregation: sum}"
    ),
)
_LIMITS = {"match": {"absolute": 0.01}, "minor_diff": {"absolute": 5, "percentage": 10}}


def _services(folder: Path, url: str) -> DataServices:
    path = folder / "sources.yaml"
    path.write_text(two_sources(*_DECLARED, connections=f"c: '{url}'"), encoding="utf-8")
    return DataServices(SourceRegistry.load(path))


async def test_comparisons_are_those_of_duckdb(spark_server: str, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    with duckdb.connect(tmp_path / "ledger.duckdb") as connection:
        connection.execute(_ROWS)
        for table in "ab":
            target = tmp_path / "tables" / f"{table}.parquet"
            connection.execute(f"COPY {table} TO '{target}' (FORMAT parquet)")
    urls = "duckdb:///ledger.duckdb", spark_tables(spark_server, "ledger", tmp_path / "tables")
    one, other = (_services(tmp_path, url) for url in urls)
    async with one, other:
        for measures, align_on, filters in (
            (["amount", "mean", "documents"], ["company", "period"], None),
            (["ratio", "single"], ["company"], None),
            (["ratio"], ["period"], None),
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
            own = ["interpretation"] if "ratio" in measures else []  # which names the types
            for name in ("cache_key", "proof", "schema", *own):
                del expected[name], found[name]
            assert found == expected
            assert isinstance(expected["summary"], dict)
            assert expected["summary"]["groups"]
