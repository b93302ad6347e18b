"""What stood in the way when real tables were compared, on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import duckdb
import pytest
from tests.support.postgres import Database

Run = Callable[..., CompletedProcess[str]]

KEYS = """COPY (SELECT
    i + {more} * (i = 3)::INTEGER AS v,
    TIME '10:00:00.123456' + INTERVAL (i) MINUTE AS time,
    ('k' || i)::BLOB AS binary,
    (i / 7)::DECIMAL(38, 10) AS digits,
    (TIMESTAMP '1700-01-01' + INTERVAL (i) DAY)::TIMESTAMP_NS AS nanos,
    TIMESTAMPTZ '2024-01-01' + INTERVAL (i) DAY AS zoned
FROM range(5) AS numbers(i)) TO '{file}'"""


@pytest.mark.parametrize("name", ["time", "binary", "digits", "nanos", "zoned"])
def test_a_key_of_any_type_finds_the_row_that_differs(
    skillian: Run, tmp_path: Path, name: str
) -> None:
    for side, more in (("a", 0), ("b", 1)):
        duckdb.sql(KEYS.format(more=more, file=tmp_path / f"{side}.parquet"))
    done = skillian("compare", "a.parquet", "b.parquet", "--key", name, "--columns", "v")
    assert done.returncode == 1, done.stderr
    assert "1 row differs; 4 rows match in 2 of 6 columns" in done.stdout
    done = skillian("compare", "a.parquet", "b.parquet", "--by", name, "--measure", "v")
    assert done.returncode == 1, done.stderr
    assert "4 of 5 groups match" in done.stdout


def test_instants_of_a_file_equal_those_of_postgres_in_another_zone(
    skillian: Run, tmp_path: Path, postgres_database: Database
) -> None:
    text = "id,at\n1,2024-07-01 10:00:00+02\n2,2024-12-01 10:00:00.5+01\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    postgres_database.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, at TIMESTAMPTZ);"
        "INSERT INTO t VALUES (1, '2024-07-01 08:00:00Z'), (2, '2024-12-01 18:00:00.5+09')"
    )
    done = skillian("compare", "a.csv", f"{postgres_database.url}#t")
    assert done.returncode == 0, done.stdout + done.stderr
    postgres_database.execute("UPDATE t SET at = at + INTERVAL '1 second' WHERE id = 2")
    done = skillian("compare", "a.csv", f"{postgres_database.url}#t")
    assert done.returncode == 1
    assert "1 row differs; 1 row matches." in done.stdout
    done = skillian("compare", "a.csv", f"{postgres_database.url}#t", "--rule", "1s")
    assert done.returncode == 0, done.stdout


def test_rows_with_a_column_that_is_not_compared_are_not_called_equal(
    skillian: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text('id,v,w\n1,NA,3\n2,"1,50",4\n', encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,v,w\n1,1,3\n2,1.5,4\n", encoding="utf-8")
    done = skillian("compare", "a.csv", "b.csv", "--key", "id")
    assert done.returncode == 1
    assert (
        "No row differs: all 2 rows of a.csv and b.csv match in 2 of 3 columns; v was not compared."
        in done.stdout
    )
    assert (
        "a.csv holds 'NA' (line 2), '1,50'; add '?decimal=,&null=NA' to the name or URL of the file"
        " to read them." in done.stdout
    )
    done = skillian("compare", "a.csv?null=NA&decimal=,", "b.csv", "--key", "id")
    assert "1 row differs; 1 row matches." in done.stdout


def test_measures_that_agree_share_one_sentence(skillian: Run, tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(6)]
    for side, first in (("a", "1.5"), ("b", "2.5")):
        text = f"id,{','.join(names)}\n1,{first}{',7.25' * 5}\n"
        (tmp_path / f"{side}.csv").write_text(text, encoding="utf-8")
    measures = [part for name in names for part in ("--measure", name)]
    done = skillian("compare", "a.csv", "b.csv", "--by", "ID", *measures)
    assert done.returncode == 1, done.stderr
    assert "Total m0: 1.5 in a.csv, 2.5 in b.csv." in done.stdout
    assert "The totals of 5 measures are equal, group by group: m1, m2, m3, m4, m5." in done.stdout
    assert "Total m1" not in done.stdout


def test_ranges_and_lists_are_read(skillian: Run, tmp_path: Path) -> None:
    text = "id,part,v\n" + "".join(f"{n},{n % 3},{n}.5\n" for n in range(20))
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    (tmp_path / "b.csv").write_text(text.replace("15.5", "99.5"), encoding="utf-8")
    compare = ("compare", "a.csv", "b.csv", "--measure", "v", "--by", "id,part")
    assert skillian(*compare).returncode == 1
    assert skillian(*compare, "--where", "id>=3", "--where", "id<15").returncode == 0
    assert skillian("compare", "a.csv", "b.csv", "--where", "id!=15").returncode == 0


def test_sources_of_several_databases_are_inferred_at_once(skillian: Run, tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "books.duckdb") as database:
        database.execute(
            "CREATE TABLE batting AS SELECT 'p' || i AS playerID, 1990 + i % 20 AS yearID,"
            " (i * 7) % 160 AS G, (i * 3) % 40 AS HR, (i / 3)::DOUBLE AS average"
            " FROM range(3000) AS numbers(i)"
        )
        (tmp_path / "exports").mkdir()
        database.execute(f"COPY batting TO '{tmp_path / 'exports' / 'batting.parquet'}'")
        database.execute(f"COPY batting TO '{tmp_path / 'exports' / 'batting.csv'}'")
    infer = ("sources", "infer", "duckdb:///books.duckdb", "files:///exports")
    assert skillian(*infer, "--output", "sources.yaml").returncode == 0
    text = (tmp_path / "sources.yaml").read_text(encoding="utf-8")
    assert "default_align_on: [playerID, yearID]" in text
    assert text.count("average: {column: average, aggregation: sum}") == 1
    assert text.count("measures: *") == 2
    done = skillian("compare", "batting", "batting.parquet", "--measure", "HR", "--measure", "G")
    assert done.returncode == 0, done.stderr
