"""What a type of an engine gives back of values: each unchanged, changed, or None."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from json import loads
from pathlib import Path
from typing import Any

import psycopg
import pymysql
from tests.support.clickhouse import Server

from skillian.connectors.sqlite.types import UnfitError, array_of, declared_type

Read = Callable[[str, Sequence[Any]], list[Any]]


def in_duckdb(duck: Any, text: str, pool: Sequence[Any]) -> list[Any]:
    read = "x" if text == "BLOB" else "CAST(x AS VARCHAR)"
    cast = "CAST" if isinstance(pool[0], bytes) else "TRY_CAST"
    query = f"SELECT {read} FROM (SELECT {cast}(? AS {text}) AS x)"  # noqa: S608 - our types
    return [duck.execute(query, [each]).fetchone()[0] for each in pool]


def in_parquet(duck: Any, folder: Path, text: str, pool: Sequence[Any]) -> list[Any]:
    """Return the values after DuckDB wrote them into a Parquet file, and read its own type."""
    path = folder / "held.parquet"
    if isinstance(pool[0], bytes):
        return in_duckdb(duck, text, pool)
    duck.execute(
        f"COPY (SELECT TRY_CAST(x AS {text}) AS x FROM (SELECT UNNEST(?) AS x)) TO '{path}'"  # noqa: S608 - ours
        " (FORMAT parquet)",
        [list(pool)],
    )
    [kind] = duck.execute(f"SELECT typeof(x) FROM '{path}' LIMIT 1").fetchone()  # noqa: S608 - ours
    assert kind == text, f"Parquet gives {text} back as {kind}"
    rows = duck.execute(f"SELECT CAST(x AS VARCHAR) FROM '{path}'").fetchall()  # noqa: S608 - ours
    return [row[0] for row in rows]


def in_sqlite(text: str, pool: Sequence[Any]) -> list[Any]:
    """Return the values that SQLite stores, read by their declaration, as every comparison does."""
    kind = declared_type(text)
    back: list[Any] = []
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE held (x {text})")
        for value in pool:
            connection.execute("DELETE FROM held")
            connection.execute("INSERT INTO held VALUES (?)", [_as_sqlite(value, kind.kind)])
            [stored] = connection.execute("SELECT x FROM held").fetchone()
            answer: Any = None
            with suppress(UnfitError):
                answer = array_of([stored], kind)[0].as_py()
            if isinstance(answer, bool):
                answer = int(answer)
            back.append(answer if isinstance(answer, bytes) or answer is None else str(answer))
    return back


def _as_sqlite(value: Any, kind: str) -> Any:
    """Return a value as it is written into a column of this kind."""
    if kind == "date":
        return value.removesuffix(" 00:00:00")
    return f"{value}+00:00" if kind == "timestamptz" else value


def in_clickhouse(server: Server, text: str, pool: Sequence[Any]) -> list[Any]:
    kind = text if text.startswith(("Array", "Tuple", "Map")) else f"Nullable({text})"
    is_binary = isinstance(pool[0], bytes)
    server.run(f"CREATE OR REPLACE TABLE held (n UInt32, x {kind}) ENGINE = Memory")
    for number, value in enumerate(pool):
        literal = f"unhex('{value.hex()}')" if is_binary else "'" + value.replace("'", "\\'") + "'"
        with suppress(AssertionError):
            server.run(f"INSERT INTO held VALUES ({number}, {literal})")  # noqa: S608 - ours
    form = "hex(x)" if is_binary else "toString(x)"
    lines = server.run(f"SELECT n, {form} FROM held FORMAT JSONCompactEachRow").splitlines()  # noqa: S608
    return _in_order(pool, dict(map(loads, lines)), is_hex=is_binary)


def _in_order(pool: Sequence[Any], back: dict[int, Any], *, is_hex: bool) -> list[Any]:
    found = [back.get(number) for number in range(len(pool))]
    return [bytes.fromhex(each) if is_hex and each is not None else each for each in found]


def in_spark(session: Any, text: str, pool: Sequence[Any]) -> list[Any]:
    if text.startswith(("char", "varchar")):
        return _stored_in_spark(session, text, pool)
    is_binary = isinstance(pool[0], bytes)
    values = [each.hex() if is_binary else each for each in pool]
    frame = session.createDataFrame(list(enumerate(values)), "n int, v string")
    form = "hex(x)" if is_binary else "CAST(x AS STRING)"
    value = "unhex(v)" if is_binary else f"TRY_CAST(v AS {text})"
    rows = frame.selectExpr("n", f"{value} AS x").selectExpr("n", f"{form} AS x").collect()
    return _in_order(pool, {row["n"]: row["x"] for row in rows}, is_hex=is_binary)


def _stored_in_spark(session: Any, text: str, values: Sequence[str]) -> list[Any]:
    """Return the values of a table, since a cast enforces no length.

    They are inserted by length, since each insert takes long: all of one length that is refused,
    and of those that are longer, the longest alone.
    """
    session.sql("DROP TABLE IF EXISTS held").collect()
    session.sql(f"CREATE TABLE held (n INT, x {text}) USING parquet").collect()
    by_length: dict[int, list[tuple[int, str]]] = {}
    for number, value in sorted(enumerate(values), key=lambda each: len(each[1])):
        by_length.setdefault(len(value), []).append((number, value))
    groups = list(by_length.values())
    for group in groups:
        if not _inserted(session, group):
            single = [_inserted(session, [each]) for each in group]
            if not any(single) and not _inserted(session, groups[-1][-1:]):
                break
    back = {row["n"]: row["x"] for row in session.sql("SELECT n, x FROM held").collect()}
    if text.startswith("char"):  # it pads
        back = {number: value and value.rstrip(" ") for number, value in back.items()}
    return _in_order(values, back, is_hex=False)


def _inserted(session: Any, rows: list[tuple[int, str]]) -> bool:
    from pyspark.errors import PySparkException

    try:
        session.createDataFrame(rows, "n int, x string").write.insertInto("held")
    except PySparkException:
        return False
    return True


def in_postgres(postgres: Any, text: str, pool: Sequence[Any]) -> list[Any]:
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


def in_mysql(mysql: Any, text: str, pool: Sequence[Any]) -> list[Any]:
    with mysql.cursor() as cursor:
        cursor.execute("SET SESSION time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES'")
        cursor.execute("DROP TABLE IF EXISTS held")
        cursor.execute(
            f"CREATE TABLE held (n INT, x {text}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        )
        form = "x" if isinstance(pool[0], bytes) else "CAST(x AS CHAR)"
        if text == "float":
            form = "CAST(x + 0E0 AS CHAR)"  # otherwise it writes six digits
        for number, value in enumerate(pool):
            with suppress(pymysql.MySQLError):
                cursor.execute("INSERT INTO held VALUES (%s, %s)", [number, value])
        cursor.execute(f"SELECT n, {form} FROM held")  # noqa: S608 - ours
        return _in_order(pool, dict(cursor.fetchall()), is_hex=False)
