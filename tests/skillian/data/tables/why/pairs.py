"""Pairs of tables: 62 with one or several causes of differences, and twenty without any."""

from __future__ import annotations

import random
from datetime import date, timedelta
from decimal import Decimal

from tests.skillian.data.tables.why.planted import (
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
    where,
)

TAX = Decimal("1.19")
RATE = Decimal("1.95583")
RATES = {"USD": Decimal("0.92"), "GBP": Decimal("1.17"), "CHF": Decimal("1.05")}
ALONE = [
    Pair("net in cents", on("net", lambda v: v * 100), (column("net", "factor=100"),)),
    Pair("qty in thousandths", on("qty", lambda v: v * 1000), (column("qty", "factor=1000"),)),
    Pair(
        "tax in hundreds",
        on("tax", lambda v: v / 100),
        (column("tax", "factor=0.01", "divisor=100"),),
    ),
    Pair(
        "gross", on("net", lambda v: rounded(2)(v * TAX)), (column("net", "factor=1.19,round=2"),)
    ),
    Pair("gross exact", on("net", lambda v: v * TAX), (column("net", "factor=1.19"),)),
    Pair(
        "net of gross",
        on("net", lambda v: rounded(2)(v / TAX)),
        (column("net", "divisor=1.19,round=2", "factor=0.840336134454,round=2"),),
    ),
    Pair(
        "marks",
        on("net", lambda v: rounded(2)(v * RATE)),
        (column("net", "factor=1.95583,round=2"),),
    ),
    Pair(
        "score of a float",
        on("score", lambda v: v * 100),
        (column("score", "factor=100", "factor=100,round=2"),),
    ),
    Pair("sign", on("net", lambda v: -v), (column("net", "factor=-1"),)),
    Pair("sign of integers", on("qty", lambda v: -v), (column("qty", "factor=-1"),)),
    Pair("offset", on("qty", lambda v: v + 7), (column("qty", "plus=7"),)),
    Pair("negative offset", on("net", lambda v: v - Decimal("0.5")), (column("net", "plus=-0.5"),)),
    Pair(
        "two hours",
        on("placed_at", lambda v: v + timedelta(hours=2)),
        (column("placed_at", "shift=2h"),),
    ),
    Pair(
        "an hour less",
        on("placed_at", lambda v: v - timedelta(hours=1)),
        (column("placed_at", "shift=-1h"),),
    ),
    Pair(
        "a day",
        on("placed_at", lambda v: v + timedelta(days=1)),
        (column("placed_at", "shift=1d"),),
    ),
    Pair(
        "a day of dates", on("due", lambda v: v + timedelta(days=1)), (column("due", "shift=1d"),)
    ),
    Pair(
        "90 seconds",
        on("placed_at", lambda v: v + timedelta(seconds=90)),
        (column("placed_at", "shift=90s"),),
    ),
    *(
        Pair(
            f"local {zone}",
            on("placed_at", local(zone)),
            (column("placed_at", f"zone-b={zone}", *more),),
        )
        for zone, more in (
            ("Europe/Berlin", ()),
            ("Europe/London", ()),
            ("America/New_York", ()),
            ("Australia/Sydney", ()),
            ("Asia/Kolkata", ("shift=330m",)),
        )
    ),
    *(
        Pair(
            f"from {zone}", on("placed_at", utc_of(zone)), (column("placed_at", f"zone-a={zone}"),)
        )
        for zone in ("Europe/Berlin", "America/Los_Angeles")
    ),
    Pair("whole numbers", on("net", rounded(0)), (column("net", "round=0"),)),
    Pair("one place", on("net", rounded(1)), (column("net", "round=1"),)),
    Pair("two places", on("net", rounded(2)), (column("net", "round=2"),), changed_a=fine),
    Pair("cut at 10", on("name", lambda v: v[:10]), (column("name", "length=10"),)),
    Pair("cut at 20", on("note", lambda v: v[:20]), (column("note", "length=20"),)),
    Pair("blanks around", blanks, (column("name", "trim"),)),
    Pair("blanks in some", blanks, (column("name", "trim"),), share=0.1),
    Pair(
        "blanks inside",
        on("note", lambda v: v.replace(" ", "  ")),
        (column("note", "collapse-whitespace"),),
    ),
    Pair("upper case", on("name", str.upper), (column("name", "ignore-case"),)),
    Pair(
        "lower case in some", on("status", str.upper), (column("status", "ignore-case"),), share=0.3
    ),
    Pair("decomposed", on("name", decomposed), (column("name", "nfc"),)),
    Pair("empty", empty, (column("note", "empty-is-null"),)),
    Pair(
        "days",
        on("placed_at", lambda v: v.replace(hour=0, minute=0, second=0)),
        (column("placed_at", "precision=day"),),
    ),
    Pair(
        "hours",
        on("placed_at", lambda v: v.replace(minute=0, second=0)),
        (column("placed_at", "precision=hour"),),
    ),
    Pair("swapped amounts", swap("net", "tax"), (mapped("net", "tax"),)),
    Pair("swapped texts", swap("name", "note"), (mapped("name", "note"),)),
    Pair(
        "deleted rows",
        None,
        (where("--where 'status!=deleted'"),),
        changed_a=deleted,
        drop_b=lambda row: row["status"] == "deleted",
    ),
    Pair(
        "deleted and archived",
        None,
        (
            where(
                "--where 'status!=archived' --where 'status!=deleted'",
                "--where 'status!=deleted' --where 'status!=archived'",
            ),
        ),
        changed_a=archived,
        drop_b=lambda row: row["status"] in {"deleted", "archived"},
    ),
    Pair(
        "one country",
        None,
        (where("--where 'country!=JP'"),),
        drop_a=lambda row: row["country"] == "JP",
    ),
    Pair(
        "late load",
        None,
        (where("--where load_date!=2024-07-09", "--where 'load_date!=2024-07-09'"),),
        drop_b=lambda row: row["load_date"] == date(2024, 7, 9),
    ),
    Pair(
        "tail",
        None,
        (where("--where id<1801", "--where 'id<1801'"),),
        drop_b=lambda row: row["id"] > 1800,
    ),
    Pair("francs", in_rows("currency", "CHF", random_net), (where("--where 'currency!=CHF'"),)),
    Pair(
        "rate of francs",
        in_rows("currency", "CHF", on("net", lambda v: rounded(2)(v * Decimal("0.94")))),
        (where("--where 'currency!=CHF'"),),
    ),
]
CENTS = Pair("", on("net", lambda v: v * 100), (column("net", "factor=100"),))
TWO = [
    (ALONE[0], "local Europe/Berlin"),
    (ALONE[0], "blanks around"),
    (ALONE[1], "upper case"),
    (ALONE[8], "cut at 20"),
    (ALONE[3], "two hours"),
    (ALONE[10], "days"),
    (ALONE[4], "deleted rows"),
    (ALONE[12], "tail"),
    (ALONE[7], "decomposed"),
    (ALONE[9], "swapped amounts"),
    (ALONE[15], "one country"),
    (ALONE[6], "empty"),
]


def together(one: Pair, other: Pair) -> Pair:
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
    return where(f"--where currency={name} --rule net:factor={RATES[name]}{rest}")


def with_cause() -> list[Pair]:
    by_name = {pair.name: pair for pair in ALONE}
    mixed = both(
        lambda row, chance: blanks(row, chance) if chance.random() < 0.6 else None,
        lambda row, chance: on("name", str.upper)(row, chance) if chance.random() < 0.6 else None,
    )
    two_options = Pair("blanks and case", mixed, (column("name", "trim,ignore-case"),))
    others = [*ALONE, two_options, *(together(one, by_name[name]) for one, name in TWO)]
    return [
        *others[:60],
        Pair("rates", converted(2), tuple(of_currency(name, ",round=2") for name in RATES)),
        Pair("exact rates", converted(6), tuple(of_currency(name, "") for name in RATES)),
    ]


def one_cell(row: Row, _chance: random.Random) -> None:
    if row["id"] == 77:
        row["name"] = f"{row['name']} "


def missing(row: Row) -> bool:
    return random.Random(row["id"]).random() < 0.05  # noqa: S311 - reproducible


def flipped(row: Row, chance: random.Random) -> None:
    row["status"] = chance.choice(STATUSES)


def emptied(row: Row, chance: random.Random) -> None:
    row[chance.choice(("name", "net", "due", "country"))] = None


def digit(row: Row, chance: random.Random) -> None:
    if row["qty"] is not None:
        row["qty"] += chance.choice((-2, -1, 1, 2))


def cents(row: Row, chance: random.Random) -> None:
    if row["net"] is not None:
        row["net"] += Decimal(chance.randrange(-9, 10)) * CENT


def days(row: Row, chance: random.Random) -> None:
    if row["due"] is not None:
        row["due"] += timedelta(days=chance.randrange(-30, 31))


def without_cause() -> list[Pair]:
    changes: list[tuple[str, Change]] = [
        ("noise", noise),
        ("statuses", flipped),
        ("NULLs", emptied),
        ("digits", digit),
        ("cents", cents),
        ("days", days),
        ("amounts", random_net),
    ]
    pairs = [Pair("one cell", one_cell)]
    pairs += [
        Pair(f"{name} {share}", each, share=share)
        for name, each in changes
        for share in (0.002, 0.03)
    ]
    pairs += [Pair(f"noise {share}", noise, share=share) for share in (0.0005, 0.01, 0.1, 0.5)]
    pairs.append(Pair("missing rows", None, drop_b=missing))
    return pairs
