"""Causes that are planted are found and proved, and nothing is named without one.

Pairs of small tables that DuckDB makes; most differ in nothing but what is planted.
"""

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from tests.skillian.data.tables.comparing import engine_over

_ORDERS = """
CREATE TABLE a AS
SELECT i AS id,
    'W' || (1 + i * 7 % 5) AS warehouse,
    CASE WHEN i % 3 = 0 THEN 'ok ' ELSE 'see the notes ' END || (i + i % 2 * 1234) AS note,
    CAST((i * 7919 % 99991 + 137) / 100 AS DECIMAL(12, 2)) AS net,
    CAST(i * 613 % 907 * 60 + 60 AS BIGINT) AS seconds,
    TIMESTAMP '2024-01-01' + to_milliseconds(i * 2749177123 % 30000000000) AS placed,
    CAST(placed AS DATE) + CAST(i * 31 % 11 AS INTEGER) AS booked,
    'Q' || QUARTER(placed) AS quarter,
    CAST((i * 3571 % 9973 + 11) / 100 AS DECIMAL(12, 2)) AS tax,
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.1, 1.1, 1.1, 2.0][1 + i * 7 % 10] AS version,
    CASE WHEN i % 7 = 0 THEN NULL ELSE 'x' || i % 50 END AS ended
FROM RANGE(1, 601) AS numbers (i)
"""
# In some rows another cell, no counterpart, or the same row again.
_NOISE = """
UPDATE b SET net = net + id WHERE id % 97 = 3; UPDATE b SET ended = NULL WHERE id % 89 = 8;
DELETE FROM a WHERE id = 200; INSERT INTO a SELECT * FROM a WHERE id < 3;
DELETE FROM b WHERE id = 300; INSERT INTO b SELECT * FROM b WHERE id < 3
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
        noisy: Whether some rows differ in other ways, too.
        turned: Whether b is compared with a.
    """

    changed: str = ""
    where: str = "TRUE"
    options: tuple[str, ...] = ()
    facts: tuple[tuple[str, str, str], ...] = ()
    again: str = "FALSE"
    noisy: bool = False
    turned: bool = False


def within(test: str, value: str) -> str:
    """A value of the rows for which a test holds; the others keep theirs."""
    cell, _, name = value.rpartition(" AS ")
    return f"CASE WHEN {test} THEN {cell} ELSE {name} END AS {name}"


_TYPO = "CASE WHEN id % 3 = 0 THEN note || 'q' ELSE left(note, 15) || 'q' || substr(note, 16) END"
_SWAPPED = "--map net=tax --map tax=net"
_RATES = {"W2": "1.17", "W3": "1.05", "W1": "0.92"}
_CONVERTED = " ".join(f"WHEN '{w}' THEN ROUND(net * {rate}, 2)" for w, rate in _RATES.items())
_SINCE, _MARCH = "booked >= DATE '2024-09-01'", "booked BETWEEN '2024-03-01' AND '2024-03-31'"
SMALL = {
    "typing errors": Small(within("id % 26 = 0", f"{_TYPO} AS note")),
    "divided": Small("CAST(net / 8 AS DECIMAL(18, 8)) AS net", options=("--rule net:divisor=8",)),
    "the last days are missing": Small(
        where="booked < DATE '2024-12-05'", options=("--where 'booked<2024-12-05'",)
    ),
    "since September": Small(
        within(_SINCE, "CAST(net * 0.5 AS DECIMAL(12, 3)) AS net"),
        options=("--where 'booked>=2024-09-01' --where 'booked<=2024-12-19' --rule net:divisor=2",),
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
    "loaded twice": Small(again="warehouse = 'W3'", options=("--where 'warehouse!=W3'",)),
    "much is loaded twice, and no row matches": Small(
        "-net AS net",
        again="warehouse IN ('W2', 'W3')",
        options=("--where 'warehouse!=W2' --where 'warehouse!=W3'", "--rule net:factor=-1"),
    ),
    "net of gross": Small(
        "CAST(ROUND(net / 1.19, 2) AS DECIMAL(12, 2)) AS net",
        options=("--rule net:factor=0.840336134454,round=2",),
        noisy=True,
    ),
    "local time": Small(
        "placed AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/London' AS placed",
        options=("--rule placed:zone-b=Europe/London",),
        noisy=True,
    ),
    "more than milliseconds": Small(
        "placed + to_microseconds(id * 7919 % 999 + 1) AS placed",
        options=("--rule placed:precision=millisecond",),
    ),
    "blanks and case": Small(
        "CASE WHEN id % 2 = 0 THEN UPPER(note) ELSE note END"
        " || CASE WHEN id % 5 < 3 THEN ' ' ELSE '' END AS note",
        options=("--rule note:trim,ignore-case",),
        noisy=True,
    ),
    "one warehouse is missing": Small(
        where="warehouse <> 'W5'",
        options=("--where 'warehouse!=W5'",),
        facts=(("only in a", "warehouse", "W5"),),
        noisy=True,
    ),
    "a rate for each warehouse": Small(
        f"CASE warehouse {_CONVERTED} ELSE net END AS net",
        options=tuple(
            f"--where warehouse={name} --rule net:factor={rate},round=2"
            for name, rate in _RATES.items()
        ),
        noisy=True,
    ),
    "swapped in one warehouse": Small(
        ", ".join(within("warehouse = 'W4'", each) for each in ("tax AS net", "net AS tax")),
        options=(f"--where warehouse=W4 {_SWAPPED}",),
        facts=(("net", "warehouse", "W4"),),
        noisy=True,
    ),
    "Fahrenheit": Small(
        "CAST(net * 1.8 + 32 AS DECIMAL(12, 3)) AS net",
        options=("--rule net:factor=1.8,plus=32",),
        noisy=True,
    ),
    "sign of integers and swapped amounts": Small(
        "-seconds AS seconds, tax AS net, net AS tax",
        options=(_SWAPPED, "--rule seconds:factor=-1"),
        noisy=True,
    ),
    "rows without a value are missing in a": Small(
        where="ended IS NOT NULL", options=("--where 'ended is not null'",), noisy=True, turned=True
    ),
    "rows with a value are missing": Small(
        "CASE WHEN id % 98 = 0 THEN net + id ELSE net END AS net",
        where="ended IS NULL",
        options=("--where 'ended is null'",),
    ),
    "swapped numbers with other scales": Small(
        "CAST(tax AS DECIMAL(18, 4)) AS net, CAST(net AS DECIMAL(14, 3)) AS tax",
        options=(_SWAPPED,),
    ),
    "another calendar": Small(
        "placed + INTERVAL 2000 YEAR AS placed", options=("--rule placed:shift=730485d",)
    ),
    "numbers with more digits than a rule states": Small(
        "CAST(net AS DECIMAL(38, 2)) * 10000000000000 AS net, seconds + 10000000000000 AS seconds,"
        " CAST(tax AS DECIMAL(38, 25)) + 0.0000000000000000000000007 AS tax",
        options=("--rule tax:round=2",),
    ),
    "noise": Small(
        ", ".join(
            within(f"HASH(id, {n}) % 40 = 0", cell)
            for n, cell in enumerate(
                (
                    "'x' || HASH(id, 7) % 1000 AS note",
                    "net + HASH(id, 8) % 900 AS net",
                    "booked + (HASH(id, 9) % 90)::INT AS booked",
                    "NULL AS quarter",
                )
            )
        )
    ),
}


def write(small: Small, folder: Path) -> tuple[str, str]:
    file = folder / "small.duckdb"
    replaced = f"REPLACE ({small.changed})" if small.changed else ""
    with duckdb.connect(file) as database:
        database.execute(_ORDERS)
        database.execute(f"CREATE TABLE b AS SELECT * {replaced} FROM a WHERE {small.where}")  # noqa: S608
        database.execute(f"INSERT INTO b SELECT * FROM b WHERE {small.again}")  # noqa: S608
        database.execute(_NOISE if small.noisy else "")
    a, b = f"duckdb:///{file}#a", f"duckdb:///{file}#b"
    return (b, a) if small.turned else (a, b)


@pytest.mark.parametrize("name", SMALL)
async def test_what_is_planted_is_named_and_proved_and_nothing_else(
    name: str, tmp_path: Path
) -> None:
    async with engine_over(*write(SMALL[name], tmp_path)) as (engine, question):
        result = await engine.compare(question)
        why = await engine.tables.explain(result.cache_key)
    assert tuple(rule.option for rule in why.rules) == SMALL[name].options, why.sentences
    facts = tuple((fact.subject, fact.column, fact.value) for fact in why.facts)
    assert facts == SMALL[name].facts
    assert all(rule.explained >= 5 for rule in why.rules)
    assert all(str(rule.matched) in rule.sentence for rule in why.rules)
    assert why.to_dict()["sentences"] == list(why.sentences)
    if SMALL[name].noisy:
        assert why.rules[-1].matched > 0.9 * why.rules[-1].total


async def test_a_value_that_no_filter_finds_is_not_named(tmp_path: Path) -> None:
    file = tmp_path / "floats.duckdb"
    with duckdb.connect(file) as database:
        for name, factor in (("a", 1), ("b", 100)):
            database.execute(
                f"CREATE TABLE {name} AS SELECT i AS id, CAST((i % 3) / 10 AS FLOAT) AS rate,"  # noqa: S608
                f" CASE WHEN i % 3 = 1 THEN i * {factor} ELSE i END AS amount FROM range(300) t(i)"
            )
    async with engine_over(f"duckdb:///{file}#a", f"duckdb:///{file}#b") as (engine, question):
        why = await engine.tables.explain((await engine.compare(question)).cache_key)
    assert all(rule.matched for rule in why.rules), why.sentences
