"""Writes the demo database: a ledger, its planning copy, and the faults between them.

The ledger holds companies 1001 to 1003, periods 2024001 to 2024012, five accounts and four cost
centres; the copy is the same except for these faults:

    company  period   fault
    1001     2024004  a load that ran twice: every row occurs twice
    1001     2024006  rounding: one line off by 0.37, within the limits of a minor difference
    1001     2024007  a missing period: no row was loaded
    1001     2024009  a flipped sign: the lines of account 400000 have the opposite sign
    1001     2024012  late postings: the last six documents were posted after the load
    1002     2024003  rounding: one line off by 0.01, within the limits of a match
    1003     2024011  late postings: the last two documents were posted after the load
"""

import random
from collections.abc import Iterable, Iterator
from decimal import Decimal
from importlib.resources import files
from pathlib import Path

import duckdb

QUESTIONS = "questions.yaml"
SEED = 20240131
COMPANIES = (1001, 1002, 1003)
PERIODS = tuple(f"2024{month:03d}" for month in range(1, 13))
ACCOUNTS = ("400000", "410000", "500000", "620000", "650000")
COST_CENTRES = ("CC100", "CC200", "CC300", "CC400")
DOCUMENTS_PER_PERIOD = 20
LATE_DOCUMENTS = {(1001, "2024012"): 6, (1003, "2024011"): 2}
ROUNDED = {(1001, "2024006"): Decimal("0.37"), (1002, "2024003"): Decimal("0.01")}

# company, period, account, cost centre, document, amount
Posting = tuple[int, str, str, str, str, Decimal]

_TABLES = """
CREATE TABLE fi_ledger (
    "BUKRS" VARCHAR NOT NULL, "FISCPER" VARCHAR NOT NULL, "RACCT" VARCHAR NOT NULL,
    "KOSTL" VARCHAR NOT NULL, "BELNR" VARCHAR NOT NULL, "HSL" DECIMAL(17, 2) NOT NULL
);
CREATE TABLE bpc_planning (
    entity INTEGER NOT NULL, "time" VARCHAR NOT NULL, account VARCHAR NOT NULL,
    "cost centre" VARCHAR NOT NULL, source_document VARCHAR NOT NULL,
    signed_data DECIMAL(17, 2) NOT NULL
);
"""

# One statement for each table: thousands of single inserts would take seconds.
_FILL_LEDGER = """
INSERT INTO fi_ledger
SELECT unnest($1), unnest($2), unnest($3), unnest($4), unnest($5), unnest($6)
"""
_FILL_PLANNING = """
INSERT INTO bpc_planning
SELECT unnest($1), unnest($2), unnest($3), unnest($4), unnest($5), unnest($6)
"""


def write_demo(folder: Path) -> Path:
    """Write the demo into `folder`, and return the path of its `sources.yaml`.

    The other files are `ledger.duckdb` and the verified questions, `questions.yaml`.

    What is there under these names is replaced. Every run writes the same rows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    database = folder / "ledger.duckdb"
    database.unlink(missing_ok=True)
    ledger = list(postings())
    with duckdb.connect(database) as connection:
        connection.execute(_TABLES)
        connection.execute(_FILL_LEDGER, _columns(map(_as_ledger, ledger)))
        connection.execute(_FILL_PLANNING, _columns(map(_as_planning, copied(ledger))))
    for name in ("sources.yaml", QUESTIONS):
        (folder / name).write_bytes(files("skillian.demo").joinpath(name).read_bytes())
    return folder / "sources.yaml"


def postings() -> Iterator[Posting]:
    """Yield the ledger, ordered by company, period and document."""
    chance = random.Random(SEED)  # noqa: S311 - the same numbers every time, on purpose
    number = 0
    for company in COMPANIES:
        for period in PERIODS:
            for _ in range(DOCUMENTS_PER_PERIOD):
                number += 1
                for account in chance.sample(ACCOUNTS, 2):
                    amount = Decimal(chance.randint(50_00, 9_000_00)).scaleb(-2)
                    centre = chance.choice(COST_CENTRES)
                    yield company, period, account, centre, f"{number:010d}", amount


def copied(ledger: list[Posting]) -> Iterator[Posting]:
    """Yield the planning copy of the ledger, faults included."""
    rounded = dict(ROUNDED)
    late = _late_documents(ledger)
    for company, period, account, centre, document, amount in ledger:
        place = company, period
        if place == (1001, "2024007") or document in late:
            continue
        copied = amount - rounded.pop(place, Decimal(0))
        if place == (1001, "2024009") and account == "400000":
            copied = -copied
        for _ in range(2 if place == (1001, "2024004") else 1):
            yield company, period, account, centre, document, copied


def _late_documents(ledger: list[Posting]) -> frozenset[str]:
    late: set[str] = set()
    for place, count in LATE_DOCUMENTS.items():
        documents = sorted({posting[4] for posting in ledger if posting[:2] == place})
        late.update(documents[-count:])
    return frozenset(late)


def _as_ledger(posting: Posting) -> tuple[object, ...]:
    company, *rest = posting
    return str(company), *rest


def _as_planning(posting: Posting) -> tuple[object, ...]:
    company, period, account, centre, document, amount = posting
    return company, period, account, f" {centre.lower()}", document, amount


def _columns(rows: Iterable[tuple[object, ...]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]
