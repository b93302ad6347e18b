"""Pairs of small tables that DuckDB makes; most differ in nothing but what is planted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

_ORDERS = """
CREATE TABLE a AS
SELECT i AS id,
    'W' || (1 + i * 7 % 5) AS warehouse,
    CASE WHEN i % 3 = 0 THEN 'ok ' ELSE 'see the notes ' END || (i + i % 2 * 1234) AS note,
    CAST((i * 7919 % 99991 + 137) / 100 AS DECIMAL(12, 2)) AS net,
    CAST(i * 613 % 907 * 60 + 60 AS BIGINT) AS seconds,
    TIMESTAMP '2024-01-01' + to_seconds(i * 2749177 % 30000000) AS placed,
    CAST(placed AS DATE) + CAST(i * 31 % 11 AS INTEGER) AS booked,
    'Q' || QUARTER(placed) AS quarter,
    CASE WHEN i % 7 = 0 THEN NULL ELSE 'x' END AS ended
FROM RANGE(1, 601) AS numbers (i)
"""


@dataclass(frozen=True)
class Small:
    """A table b, which has the rows of a with a change.

    Attributes:
        changed: The columns of b that are not those of a, as SQL.
        where: Which rows b has.
        options: Those that are named.
        facts: What is said to go together with the differences: subject, column, value.
        again: Which rows b has once more.
    """

    changed: str = ""
    where: str = "TRUE"
    options: tuple[str, ...] = ()
    facts: tuple[tuple[str, str, str], ...] = ()
    again: str = "FALSE"


def within(test: str, value: str) -> str:
    """A value of the rows for which a test holds; the others keep theirs."""
    cell, _, name = value.rpartition(" AS ")
    return f"CASE WHEN {test} THEN {cell} ELSE {name} END AS {name}"


def money(expression: str) -> str:
    return f"CAST({expression} AS DECIMAL(12, 2)) AS net"


_TYPO = "CASE WHEN id % 3 = 0 THEN note || 'q' ELSE left(note, 15) || 'q' || substr(note, 16) END"
_SINCE, _MARCH = "booked >= DATE '2024-09-01'", "booked BETWEEN '2024-03-01' AND '2024-03-31'"
SMALL = {
    "typing errors": Small(within("id % 26 = 0", f"{_TYPO} AS note")),
    "full stops": Small("note || '.' AS note"),
    "numbers cut to whole ones": Small(money("FLOOR(net)")),
    "divided": Small("CAST(net / 8 AS DECIMAL(18, 8)) AS net", options=("--rule net:divisor=8",)),
    "minutes of seconds": Small("seconds // 60 AS seconds", options=("--rule seconds:divisor=60",)),
    "euros of marks": Small(
        money("ROUND(net * 0.511291881, 2)"), options=("--rule net:factor=0.511291881196,round=2",)
    ),
    "the first days are missing": Small(
        where="booked >= DATE '2024-03-15'", options=("--where 'booked>2024-03-14'",)
    ),
    "the last days are missing": Small(
        where="booked < DATE '2024-12-05'", options=("--where 'booked<2024-12-05'",)
    ),
    "rows without a value are missing": Small(
        where="ended IS NOT NULL", options=("--where 'ended is not null'",)
    ),
    "since September": Small(
        within(_SINCE, "CAST(net * 0.5 AS DECIMAL(12, 3)) AS net"),
        options=("--where 'booked>=2024-09-01' --where 'booked<=2024-12-19' --rule net:divisor=2",),
    ),
    "in March": Small(
        within(_MARCH, "placed + INTERVAL 1 HOUR AS placed"),
        options=(
            "--where 'booked>=2024-03-01' --where 'booked<=2024-03-31' --rule placed:shift=1h",
        ),
    ),
    "rounded in one warehouse": Small(
        within("warehouse = 'W4'", money("ROUND(net, 1)")),
        options=("--rule net:round=1",),
        facts=(("net", "warehouse", "W4"),),
    ),
    "two warehouses": Small(
        within("warehouse IN ('W2', 'W3')", "CAST(net * 0.5 AS DECIMAL(12, 3)) AS net")
        + ", CASE WHEN id % 140 = 0 THEN seconds + 1 ELSE seconds END AS seconds",
        options=("--where warehouse=W2 --where warehouse=W3 --rule net:divisor=2",),
        facts=(("net", "warehouse", "W2"), ("net", "warehouse", "W3")),
    ),
    "in March, and some others": Small(
        f"CASE WHEN {_MARCH} THEN placed + INTERVAL 1 HOUR"
        " WHEN id % 67 = 0 THEN placed + TO_SECONDS(id * 977 % 90001) ELSE placed END AS placed",
        options=(
            "--where 'booked>=2024-03-01' --where 'booked<=2024-03-31' --rule placed:shift=1h",
        ),
    ),
    "all loaded twice": Small(again="TRUE"),
    "loaded twice": Small(again="warehouse = 'W3'", options=("--where 'warehouse!=W3'",)),
}


def write(small: Small, folder: Path) -> tuple[str, str]:
    """Write both tables; returns their addresses."""
    file = folder / "small.duckdb"
    replaced = f"REPLACE ({small.changed})" if small.changed else ""
    with duckdb.connect(file) as database:
        database.execute(_ORDERS)
        database.execute(f"CREATE TABLE b AS SELECT * {replaced} FROM a WHERE {small.where}")  # noqa: S608
        database.execute(f"INSERT INTO b SELECT * FROM b WHERE {small.again}")  # noqa: S608
    return f"duckdb:///{file}#a", f"duckdb:///{file}#b"
