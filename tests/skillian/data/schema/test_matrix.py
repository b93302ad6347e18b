"""The matrix of types against what real engines hold.

Each shown type of DuckDB, Parquet, PostgreSQL, MariaDB, SQLite, Spark and ClickHouse is filled with
values at the edges of all types; what it gives back unchanged, it holds. A cell of the matrix must
agree: a type that is equivalent or wider holds everything, and one that loses does not. SQLite and
the decimals of ClickHouse enforce no declaration; of what they give back, that counts which fits
the declaration.
"""

import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, get_args

import duckdb
import psycopg
import pymysql
import pytest
from tests.skillian.data.schema import held, type_cases
from tests.skillian.data.schema.type_cases import ENGINES, SHOWN
from tests.support.clickhouse import Server, in_clickhouse
from tests.support.mysql import Server as MySQLServer
from tests.support.postgres import Server as PostgresServer
from tests.support.spark_connect import SPARK
from tests.support.types_page import PAGE, page

from skillian.connectors.base import ColumnType, Kind
from skillian.connectors.clickhouse.types import column_type as clickhouse_type
from skillian.connectors.duckdb.statement import column_type as duckdb_type
from skillian.connectors.mysql.connector import MySQLConnector
from skillian.connectors.mysql.types import column_type as mysql_type
from skillian.connectors.spark.rows import column_type as spark_type
from skillian.connectors.sqlite.types import declared_type
from skillian.data.schema.engines import FAMILIES, MATRIX, LogicalType
from skillian.data.schema.types import parse_type, relation
from skillian.data.tables.cells import NotComparableError, family_of
from skillian.data.tables.types import cell_type

Values = frozenset[Any]
_NUMBERS = frozenset({"boolean", "integer", "decimal", "float"})
_MOMENTS = frozenset({"date", "timestamp"})
_POOLS: Mapping[str, Sequence[Any]] = {
    "number": type_cases.NUMBERS,
    "moment": type_cases.MOMENTS,
    "time": type_cases.TIMES,
    "text": type_cases.TEXTS,
    "binary": type_cases.BINARIES,
    "uuid": type_cases.UUIDS,
    "json": type_cases.JSONS,
}
# The pool of values for a family; the others have no values that tell types apart.
_POOL_OF = {
    **dict.fromkeys(_NUMBERS, "number"),
    **dict.fromkeys((*_MOMENTS, "timestamptz"), "moment"),
    **{family: family for family in ("time", "text", "binary", "uuid", "json")},
}
# By convention, though one of them could hold more.
_CONVENTIONS = frozenset({("boolean", "boolean")})


def test_every_pair_of_families_has_a_rule() -> None:
    assert set(MATRIX) == {(a, b) for a in FAMILIES for b in FAMILIES}
    # If values of one family have no form in another, only JSON may have one for them.
    for (a, b), rule in MATRIX.items():
        assert rule != "." or MATRIX[b, a] in {".", "o"}, (a, b)


def test_the_page_shows_the_matrix() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "write it again: python -m tests.support.types_page"
    )


def test_every_shown_type_is_known() -> None:
    for engine, texts in SHOWN.items():
        for text in texts:
            assert parse_type(engine, text).family != "other", (engine, text)


@pytest.fixture(scope="module")
def spark_session(spark_server: str) -> Iterator[Any]:
    from pyspark.sql.connect.session import SparkSession

    builder: Any = SparkSession.builder
    session = builder.remote(spark_server).create()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    yield session
    session.stop()  # otherwise it waits for the server for minutes when the tests end


@pytest.fixture(scope="module")
def holds(
    request: pytest.FixtureRequest,
    postgres_server: PostgresServer,
    mysql_server: MySQLServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str, str, str], Values]]:
    """Which values of a family a type of an engine gives back unchanged."""
    folder = tmp_path_factory.mktemp("held")
    with (
        postgres_server.database() as postgres_database,
        mysql_server.database() as mysql_database,
        duckdb.connect() as duck,
        psycopg.connect(postgres_database.url, autocommit=True) as postgres,
        pymysql.connect(
            **MySQLConnector.login_of("x", mysql_database.url, Path.cwd()),
            autocommit=True,
            charset="utf8mb4",
        ) as mysql,
    ):
        duck.execute("SET TimeZone = 'UTC'")
        postgres.execute("SET TimeZone = 'UTC'; SET DateStyle = 'ISO'")

        def clickhouse(text: str, pool: Sequence[Any]) -> list[Any]:
            port = int(in_clickhouse().split("/")[2].partition(":")[2])
            return held.in_clickhouse(Server(port), text, pool)

        def spark(text: str, pool: Sequence[Any]) -> list[Any]:
            return held.in_spark(request.getfixturevalue("spark_session"), text, pool)

        readers: dict[str, held.Read] = {
            "duckdb": partial(held.in_duckdb, duck),
            "files": partial(held.in_parquet, duck, folder),
            "sqlite": held.in_sqlite,
            "spark": spark,
            "clickhouse": clickhouse,
            "postgres": partial(held.in_postgres, postgres),
            "mysql": partial(held.in_mysql, mysql),
        }

        @cache
        def values(engine: str, text: str, name: str) -> Values:
            kind = parse_type(engine, text)
            pool = _POOLS[name]
            fits = _declared(engine, kind)
            read = readers[engine](text, pool)
            return frozenset(
                value
                for value, back in zip(pool, read, strict=True)
                if fits(value) and _same(value, back, kind, name)
            )

        yield lambda engine, text, family: values(engine, text, _POOL_OF[family])


PAIRS = tuple(
    pytest.param(*pair, marks=SPARK if "spark" in pair else ())
    for pair in product(ENGINES, repeat=2)
)


@pytest.mark.parametrize(("engine_a", "engine_b"), PAIRS)
def test_each_cell_agrees_with_real_values(
    engine_a: str, engine_b: str, holds: Callable[[str, str, str], Values]
) -> None:
    wrong: list[str] = []
    for one in SHOWN[engine_a]:
        for other in SHOWN[engine_b]:
            a, b = parse_type(engine_a, one), parse_type(engine_b, other)
            if _is_checked(a, b):
                mine = holds(engine_a, one, a.family)
                theirs = holds(engine_b, other, a.family)
                assert mine, (engine_a, one)
                claim = relation(a, b).kind
                if claim not in _allowed(mine, theirs, a, b):
                    lost = [f"{value!r}"[:40] for value in mine - theirs][:4]
                    wrong.append(f"{one} to {other}: {claim}; lost {lost}")
    assert not wrong, "\n".join(wrong)


def _allowed(mine: Values, theirs: Values, a: LogicalType, b: LogicalType) -> set[str]:
    """Return what the matrix may say of two types that hold these values."""
    if (a.family, b.family) in _CONVENTIONS:
        return {"equivalent"}
    if not mine <= theirs:
        return {"loses"}
    if a.family == b.family or {a.family, b.family} <= _NUMBERS:
        return {"equivalent"} if mine == theirs else {"widens"}
    # Values of the other family are another pool.
    return {"widens", "equivalent"}


def _is_checked(a: LogicalType, b: LogicalType) -> bool:
    """Whether the values of both types are in a pool, and what is lost is not a zone."""
    if not {a.family, b.family} <= _POOL_OF.keys():
        return False
    how = relation(a, b)
    if how.kind == "differs" or "zone" in how.losses:
        return False
    # No pool has what is not a UUID or JSON; no running engine has texts of any bytes.
    return b.family not in {"uuid", "json"} and "r" not in MATRIX[a.family, b.family]


def _same(value: Any, back: Any, kind: LogicalType, pool: str) -> bool:
    if back is None:
        return False
    if kind.family in _NUMBERS:
        back = {"true": "1", "t": "1", "false": "0", "f": "0"}.get(str(back), str(back))
        return _exact(back, kind) == Fraction(value)
    if kind.family in {"timestamp", "timestamptz", "date"}:
        return bool(_moment(back) == _moment(value))
    if kind.family == "time":
        return bool(_fraction(str(back)) == str(value))
    if pool == "json":
        return bool(json.loads(back) == json.loads(value))
    return bool(back == value)


def _exact(text: str, kind: LogicalType) -> Fraction | None:
    """Return the number that a text of a column means; that of a float is the float itself."""
    with suppress(ValueError, OverflowError):
        if kind.family != "float":
            return Fraction(text)
        number = float(text)
        if kind.digits == 24:
            (number,) = struct.unpack("f", struct.pack("f", number))
        return Fraction(number)
    return None


def _moment(text: object) -> str:
    text = re.sub(r"(\+00(:00)?)$", "", str(text))
    return _fraction(text if " " in text else f"{text} 00:00:00")


def _fraction(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _declared(engine: str, kind: LogicalType) -> Callable[[Any], bool]:
    """Return which values a declaration covers that its engine does not enforce."""
    if engine == "sqlite" and kind.family == "text" and kind.length is not None:
        longest = kind.length
        return lambda value: len(value) <= longest
    if engine not in {"sqlite", "clickhouse"} or kind.family not in {"integer", "decimal"}:
        return lambda _: True
    if kind.family == "integer":
        low, high = kind.low, kind.high
        return lambda value: (
            (low is None or Fraction(value) >= low) and (high is None or Fraction(value) <= high)
        )
    digits, scale = kind.digits, kind.scale or 0
    return lambda value: digits is None or abs(Fraction(value)) < 10 ** (digits - scale)


# Families with a form in a schema whose values a row comparison does not compare, or only in one
# engine.
_NESTED = ("array", "struct", "map")
_NOT_COMPARED = {
    *product(_NESTED, (*_NESTED, "json")),
    *(("bits", "bits"), ("interval", "interval"), ("boolean", "float"), ("binary", "text")),
    *(("time", "timetz"), ("timetz", "timetz"), ("date", "timestamptz")),
}


def test_types_of_different_kinds_have_no_common_form_and_others_have_one() -> None:
    cells = {text: cell_type(duckdb_type(text), "duckdb") for text in SHOWN["duckdb"]}
    wrong: list[str] = []
    for one, other in product(cells, repeat=2):
        a, b = parse_type("duckdb", one), parse_type("duckdb", other)
        try:
            family_of(cells[one], cells[other])
            compared = True
        except NotComparableError:
            compared = False
        kinds = {(a.family, b.family), (b.family, a.family)}
        if compared != (relation(a, b).kind != "differs") and not kinds & _NOT_COMPARED:
            wrong.append(f"{one}, {other}: {compared}")
    assert not wrong, "\n".join(wrong)


READ: Mapping[str, Callable[[str], ColumnType]] = {
    "duckdb": duckdb_type,
    "sqlite": declared_type,
    "clickhouse": clickhouse_type,
    "spark": spark_type,
    "mysql": lambda text: mysql_type(text.partition("(")[0].removesuffix(" unsigned"), text, 0),
}
# SQLite takes any spelling.
_SPELLED = (
    *("unsigned big int", "NCHAR(3)", "DECIMAL(17, 2)", "numeric(5)", "DECIMAL(99, 2)", ""),
    *("double precision", "timestamp with time zone"),
)
# What their values decide, what has too many digits, and what counts as a number.
_OTHERWISE = {
    **dict.fromkeys((("sqlite", "NUMERIC"), ("sqlite", "DECIMAL(99, 2)")), "other"),
    ("mysql", "tinyint(1)"): "integer",
}


@pytest.mark.parametrize("engine", READ)
def test_a_column_is_read_as_its_type(engine: str) -> None:
    for text in (*SHOWN[engine], *(_SPELLED if engine == "sqlite" else ())):
        family = parse_type(engine, text).family
        kind = _OTHERWISE.get((engine, text), family if family in get_args(Kind) else "other")
        assert READ[engine](text).kind == kind, text
