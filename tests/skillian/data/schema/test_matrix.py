"""The matrix of types against what real engines hold.

Each shown type of DuckDB, PostgreSQL and MariaDB is filled with values at the edges of all types;
what it gives back unchanged, it holds. A cell of the matrix must agree: a type that is equivalent
or wider holds everything, and one that loses does not. Types of engines that do not run here are
represented by the type of a running engine with the same values, or by a rule in Python.
"""

import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pymysql
import pytest
from tests.skillian.data.schema import type_cases
from tests.skillian.data.schema.type_cases import ENGINES, SHOWN
from tests.skillian.data.schema.types_page import PAGE, page
from tests.support.mysql import Server as MySQLServer
from tests.support.postgres import Server as PostgresServer

from skillian.connectors.mysql.connector import login_of
from skillian.data.schema.engines import FAMILIES, LogicalType
from skillian.data.schema.matrix import MATRIX, relation
from skillian.data.schema.types import parse_type

Values = frozenset[Any]
_NUMBERS = frozenset({"boolean", "integer", "decimal", "float"})
_MOMENTS = frozenset({"date", "timestamp"})
# The pool of values for a family; the others have no values that tell types apart.
_POOLS: Mapping[str, Sequence[Any]] = {
    **dict.fromkeys(_NUMBERS, type_cases.NUMBERS),
    **dict.fromkeys(_MOMENTS, type_cases.MOMENTS),
    "timestamptz": type_cases.MOMENTS,
    "time": type_cases.TIMES,
    "text": type_cases.TEXTS,
    "binary": type_cases.BINARIES,
    "uuid": type_cases.UUIDS,
    "json": type_cases.JSONS,
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
        "write it again: python -m tests.skillian.data.schema.types_page"
    )


def test_every_shown_type_is_known() -> None:
    for engine, texts in SHOWN.items():
        for text in texts:
            assert parse_type(engine, text).family != "other", (engine, text)


@pytest.fixture(scope="module")
def holds(
    postgres_server: PostgresServer, mysql_server: MySQLServer
) -> Iterator[Callable[[str, str, str], Values]]:
    """Which values of a family a type of an engine gives back unchanged."""
    with (
        postgres_server.database() as postgres_database,
        mysql_server.database() as mysql_database,
        duckdb.connect() as duck,
        psycopg.connect(postgres_database.url, autocommit=True) as postgres,
        pymysql.connect(
            **login_of(mysql_database.url, Path.cwd()), autocommit=True, charset="utf8mb4"
        ) as mysql,
    ):
        duck.execute("SET TimeZone = 'UTC'")
        postgres.execute("SET TimeZone = 'UTC'; SET DateStyle = 'ISO'")
        readers: dict[str, Callable[[str, Sequence[Any]], list[Any]]] = {
            "duckdb": lambda text, pool: _in_duckdb(duck, text, pool),
            "postgres": lambda text, pool: _in_postgres(postgres, text, pool),
            "mysql": lambda text, pool: _in_mysql(mysql, text, pool),
        }

        @cache
        def held(engine: str, text: str, family: str) -> Values:
            kind = parse_type(engine, text)
            pool = _POOLS[family]
            real_engine, real_text, fits = _real(engine, text, kind)
            read = readers[real_engine](real_text, pool)
            return frozenset(
                value
                for value, back in zip(pool, read, strict=True)
                if fits(value) and _same(value, back, kind, family)
            )

        yield held


@pytest.mark.parametrize("engine_b", ENGINES)
@pytest.mark.parametrize("engine_a", ENGINES)
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
                    wrong.append(f"{one} to {other}: {claim}; lost {_few(mine - theirs)}")
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
    if not {a.family, b.family} <= _POOLS.keys():
        return False
    how = relation(a, b)
    if how.kind == "differs" or "zone" in how.losses:
        return False
    # No pool has what is not a UUID or JSON; no running engine has texts of any bytes.
    return b.family not in {"uuid", "json"} and "r" not in MATRIX[a.family, b.family]


def _few(values: Values) -> list[str]:
    return [f"{value!r}"[:40] for value in sorted(values, key=repr)][:4]


def _same(value: Any, back: Any, kind: LogicalType, family: str) -> bool:
    if back is None:
        return False
    if kind.family in _NUMBERS:
        back = {"true": "1", "t": "1", "false": "0", "f": "0"}.get(str(back), str(back))
        return _exact(back, kind) == Fraction(value)
    if kind.family in {"timestamp", "timestamptz", "date"}:
        return bool(_moment(back) == _moment(value))
    if kind.family == "time":
        return bool(_fraction(str(back)) == str(value))
    if family == "json":
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


def _in_duckdb(duck: Any, text: str, pool: Sequence[Any]) -> list[Any]:
    read = "x" if text == "BLOB" else "CAST(x AS VARCHAR)"
    if isinstance(pool[0], bytes):
        return [duck.execute("SELECT CAST(? AS BLOB)", [each]).fetchone()[0] for each in pool]
    query = f"SELECT {read} FROM (SELECT TRY_CAST(? AS {text}) AS x)"  # noqa: S608 - our types
    return [duck.execute(query, [each]).fetchone()[0] for each in pool]


def _in_postgres(postgres: Any, text: str, pool: Sequence[Any]) -> list[Any]:
    if text.startswith("enum"):
        postgres.execute("DROP TYPE IF EXISTS letters; CREATE TYPE letters AS ENUM ('x', 'y')")
        text = "letters"
    back: list[Any] = []
    postgres.execute(f"DROP TABLE IF EXISTS held; CREATE TABLE held (x {text})")
    for value in pool:
        answer: Any = None
        with suppress(psycopg.Error):
            # An insert, since a cast would cut what is too long.
            form = "x" if isinstance(value, bytes) else "x::text"
            insert = f"INSERT INTO held VALUES (%s) RETURNING {form}"  # noqa: S608 - ours
            answer = postgres.execute(insert, [value]).fetchone()[0]
        back.append(answer)
    return back


def _in_mysql(mysql: Any, text: str, pool: Sequence[Any]) -> list[Any]:
    back: list[Any] = []
    with mysql.cursor() as cursor:
        cursor.execute("SET SESSION time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES'")
        cursor.execute("DROP TABLE IF EXISTS held")
        cursor.execute(
            f"CREATE TABLE held (n INT AUTO_INCREMENT PRIMARY KEY, x {text})"
            " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        )
        form = "x" if isinstance(pool[0], bytes) else "CAST(x AS CHAR)"
        if text == "float":
            form = "CAST(x + 0E0 AS CHAR)"  # otherwise it writes six digits
        for value in pool:
            answer = None
            with suppress(pymysql.MySQLError):
                cursor.execute("INSERT INTO held (x) VALUES (%s)", [value])
                query = f"SELECT {form} FROM held WHERE n = LAST_INSERT_ID()"  # noqa: S608 - ours
                cursor.execute(query)
                answer = cursor.fetchone()[0]
            back.append(answer)
    return back


def _always(_: Any) -> bool:
    return True


def _between(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: low <= int(value[:4]) <= high


def _whole(bits: int, *, signed: bool) -> Callable[[Any], bool]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    return lambda value: Fraction(value).denominator == 1 and low <= Fraction(value) < high


_SPARK = {
    "int": "INTEGER",
    "string": "VARCHAR",
    "binary": "BLOB",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
}
_SQLITE = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "TEXT": "VARCHAR", "DATETIME": "TIMESTAMP"}
_CLICKHOUSE = {
    "Bool": "BOOLEAN",
    "Float32": "FLOAT",
    "Float64": "DOUBLE",
    "String": "VARCHAR",
    "Enum8('x' = 1, 'y' = 2)": "ENUM('x', 'y')",
}


def _real(engine: str, text: str, kind: LogicalType) -> tuple[str, str, Callable[[Any], bool]]:
    """Return a type of a running engine with the same values, and which of them it holds."""
    if engine in {"duckdb", "postgres", "mysql"}:
        return engine, text, _always
    if engine == "files":
        return "duckdb", text, _always
    if text.lower().startswith(("varchar(", "char(")):
        return "postgres", text, _always
    if engine == "spark":
        return "duckdb", _SPARK.get(text, text), _always
    if engine == "sqlite":
        return (
            ("postgres", "numeric", _always)
            if text == "NUMERIC"
            else ("duckdb", _SQLITE.get(text, text), _always)
        )
    return _of_clickhouse(text, kind)


def _of_clickhouse(text: str, kind: LogicalType) -> tuple[str, str, Callable[[Any], bool]]:
    number = re.fullmatch(r"(U?)Int(\d+)", text)
    if number:
        return "postgres", "numeric", _whole(int(number[2]), signed=not number[1])
    if text.startswith("Decimal"):
        return "postgres", text.replace("Decimal", "numeric"), _always
    if text.startswith("FixedString"):
        return "postgres", "char(10)", _always
    if kind.low is not None and kind.high is not None and text.startswith("Date"):
        # DuckDB's TIMESTAMP_NS begins later.
        wide = {0: "TIMESTAMP_S", 3: "TIMESTAMP_MS", 9: "VARCHAR", None: "DATE"}
        return "duckdb", wide.get(kind.digits, "TIMESTAMP"), _between(kind.low, kind.high)
    return "duckdb", _CLICKHOUSE.get(text, text), _always
