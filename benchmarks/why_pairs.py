"""Pairs of tables: 67 with one or several causes of differences, and 21 without any."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from why_planted import (
    CENT,
    STATUSES,
    Change,
    Pair,
    Row,
    archived,
    blanks,
    both,
    column,
    decomposed,
    deleted,
    empty,
    fine,
    in_rows,
    local,
    mapped,
    noise,
    on,
    random_net,
    rounded,
    swap,
    utc_of,
    versions,
    where,
)

TAX = Decimal("1.19")
RATE = Decimal("1.95583")
RATES = {"USD": Decimal("0.92"), "GBP": Decimal("1.17"), "CHF": Decimal("1.05")}


def cell(
    label: str, name: str, change: Callable[[Any], Any], *rules: str, share: float = 1
) -> Pair:
    """A change of the cells of one column, which any of these rules explains."""
    return Pair(label, on(name, change), (column(name, *rules),), share=share)


def midnight(time: datetime) -> datetime:
    """The day of a time, at midnight."""
    return time.replace(hour=0, minute=0, second=0)


def later(**by: float) -> Callable[[Any], Any]:
    """A change of times."""
    return lambda value: value + timedelta(**by)


LATE, FRANC = date(2024, 7, 9), Decimal("0.94")
ZONES = (
    *(("Europe/Berlin", ()), ("Europe/London", ()), ("America/New_York", ())),
    *(("Australia/Sydney", ()), ("Asia/Kolkata", ("shift=330m",))),
)
BOTH_STATUSES = (
    "--where 'status!=archived' --where 'status!=deleted'",
    "--where 'status!=deleted' --where 'status!=archived'",
)
OF_LATE = where(f"--where load_date!={LATE}", f"--where 'load_date!={LATE}'")
FRANCS = where("--where 'currency!=CHF'")
ALONE = [
    cell("net in cents", "net", lambda v: v * 100, "factor=100"),
    cell("qty in thousandths", "qty", lambda v: v * 1000, "factor=1000"),
    cell("tax in hundreds", "tax", lambda v: v / 100, "factor=0.01", "divisor=100"),
    cell("gross", "net", lambda v: rounded(2)(v * TAX), "factor=1.19,round=2"),
    cell("gross exact", "net", lambda v: v * TAX, "factor=1.19"),
    cell("net of gross", "net", lambda v: rounded(2)(v / TAX), "divisor=1.19,round=2",
         "factor=0.840336134454,round=2"),
    cell("marks", "net", lambda v: rounded(2)(v * RATE), "factor=1.95583,round=2"),
    cell("score of a float", "score", lambda v: v * 100, "factor=100,round=9"),
    cell("sign", "net", lambda v: -v, "factor=-1"),
    cell("sign of integers", "qty", lambda v: -v, "factor=-1"),
    cell("offset", "qty", lambda v: v + 7, "plus=7"),
    cell("negative offset", "net", lambda v: v - Decimal("0.5"), "plus=-0.5"),
    cell("two hours", "placed_at", later(hours=2), "shift=2h"),
    cell("an hour less", "placed_at", later(hours=-1), "shift=-1h"),
    cell("a day", "placed_at", later(days=1), "shift=1d"),
    cell("a day of dates", "due", later(days=1), "shift=1d"),
    cell("90 seconds", "placed_at", later(seconds=90), "shift=90s"),
    *(
        cell(f"local {zone}", "placed_at", local(zone), f"zone-b={zone}", *more)
        for zone, more in ZONES
    ),
    *(
        cell(f"from {zone}", "placed_at", utc_of(zone), f"zone-a={zone}")
        for zone in ("Europe/Berlin", "America/Los_Angeles")
    ),
    cell("whole numbers", "net", rounded(0), "round=0"),
    cell("one place", "net", rounded(1), "round=1"),
    Pair("two places", on("net", rounded(2)), (column("net", "round=2"),), changed_a=fine),
    cell("cut at 10", "name", lambda v: v[:10], "length=10"),
    cell("cut at 20", "note", lambda v: v[:20], "length=20"),
    Pair("blanks around", blanks, (column("name", "trim"),)),
    Pair("blanks in some", blanks, (column("name", "trim"),), share=0.1),
    cell("blanks inside", "note", lambda v: v.replace(" ", "  "), "collapse-whitespace"),
    cell("upper case", "name", str.upper, "ignore-case"),
    cell("lower case in some", "status", str.upper, "ignore-case", share=0.3),
    cell("decomposed", "name", decomposed, "nfc"),
    Pair("empty", empty, (column("note", "empty-is-null"),)),
    cell("days", "placed_at", midnight, "precision=day"),
    cell("hours", "placed_at", lambda v: v.replace(minute=0, second=0), "precision=hour"),
    Pair("swapped amounts", swap("net", "tax"), (mapped("net", "tax"),)),
    Pair("swapped texts", swap("name", "note"), (mapped("name", "note"),)),
    Pair("deleted rows", None, (where("--where 'status!=deleted'"),), changed_a=deleted,
         drop_b=lambda row: row["status"] == "deleted"),
    Pair("deleted and archived", None, (where(*BOTH_STATUSES),), changed_a=archived,
         drop_b=lambda row: row["status"] in {"deleted", "archived"}),
    Pair("one country", None, (where("--where 'country!=JP'"),),
         drop_a=lambda row: row["country"] == "JP"),
    Pair("late load", None, (OF_LATE,),
         drop_b=lambda row: row["load_date"] == LATE),
    Pair("tail", None, (where("--where id<1801", "--where 'id<1801'"),),
         drop_b=lambda row: row["id"] > 1800),
    Pair("francs", in_rows("currency", "CHF", random_net), (FRANCS,)),
    Pair("rate of francs", in_rows("currency", "CHF", on("net", lambda v: rounded(2)(v * FRANC))),
         (where("--where currency=CHF --rule net:factor=0.94,round=2"),)),
]  # fmt: skip
LATER = [
    Pair("sign of voids", in_rows("status", "void", on("tax", lambda v: -v)),
         (where("--where status=void --rule tax:factor=-1"),)),
    Pair("swapped in Japan", in_rows("country", "JP", swap("net", "tax")),
         (where(*(f"--where country=JP {each}" for each in mapped("net", "tax"))),)),
    cell("Fahrenheit", "score", lambda v: round(v * 1.8 + 32, 3), "factor=1.8,plus=32"),
    Pair("loaded twice", None, (OF_LATE,), twice_b=lambda row: row["load_date"] == LATE),
    Pair("without due", None, (where("--where 'due is not null'"),),
         drop_a=lambda row: row["due"] is None),
]  # fmt: skip
TWO = (
    *((0, "local Europe/Berlin"), (0, "blanks around"), (1, "upper case"), (8, "cut at 20")),
    *((3, "two hours"), (10, "days"), (4, "deleted rows"), (12, "tail"), (7, "decomposed")),
    *((9, "swapped amounts"), (15, "one country"), (6, "empty")),
)


def together(one: Pair, other: Pair) -> Pair:
    """Two causes in one pair."""
    changes = [each.change for each in (one, other) if each.change is not None]
    return Pair(
        f"{one.name} and {other.name}",
        both(*changes),
        (*one.wanted, *other.wanted),
        other.drop_a,
        other.drop_b,
        changed_a=other.changed_a,
    )


def converted(places: int) -> Change:
    """A change of amounts by the rate of their currency, rounded; euros stay."""

    def changed(row: Row, _chance: random.Random) -> None:
        rate = RATES.get(row["currency"])
        if rate is not None and row["net"] is not None:
            row["net"] = rounded(places)(row["net"] * rate)

    return changed


def of_currency(name: str, rest: str) -> frozenset[str]:
    """The options that explain a converted currency."""
    return where(f"--where currency={name} --rule net:factor={RATES[name]}{rest}")


def with_cause() -> list[Pair]:
    """The pairs with causes."""
    by_name = {pair.name: pair for pair in ALONE}
    mixed = both(
        lambda row, chance: blanks(row, chance) if chance.random() < 0.6 else None,
        lambda row, chance: on("name", str.upper)(row, chance) if chance.random() < 0.6 else None,
    )
    two_options = Pair("blanks and case", mixed, (column("name", "trim,ignore-case"),))
    others = [*ALONE, two_options, *(together(ALONE[one], by_name[name]) for one, name in TWO)]
    return [
        *others[:60],
        *LATER,
        Pair("rates", converted(2), tuple(of_currency(name, ",round=2") for name in RATES)),
        Pair("exact rates", converted(6), tuple(of_currency(name, "") for name in RATES)),
    ]


def one_cell(row: Row, _chance: random.Random) -> None:
    """Change the cell of one row."""
    if row["id"] == 77:
        row["name"] = f"{row['name']} "


def missing(row: Row) -> bool:
    """Whether a row is left out."""
    return random.Random(row["id"]).random() < 0.05  # noqa: S311 - reproducible


def flipped(row: Row, chance: random.Random) -> None:
    """Change the status."""
    row["status"] = chance.choice(STATUSES)


def emptied(row: Row, chance: random.Random) -> None:
    """Remove a value."""
    row[chance.choice(("name", "net", "due", "country"))] = None


def digit(row: Row, chance: random.Random) -> None:
    """Change a number a little."""
    if row["qty"] is not None:
        row["qty"] += chance.choice((-2, -1, 1, 2))


def cents(row: Row, chance: random.Random) -> None:
    """Change an amount by some cents."""
    if row["net"] is not None:
        row["net"] += Decimal(chance.randrange(-9, 10)) * CENT


def days(row: Row, chance: random.Random) -> None:
    """Change a date by some days."""
    if row["due"] is not None:
        row["due"] += timedelta(days=chance.randrange(-30, 31))


def without_cause() -> list[Pair]:
    """The pairs without one."""
    changes: list[tuple[str, Change]] = [
        *(("noise", noise), ("statuses", flipped), ("NULLs", emptied), ("digits", digit)),
        *(("cents", cents), ("days", days), ("amounts", random_net)),
    ]
    shares = [(name, each, share) for name, each in changes for share in (0.002, 0.03)]
    shares += [("noise", noise, share) for share in (0.0005, 0.01, 0.1, 0.5)]
    pairs = [Pair(f"{name} {share}", each, share=share) for name, each, share in shares]
    by_chance = Pair("versions 0.008", versions, share=0.008, changed_a=versions)
    missed = Pair("missing rows", None, drop_b=missing)
    return [Pair("one cell", one_cell), *pairs, by_chance, missed]
