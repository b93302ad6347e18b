"""Two tables of orders that differ by what is planted, in random data with NULLs and repeats."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

Row = dict[str, Any]
Change = Callable[[Row, random.Random], None]
CENT = Decimal("0.01")
arrow: Any = pa  # pyarrow carries no types
_KINDS: dict[Any, str] = {
    arrow.string(): "name note status country currency",
    arrow.decimal128(18, 4): "net tax",
    arrow.int64(): "qty",
    arrow.float64(): "score",
    arrow.timestamp("us"): "placed_at",
    arrow.date32(): "due load_date",
}
SCHEMA: Any = arrow.schema(
    [
        ("id", arrow.int64()),
        *((name, kind) for kind, each in _KINDS.items() for name in each.split()),
    ]
)
WORDS = ("Müller", "Smith", "Ångström", "van Dijk", "José", "Ann", "Bob", "Lee", "Öztürk", "Eve")
STATUSES = ("open", "paid", "sent", "void")
COUNTRIES = ("DE", "FR", "GB", "US", "CH", "JP")
CURRENCIES = ("EUR", "EUR", "EUR", "USD", "GBP", "CHF")


@dataclass(frozen=True)
class Pair:
    """Two tables.

    Attributes:
        name: What is planted.
        change: Changes a row of b.
        wanted: The options that explain it; any of a set will do.
        drop_a: Whether a row is not in a.
        drop_b: Whether a row is not in b.
        share: The share of the rows that the change reaches.
        changed_a: Changes a row of both sides.
        twice_b: Whether a row is in b twice.
    """

    name: str
    change: Change | None = None
    wanted: tuple[frozenset[str], ...] = ()
    drop_a: Callable[[Row], bool] | None = None
    drop_b: Callable[[Row], bool] | None = None
    share: float = 1.0
    changed_a: Change | None = None
    twice_b: Callable[[Row], bool] | None = None


def original(number: int, chance: random.Random) -> Row:
    """A row of random values."""
    placed = datetime(2024, 1, 1) + timedelta(seconds=chance.randrange(366 * 86_400))  # noqa: DTZ001
    words = chance.sample(WORDS, 3)
    return {
        "id": number,
        "name": _maybe(f"{words[0]} {words[1]} {chance.randrange(1000)}", chance),
        "note": _maybe(f"{words[2]} ordered {chance.randrange(10**9)} for {words[0]}", chance),
        "status": chance.choice(STATUSES),
        "country": _maybe(chance.choice(COUNTRIES), chance),
        "currency": chance.choice(CURRENCIES),
        "net": _maybe(Decimal(chance.randrange(100, 1_000_000)) * CENT, chance),
        "tax": _maybe(Decimal(chance.randrange(100, 200_000)) * CENT, chance),
        "qty": _maybe(chance.randrange(1, 500), chance),
        "score": _maybe(chance.randrange(10_000) / 100, chance),
        "placed_at": _maybe(placed, chance),
        "due": _maybe(date(2024, 1, 1) + timedelta(days=chance.randrange(500)), chance),
        "load_date": date(2024, 7, 1) + timedelta(days=min(29, number // 120)),
    }


def _maybe(value: Any, chance: random.Random) -> Any:
    return None if chance.random() < 0.03 else value


def noise(row: Row, chance: random.Random) -> None:
    """Change one cell without a cause."""
    name = chance.choice([each for each in SCHEMA.names if each != "id"])
    value = row[name]
    if value is None or chance.random() < 0.2:
        row[name] = None if value is not None else original(1, chance)[name]
    elif isinstance(value, str):
        row[name] = f"{value[:3]}{chance.randrange(1000)}"
    elif isinstance(value, Decimal):
        row[name] = value + Decimal(chance.randrange(-90_000, 90_000)) * CENT
    elif isinstance(value, int):
        row[name] = value + chance.randrange(-50, 50)
    elif isinstance(value, float):
        row[name] = round(value + chance.uniform(-9, 9), 2)
    else:
        row[name] = value + timedelta(days=chance.randrange(-90, 90))


def tables(pair: Pair, seed: int) -> tuple[list[Row], list[Row]]:
    """The rows of both tables."""
    chance = random.Random(f"{pair.name}{seed}")  # noqa: S311 - reproducible
    rows = [original(number, chance) for number in range(1, chance.randrange(2000, 5001))]
    if pair.changed_a is not None:
        for row in rows:
            pair.changed_a(row, chance)
    others = [dict(row) for row in rows]
    for row in others:
        if pair.change is not None and chance.random() < pair.share:
            pair.change(row, chance)
        if pair.wanted and chance.random() < 0.01:
            noise(row, chance)
    if pair.twice_b is not None:
        others += [dict(row) for row in others if pair.twice_b(row)]
    if not pair.wanted:
        return rows, others
    sides = (rows, pair.drop_a), (others, pair.drop_b)
    a, b = (
        [row for row in side if not (drop is not None and drop(row)) and chance.random() > 0.001]
        + [dict(row) for row in side[:2]]
        for side, drop in sides
    )
    return a, b


def on(name: str, change: Callable[[Any], Any]) -> Change:
    """A change of one column, of cells that are not NULL."""

    def changed(row: Row, _chance: random.Random) -> None:
        if row[name] is not None:
            row[name] = change(row[name])

    return changed


def both(*changes: Change) -> Change:
    """Several changes, one after the other."""

    def changed(row: Row, chance: random.Random) -> None:
        for change in changes:
            change(row, chance)

    return changed


def rounded(places: int) -> Callable[[Decimal], Decimal]:
    """A number with so many places."""
    return lambda value: value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def column(name: str, *rules: str) -> frozenset[str]:
    """The options of a column, of which any will do."""
    return frozenset(f"--rule {name}:{rule}" for rule in rules)


def local(zone: str) -> Callable[[datetime], datetime]:
    """A UTC time by the clocks of a zone."""
    return lambda time: time.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def utc_of(zone: str) -> Callable[[datetime], datetime]:
    """A time of a zone in UTC."""
    return lambda time: time.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC).replace(tzinfo=None)


def swap(one: str, other: str) -> Change:
    """An exchange of two columns."""

    def changed(row: Row, _chance: random.Random) -> None:
        row[one], row[other] = row[other], row[one]

    return changed


def blanks(row: Row, chance: random.Random) -> None:
    """Put blanks around a name."""
    if row["name"] is not None:
        row["name"] = chance.choice([" {}", "{} ", "  {}", "{}\t"]).format(row["name"])


def mapped(one: str, other: str) -> frozenset[str]:
    """The options that pair two columns with each other."""
    return frozenset(
        [f"--map {one}={other} --map {other}={one}", f"--map {other}={one} --map {one}={other}"]
    )


def where(*options: str) -> frozenset[str]:
    """Options, of which any will do."""
    return frozenset(options)


def decomposed(text: str) -> str:
    """A text in another Unicode form."""
    return unicodedata.normalize("NFD", text)


def in_rows(name: str, value: str, change: Change) -> Change:
    """A change of the rows with a value."""

    def changed(row: Row, chance: random.Random) -> None:
        if row[name] == value:
            change(row, chance)

    return changed


def random_net(row: Row, chance: random.Random) -> None:
    """Another amount."""
    row["net"] = Decimal(chance.randrange(100, 1_000_000)) * CENT


def deleted(row: Row, chance: random.Random) -> None:
    """Mark some rows as deleted."""
    if chance.random() < 0.05:
        row["status"] = "deleted"


def archived(row: Row, chance: random.Random) -> None:
    """Mark some rows as deleted or archived."""
    if chance.random() < 0.08:
        row["status"] = chance.choice(["deleted", "archived"])


def empty(row: Row, _chance: random.Random) -> None:
    """An empty text instead of none."""
    if row["note"] is None:
        row["note"] = ""


def versions(row: Row, chance: random.Random) -> None:
    """One of a few scores."""
    row["score"] = chance.choice((*(1.0,) * 6, *(1.1,) * 3, 2.0))


def fine(row: Row, chance: random.Random) -> None:
    """Amounts with four places."""
    for name in ("net", "tax"):
        if row[name] is not None:
            row[name] += Decimal(chance.randrange(10_000)) / 10_000
