import gzip
import sqlite3
from contextlib import closing
from functools import partial
from itertools import product
from pathlib import Path

import duckdb
import pytest

from skillian.connectors.base import ColumnType
from skillian.data.declare.definitions import Dimension, Measure
from skillian.data.declare.infer import ColumnSample, Inferred, infer_sources, role_of
from skillian.data.declare.names import months, synonyms
from skillian.data.declare.sources import SourceRegistry, connection_name, read_definitions
from skillian.data.declare.sources_yaml import secret_variable, written
from skillian.data.named import measured_source
from skillian.data.query.relation import bare_tables
from skillian.data.services import DataServices
from skillian.errors import InvalidInputError


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    with duckdb.connect(tmp_path / "Ledger 2024.duckdb") as database:
        database.execute(
            'CREATE TABLE fi ("no" VARCHAR, BUKRS INTEGER, MENGE INTEGER, HSL DECIMAL(17,2),'
            ' "a: b, #c" DOUBLE, posted DATE, extra STRUCT(a INTEGER));'
            "INSERT INTO fi SELECT 'd' || range, 1000 + range % 3, range % 77, range, 0.5,"
            " DATE '2024-01-31', NULL FROM range(100);"
            "CREATE TABLE names (company VARCHAR, posted DATE);"
            "CREATE TABLE only_numbers (amount DECIMAL(17,2));"
            "CREATE SCHEMA old; CREATE TABLE old.fi (company VARCHAR, amount DECIMAL(9,2))"
        )
    return "duckdb:///Ledger 2024.duckdb"


async def test_tables_become_sources(ledger: str, tmp_path: Path) -> None:
    sources = await infer_sources(ledger, tmp_path)
    assert sources.connection == "ledger_2024"
    assert [source.name for source in sources.sources] == ["fi", "names", "fi_2"]
    first, names, other = (source.definition for source in sources.sources)
    assert list(first.dimensions) == ["no", "BUKRS", "posted", "posted_month"]
    assert list(first.measures) == ["MENGE", "HSL", "a: b, #c", "rows"]
    assert first.measures["a: b, #c"].column == "a: b, #c"
    assert sources.sources[0].remarks == (
        "BUKRS: check: read as a key, since its values repeat",
        "MENGE: check: read as an amount, since other columns are a key",
        "extra: left out: extra is STRUCT(a INTEGER)",
    )
    assert names.measures == {"rows": Measure(expression="1", aggregation="count")}
    assert (first.table, other.table) == ("fi", "old.fi")
    assert sources.omitted == {"main.only_numbers": "no column of it can be a dimension"}
    assert sources.align_on == ("posted", "company")


async def test_names_of_any_kind_survive_being_written(tmp_path: Path) -> None:
    columns = ["yes", "null", "2024", "a: b", "#x", "{y}", "- z", "'", '"', "ü\u0301", "[", "&a"]
    with duckdb.connect(tmp_path / "a.duckdb") as database:
        quoted = ", ".join('"{}" VARCHAR'.format(name.replace('"', '""')) for name in columns)
        database.execute(f'CREATE TABLE "on" ({quoted}, "*" DECIMAL(9,2))')
    url = "duckdb:///a.duckdb"
    text = written([(await infer_sources(url, tmp_path), url)])
    source = read_definitions(text, "sources.yaml").sources["on"]
    assert [dimension.column for dimension in source.dimensions.values()] == columns
    assert list(source.measures) == ["*", "rows"]


async def test_a_table_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text("company,amount\n001,1.5\n")
    (tmp_path / "bad.csv").write_text("company,amount\n001\n")
    sources = await infer_sources("files:///.", tmp_path)
    [good] = sources.sources
    assert (good.name, good.definition.table) == ("good", "good.csv")
    assert "line 2" in sources.omitted["main.bad.csv"]


@pytest.mark.parametrize("other", ["INT", "TEXT"])
async def test_a_column_that_cannot_be_read_is_left_out(tmp_path: Path, other: str) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.executescript(
            f"CREATE TABLE t (id {other}, n INT, d DATE, v DECIMAL(9, 2), b BLOB);"  # noqa: S608 - ours
            "INSERT INTO t VALUES (1, 'x', '02.01.2024', 'y', x'00')"
        )
    [source] = (await infer_sources("sqlite:///a.db", tmp_path)).sources
    assert {*source.definition.dimensions, *source.definition.measures} == {"id", "rows"}
    left_out = {remark.partition(": left out")[0] for remark in source.remarks}
    assert left_out == {"n", "d", "v", "b"}


NAMES = {
    "duckdb:///data/My Ledger.duckdb": "my_ledger",
    "postgresql://user:secret@host:5432/dwh?sslmode=require": "dwh",
    "postgresql://user:secret@host": "data",
    "files:///..": "data",
    "postgresql://[broken": "data",
}


def test_a_connection_is_named_by_what_it_leads_to() -> None:
    assert {url: connection_name(url) for url in NAMES} == NAMES


INTEGER = ColumnType("integer", "BIGINT")
KEYS = ("company_id", "CompanyNo", "cost_centre", "YEAR")
AMOUNTS = ("documentCount", "account_balance", "QTY", "UnitsOnOrder", "NumberOfItems")


@pytest.mark.parametrize("name", [*KEYS, *AMOUNTS])
def test_the_last_telling_word_of_a_name_decides_on_whole_numbers(name: str) -> None:
    wide = ColumnType("decimal", "DECIMAL(38,0)")
    samples = [ColumnSample(*each) for each in ((100, 100), (100, 1), (0, 0))]
    for kind, sample in product((INTEGER, wide), samples):
        role = role_of(name, kind, sample, "duckdb")
        assert isinstance(role.definition, Dimension) is (name in KEYS)
        assert role.remark == ""


def test_otherwise_the_values_decide() -> None:
    for values, is_key in ((100, True), (5, True), (60, False)):
        role = role_of("BUKRS", INTEGER, ColumnSample(100, values), "duckdb")
        assert isinstance(role.definition, Dimension) is is_key
        assert role.remark.startswith("check: ")


NUMERIC, DOUBLE = ColumnType("other", "NUMERIC"), ColumnType("float", "DOUBLE")
CASTS = (
    (NUMERIC, "postgres", 'CAST("a ""b""" AS DECIMAL(18, 2))'),
    (NUMERIC, "mysql", 'CAST(`a "b"` AS DECIMAL(18, 2))'),
    (DOUBLE, "mysql", 'CAST(`a "b"` AS DECIMAL(18, 2))'),
)


def test_what_is_not_exact_is_cast() -> None:
    for kind, dialect, cast in CASTS:
        role = role_of('a "b"', kind, ColumnSample(0, 0), dialect)
        assert role.definition == Measure(expression=cast, aggregation="sum")
        assert role.remark.startswith("check: ")
    for dialect in ("clickhouse", "duckdb", "postgres", "spark"):  # they print a float so
        role = role_of("x", DOUBLE, ColumnSample(0, 0), dialect)
        assert (role.definition, role.remark) == (Measure(column="x", aggregation="sum"), "")


async def test_statistics_are_amounts_and_keys_keys(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "b.duckdb") as database:
        database.execute(
            "CREATE TABLE batting AS SELECT 'p' || (range // 4) AS playerID,"
            " 1990 + range // 2 % 2 AS yearID, 1 + range % 2 AS stint, range % 7 AS G,"
            " range % 3 AS HR, range % 5 AS SO FROM range(400);"
            "CREATE TABLE lineitem AS SELECT range // 4 AS l_orderkey, range % 4 AS l_linenumber,"
            " range % 50 AS l_quantity, 7000 + range % 90 AS l_partkey FROM range(400)"
        )
    inferred = await infer_sources("duckdb:///b.duckdb", tmp_path)
    batting, lineitem = (source.definition for source in inferred.sources)
    assert list(batting.dimensions) == ["playerID", "yearID", "stint"]
    assert list(batting.measures) == ["G", "HR", "SO", "rows"]
    assert list(lineitem.dimensions) == ["l_orderkey", "l_linenumber", "l_partkey"]
    assert list(lineitem.measures) == ["l_quantity", "rows"]
    assert inferred.align_on == ()


def test_columns_are_also_called_what_people_call_them() -> None:
    columns = "Id EmpId ShipCountry BillCity ShipCity OrderDate UnitsInStock Währung qtr"
    known = {"Id": "orders", "EmpId": "employee", "ShipCountry": "country", "qtr": "quarter"}
    assert synonyms(columns.split(), "orders") == {name: (each,) for name, each in known.items()}
    assert months({"city": "text", "day": "date"}) == {"day": "month"}
    dates = {"OrderDate": "date", "shipped_at": "timestamp"}
    assert months(dates) == {"OrderDate": "order month", "shipped_at": "shipped month"}
    assert months({**dates, "fiscal_month": "integer"}) == {}


EXPORTS = {
    "flights.csv": "flight,carrier,delay,seats\n15,AA,3,NA\n15,UA,NA,180\n161,AA,-2,180\n",
    "staff.csv.gz": "name,city\nAnn,Oslo\n,Rome\n",
    "monthly.csv": "month,hired\n2024-01-01,310\n2024-02-01,95\n2024-03-01,1204\n",
}


async def test_files_of_other_programs_are_sources_of_their_names(tmp_path: Path) -> None:
    for name, content in EXPORTS.items():
        packed = gzip.compress(content.encode()) if name.endswith(".gz") else content.encode()
        (tmp_path / name).write_bytes(packed)
    inferred = await infer_sources("files:///.", tmp_path)
    flights, monthly = inferred.sources[:2]
    assert [each.name for each in inferred.sources] == ["flights", "monthly", "staff"]
    assert list(flights.definition.dimensions) == ["flight", "carrier", "delay", "seats"]
    assert flights.remarks == (
        "flight: check: read as a key, since its name is the table's",
        "delay: check: 'NA' makes it a text; if it stands for no value, add ?null=NA to the URL",
        "seats: check: 'NA' makes it a text; if it stands for no value, add ?null=NA to the URL",
    )
    assert list(monthly.definition.measures) == ["hired", "rows"]
    text = written([(inferred, "files:///.")])
    registry = SourceRegistry(read_definitions(text, "sources.yaml"), tmp_path)
    async with DataServices(registry) as services:
        counted = await services.query.query("staff", [], ["rows"])
    assert counted.rows == ((2,),)  # one of which has no name


@pytest.mark.parametrize(
    ("url", "variable"),
    [
        ("duckdb:////srv/a?b:c@d.duckdb", None),
        ("files:///data", None),
        ("postgresql://reader@host/dwh", None),
        ("postgresql://reader:${PASSWORD}@host/dwh", None),
        ("postgresql://reader:secret@host/dwh", "DWH_URL"),
        ("postgresql://host/dwh?password=secret", "DWH_URL"),
        ("postgresql://a:secret@${HOST}/dwh", "DWH_URL"),
        ("postgresql://[broken:secret", "DWH_URL"),
        ("sc://host/;use_ssl=true;token=secret;database=shop", "DWH_URL"),
        ("sc://host:15002/;x-key=secret", "DWH_URL"),
        ("sc://host/;token=${TOKEN};database=shop;use_ssl=true", None),
    ],
)
def test_a_url_with_a_secret_is_never_written(url: str, variable: str | None) -> None:
    assert secret_variable("dwh", url) == variable
    assert secret_variable("2024 größe", url) == (variable and "DB_2024_GR__E_URL")
    assert "secret" not in connection_name(url)
    text = written([(Inferred("dwh", (), {}, ()), url)])
    assert ("secret" in text) is False
    assert (url if variable is None else f"dwh: ${{{variable}}}") in text


async def test_a_file_that_cannot_be_compared_is_reported(tmp_path: Path) -> None:
    as_source = partial(measured_source, measures=(), dimensions=["company"])
    path = tmp_path / "a.csv"
    no_sum = "no column to sum; its columns: company, name"
    contents = {"company,name\n001,x\n": no_sum, "amount\n1.5\n": "no column to align on"}
    for content, message in contents.items():
        path.write_text(content)
        with pytest.raises(InvalidInputError, match=message):
            await bare_tables([str(path)], None, as_source)
