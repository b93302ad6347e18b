"""Times of every type of DuckDB, in pairs, under every rule, held against whole nanoseconds."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import combinations_with_replacement, product
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.skillian.data.tables.comparing import compared
from tests.skillian.data.tables.conftest import Store

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


def stored(text: str, kind: str) -> str:
    """The text of a time with the digits of its type only."""
    if text.endswith("infinity"):
        return text
    value = nanoseconds(text, UNITS[kind])
    moment = (_EPOCH + timedelta(seconds=value // 10**9)).strftime("%Y-%m-%d %H:%M:%S")
    zone = "+00" if kind.startswith("TIMESTAMPTZ") else ""
    return moment[:10] if kind == "DATE" else f"{moment}.{value % 10**9:09}{zone}"


def columns_of(kinds: Sequence[str]) -> dict[str, tuple[tuple[str, str], Rule]]:
    """A column for each pair of types and each rule."""
    return {
        f"{a}_{b}_{n}".lower(): ((a, b), rule)
        for a, b in combinations_with_replacement(kinds, 2)
        for n, rule in enumerate(RULES.values())
    }


def tables(kinds: Sequence[str]) -> Iterator[str]:
    """Statements that make a and b, whose rows are all pairs of times."""
    times = " UNION ALL ".join(
        f"SELECT {n} AS n, {', '.join(f'{cell(text, kind)} AS v_{kind}' for kind in kinds)}"
        for n, text in enumerate(TIMES)
    )
    for side, name in enumerate("ab"):
        listed = (
            f"{name}.v_{pair[side]} AS {column}" for column, (pair, _) in columns_of(kinds).items()
        )
        yield (
            f"CREATE TABLE {name} AS WITH times AS ({times}) SELECT a.n * {len(TIMES)} + b.n AS k,"  # noqa: S608 - ours
            f" {', '.join(listed)} FROM times AS a, times AS b"
        )


def cell(text: str | None, kind: str) -> str:
    return f"CAST({'NULL' if text is None else repr(stored(text, kind))} AS {kind})"


def check(a: str, b: str, kinds: Sequence[str]) -> ComparisonResult:
    """Compare under every rule, and hold the mismatches of every column against the oracle's."""
    columns = columns_of(kinds)
    rules = {name: rule for name, (pair, rule) in columns.items() if pair != ("DATE", "DATE")}
    result = compared(a, b, key=("k",), rules=Rules(columns=rules))
    assert not result.not_compared
    expected = {
        name: sum(not are_equal(a, b, pair, rule) for a, b in product(TIMES, TIMES))
        for name, (pair, rule) in columns.items()
    }
    assert {column.a: column.mismatches for column in result.columns} == expected
    return result


@pytest.mark.parametrize(("other", "place"), [("other", "database"), ("again", "workspace")])
def test_in_two_files(store: Store, tmp_path: Path, other: str, place: str) -> None:
    """Another file, or the first by another name, which one DuckDB cannot read twice."""
    script = "SET TimeZone = 'UTC'", *tables([*UNITS])
    a, b = (store(f"duckdb {name}", *script) for name in ("main", "other"))
    (tmp_path / "again.duckdb").symlink_to(tmp_path / "main.duckdb")
    assert check(f"{a}#a", f"{b.replace('other', other)}#b", [*UNITS]).proof.place == place


def test_in_postgres(store: Store) -> None:
    url = store("postgres", *tables(IN_POSTGRES))
    check(f"{url}#a", f"{url}#b", IN_POSTGRES)
