"""Times of every type of DuckDB, in pairs, under every rule, held against whole nanoseconds."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import combinations_with_replacement, product
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pytest
from tests.skillian.data.tables.comparing import compared
from tests.support.postgres import Database as PostgresDatabase

from skillian.data.declare.rules import Rule, Rules
from skillian.data.results.result import ComparisonResult

# The types, each with the nanoseconds of its unit.
UNITS = {
    "DATE": 86_400 * 10**9,
    "TIMESTAMP": 10**3,
    "TIMESTAMP_NS": 1,
    "TIMESTAMPTZ": 10**3,
    "TIMESTAMPTZ_NS": 1,
}
IN_POSTGRES = ("DATE", "TIMESTAMP", "TIMESTAMPTZ")
# A fraction that rounds up to the next second, and an hour of Berlin that comes twice.
TIMES = (
    *("2024-06-30 22:00:00", "2024-07-01 00:00:00", "2024-07-01 00:00:00.000000001"),
    *("2024-07-01 00:00:59.999999999", "2024-10-27 00:40:00", "2024-10-27 01:10:00"),
    *("1960-01-01 00:00:00.000000999", "infinity", "-infinity", None),
)
RULES = {
    "exact": Rule(),
    "zone": Rule(zone="Europe/Berlin"),
    "hour": Rule(precision="hour", zone="Asia/Kolkata"),
    "hour twice": Rule(precision="hour", zone="Europe/Berlin"),
    "second": Rule(precision="second", zone="Europe/Berlin"),
    "microsecond": Rule(precision="microsecond"),
    "day": Rule(precision="day", zone="Europe/Berlin"),
    "near": Rule(seconds=Decimal(1), zone="Europe/Berlin"),
}
_STEPS = {"microsecond": 10**3, "second": 10**9, "hour": 3600 * 10**9, "day": 86_400 * 10**9}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INFINITE = 10**40


def nanoseconds(text: str, unit: int = 1) -> int:
    """The time as it is stored in a type, since 1970, without a zone."""
    whole, _, fraction = text.partition(".")
    moment = datetime.fromisoformat(whole).replace(tzinfo=UTC)
    total = (moment - _EPOCH) // timedelta(seconds=1) * 10**9 + int(fraction.ljust(9, "0"))
    return total // unit * unit


def ahead_of_utc(moment: datetime) -> int:
    """What local clocks are ahead of UTC, in nanoseconds."""
    ahead = moment.utcoffset()
    assert ahead is not None
    return ahead // timedelta(seconds=1) * 10**9


def canonical(text: str | None, kind: str, rule: Rule, *, zoned: bool) -> int | None:
    """A number that is equal for equal cells."""
    if text is None or text.endswith("infinity"):
        return None if text is None else _INFINITE * (-1 if text[0] == "-" else 1)
    value, zone = nanoseconds(text, UNITS[kind]), rule.zone or "UTC"
    if zoned and not kind.startswith("TIMESTAMPTZ"):
        local = _EPOCH + timedelta(seconds=value // 10**9)
        value -= ahead_of_utc(local.replace(tzinfo=ZoneInfo(zone)))
    if rule.precision is None:
        return value
    step, instant = _STEPS[rule.precision], _EPOCH + timedelta(seconds=value // 10**9)
    ahead = ahead_of_utc(instant.astimezone(ZoneInfo(zone))) if zoned else 0
    local_cut = (value + ahead) // step * step
    return local_cut if rule.precision == "day" else local_cut - ahead


def are_equal(a: str | None, b: str | None, kinds: tuple[str, str], rule: Rule) -> bool:
    zoned = any(kind.startswith("TIMESTAMPTZ") for kind in kinds)
    one, other = (
        canonical(text, kind, rule if kinds != ("DATE", "DATE") else Rule(), zoned=zoned)
        for text, kind in zip((a, b), kinds, strict=True)
    )
    if one == other or one is None or other is None or rule.seconds is None:
        return one == other
    return abs(one - other) <= rule.seconds * 10**9 and abs(one) < _INFINITE


def rows(pairs: dict[str, tuple[str, str]], side: int) -> str:
    """A SELECT of every pair of times, in a column for each pair of types and each rule."""
    cells = [pair[side] for pair in product(TIMES, TIMES)]
    columns: list[str] = []
    for name, kinds in pairs.items():
        cases = [
            f"WHEN {k} THEN CAST('{stored(text, kinds[side])}' AS {kinds[side]})"
            for k, text in enumerate(cells)
            if text is not None
        ]
        columns.append(f"CASE k {' '.join(cases)} END AS {name}")
    again = [f"{name} AS {name}_{n}" for n in range(len(RULES)) for name in pairs]
    once = f"SELECT k, {', '.join(columns)} FROM numbers"  # noqa: S608 - ours
    return f"SELECT k, {', '.join(again)} FROM ({once}) AS once"  # noqa: S608 - ours


def stored(text: str, kind: str) -> str:
    """The text of a time with the digits of its type only."""
    if text.endswith("infinity"):
        return text
    value = nanoseconds(text, UNITS[kind])
    moment = (_EPOCH + timedelta(seconds=value // 10**9)).strftime("%Y-%m-%d %H:%M:%S")
    zone = "+00" if kind.startswith("TIMESTAMPTZ") else ""
    return moment[:10] if kind == "DATE" else f"{moment}.{value % 10**9:09}{zone}"


def check(a: str, b: str, pairs: dict[str, tuple[str, str]]) -> ComparisonResult:
    """Compare under every rule, and hold the mismatches of every column against the oracle's."""
    rules = {
        f"{name}_{n}": rule
        for n, rule in enumerate(RULES.values())
        for name, kinds in pairs.items()
        if kinds != ("DATE", "DATE")
    }
    result = compared(a, b, key=("k",), rules=Rules(columns=rules))
    assert not result.not_compared
    expected = {
        f"{name}_{n}": sum(not are_equal(a, b, kinds, rule) for a, b in product(TIMES, TIMES))
        for n, rule in enumerate(RULES.values())
        for name, kinds in pairs.items()
    }
    assert {column.a: column.mismatches for column in result.columns} == expected
    return result


NUMBERS = f"numbers AS (SELECT range AS k FROM range({len(TIMES) ** 2}))"  # noqa: S608 - ours


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """A table a of a file, and b of another and of the first by another name."""
    a, b = (f"WITH {NUMBERS} {rows(names_of(tuple(UNITS)), side)}" for side in (0, 1))
    folder = tmp_path_factory.mktemp("moments")
    one, two, again = (folder / f"{name}.duckdb" for name in ("one", "two", "again"))
    for file in (one, two):
        newest: Any = {"storage_compatibility_version": "latest"}
        with duckdb.connect(file, config=newest) as database:
            database.execute("SET TimeZone = 'UTC'")
            database.execute(f"CREATE TABLE a AS {a}; CREATE TABLE b AS {b}")
    again.symlink_to(one)
    return f"duckdb:///{one}#a", f"duckdb:///{two}#b", f"duckdb:///{again}#b"


def names_of(kinds: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    pairs = combinations_with_replacement(kinds, 2)
    return {f"{a}_and_{b}".lower(): (a, b) for a, b in pairs}


@pytest.mark.parametrize(("other", "place"), [(1, "database"), (2, "workspace")])
def test_in_two_files(files: tuple[str, str, str], other: int, place: str) -> None:
    """The other file, or the first by another name, which one DuckDB cannot read twice."""
    result = check(files[0], files[other], names_of(tuple(UNITS)))
    assert result.proof.place == place


def test_in_postgres(postgres_database: PostgresDatabase) -> None:
    pairs = names_of(IN_POSTGRES)
    numbers = f"WITH numbers AS (SELECT generate_series(0, {len(TIMES) ** 2 - 1}) AS k)"
    for side, name in enumerate("ab"):
        postgres_database.execute(f"CREATE TABLE {name} AS {numbers} {rows(pairs, side)}")
    check(f"{postgres_database.url}#a", f"{postgres_database.url}#b", pairs)
