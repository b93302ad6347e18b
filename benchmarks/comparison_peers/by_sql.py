"""The floors: DuckDB reads both inputs once; PostgreSQL compares by statements made for the case.

At row grain there are two such statements. One compares the rows as they are and lists the
documents that occur more than once beside it, which needs to know that the document is nearly the
key; the other aggregates each side and joins them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import psycopg

Found = dict[str, Any]
Go = Callable[[], Callable[[], Found]]

KEYS = "company, period, account, doc"
STATUSES = ("match", "minor_diff", "major_diff", "missing_in_a", "missing_in_b")
# A maximum of each column that a comparison at row grain reads, so that every value is looked at.
SCAN = """
SELECT max(company), max(period), max(account), max(doc), max(amount)
FROM (FROM {a} UNION ALL FROM {b})
"""
# What no comparison can do without: the groups of both inputs. Nothing is reported about them.
GROUPS = f"""
SELECT max(rows_a), max(rows_b), max(a), max(b) FROM (
    SELECT
        {KEYS}, count(in_a) AS rows_a, count(in_b) AS rows_b, sum(a) AS a, sum(b) AS b
    FROM (
        SELECT {KEYS}, 1 AS in_a, NULL AS in_b, amount AS a, NULL AS b FROM {{a}}
        UNION ALL
        SELECT {KEYS}, NULL, 1, NULL, amount FROM {{b}}
    ) GROUP BY {KEYS}
)
"""  # noqa: S608 - names of our own
# `sides` has the keys, rows_a, rows_b, a and b. All of it is wanted again for the largest ten.
OUTCOME = """
, rated AS MATERIALIZED (
    SELECT {keys}, rows_a, rows_b, coalesce(b, 0) - coalesce(a, 0) AS gap FROM sides
)
SELECT
    count(*) FILTER (WHERE rows_a > 0 AND rows_b > 0 AND gap = 0),
    count(*) FILTER (WHERE rows_a > 0 AND rows_b > 0 AND gap <> 0 AND abs(gap) <= 0.05),
    count(*) FILTER (WHERE rows_a > 0 AND rows_b > 0 AND abs(gap) > 0.05),
    count(*) FILTER (WHERE rows_a = 0), count(*) FILTER (WHERE rows_b = 0),
    sum(gap)::text, sum(abs(gap))::text,
    (SELECT array_agg(t::text) FROM (
        SELECT * FROM rated WHERE gap <> 0 ORDER BY abs(gap) DESC, {keys} LIMIT 10
    ) AS t)
FROM rated
"""
GROUPED = """
WITH of_a AS (SELECT {keys}, count(*) AS n, sum(amount) AS a FROM a GROUP BY {keys}),
of_b AS (SELECT {keys}, count(*) AS n, sum(amount) AS b FROM b GROUP BY {keys}),
sides AS (
    SELECT {keys}, coalesce(of_a.n, 0) AS rows_a, coalesce(of_b.n, 0) AS rows_b, a, b
    FROM of_a FULL JOIN of_b USING ({keys})
)
"""
# Documents that occur more than once are aggregated; of all others only differences go on.
DIRECT = f"""
WITH several AS (
    SELECT {KEYS}, 1 AS in_a, NULL::int AS in_b, amount AS a, NULL::numeric AS b FROM a
    WHERE doc = ANY(%(repeated)s::bigint[])
    UNION ALL
    SELECT {KEYS}, NULL, 1, NULL, amount FROM b WHERE doc = ANY(%(repeated)s::bigint[])
),
sides AS (
    SELECT {KEYS}, (a.amount IS NOT NULL)::int AS rows_a, (b.amount IS NOT NULL)::int AS rows_b,
        a.amount AS a, b.amount AS b
    FROM (SELECT * FROM a WHERE doc <> ALL(%(repeated)s::bigint[])) AS a
    FULL JOIN (SELECT * FROM b WHERE doc <> ALL(%(repeated)s::bigint[])) AS b USING ({KEYS})
    WHERE a.amount IS DISTINCT FROM b.amount
    UNION ALL
    SELECT {KEYS}, count(in_a), count(in_b), sum(a), sum(b) FROM several GROUP BY {KEYS}
)
"""  # noqa: S608 - names of our own
REPEATED = """
SELECT count(*), coalesce(array_agg(doc) FILTER (WHERE n > 1), '{{}}')
FROM (SELECT doc, count(*) AS n FROM {} GROUP BY doc) AS documents
"""


def in_duckdb(statement: str, kind: str, folder: str) -> Go:
    """Run a statement that finds nothing over both inputs, tables or Parquet files."""
    connection = duckdb.connect(
        Path(folder) / "ledgers.duckdb", read_only=True, config={"memory_limit": "2GB"}
    )
    connection.execute(f"SET temp_directory = '{folder}'")
    inputs = {side: side if kind == "duckdb" else f"'{folder}/{side}.parquet'" for side in "ab"}

    def go() -> Callable[[], Found]:
        connection.execute(statement.format_map(inputs)).fetchall()
        return dict

    return go


def grouped(keys: str, url: str) -> Go:
    """Aggregate both sides and join them."""
    connection = psycopg.connect(url, autocommit=True)
    statement = (GROUPED + OUTCOME).format(keys=keys)

    def go() -> Callable[[], Found]:
        row = connection.execute(statement.encode()).fetchone()
        return lambda: _found(row)

    return go


def direct(url: str) -> Go:
    """Look for repeated documents in the index, then join the rows as they are."""
    connection = psycopg.connect(url, autocommit=True)
    statement = DIRECT + OUTCOME.format(keys=KEYS)

    def ask(query: str, **values: object) -> Any:
        return connection.execute(query.encode(), values or None).fetchone()

    def go() -> Callable[[], Found]:
        documents, repeated = ask(REPEATED.format("a"))
        _, more = ask(REPEATED.format("b"))
        found = _found(ask(statement, repeated=[*repeated, *more]))
        # What differs is all that was joined; the others of a's documents are matches.
        matches = documents - sum(found[each] for each in STATUSES if each != "missing_in_a")
        found["match"] += matches
        return lambda: found

    return go


def _found(row: Any) -> Found:
    return {
        **dict(zip(STATUSES, row[:5], strict=True)),
        "net": row[5],
        "gross": row[6],
    }


def _in_duckdb(statement: str, kind: str) -> Callable[[str, str], Go]:
    return lambda folder, _url: in_duckdb(statement, kind, folder)


CASES = {
    **{kind: _in_duckdb(SCAN, kind) for kind in ("duckdb", "parquet")},
    **{f"{kind} grouped": _in_duckdb(GROUPS, kind) for kind in ("duckdb", "parquet")},
    "postgres aggregated": lambda _folder, url: grouped("company, period", url),
    "postgres rows": lambda _folder, url: grouped(KEYS, url),
    "postgres rows, repeated apart": lambda _folder, url: direct(url),
}
