"""The catalogues of many domains, read from real databases, and their questions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import yaml
from tests.skillian.llm.hard_domains import HARD_COLUMNS
from tests.skillian.llm.more_domains import MORE_COLUMNS, MORE_DOMAINS

from skillian.chat.opening import read_vocabulary
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.demo.ledger import write_demo
from skillian.offline.language.vocabulary import Vocabulary

HERE = Path(__file__).parent
DOMAINS = (
    "ledger",
    "shop",
    "hospital",
    "energy",
    "library",
    "freight",
    "telecom",
    "dairy",
    "payroll",
    "airport",
    *MORE_DOMAINS,
    *HARD_COLUMNS,
)
_MONTHS = [f"{year}-{month:02d}" for year in (2023, 2024) for month in range(1, 13)]
_DAYS = [date(2024, 1, 1) + timedelta(days=day) for day in range(366)]
_COLUMNS: dict[str, dict[str, Sequence[object]]] = {
    **MORE_COLUMNS,
    **HARD_COLUMNS,
    "shop": {
        "country": ("Germany", "France", "Spain", "Italy", "United Kingdom"),
        "channel": ("web", "store", "phone"),
        "category": ("Bikes", "Helmets", "Spare Parts", "Clothing"),
        "month": _MONTHS,
        "order_number": range(1, 80),
        "quantity": range(1, 6),
        "revenue": [Decimal("10.50"), Decimal("99.00")],
        "discount": [Decimal("0.50")],
    },
    "hospital": {
        "ward": ("Cardiology", "Oncology", "Surgery", "Intensive Care"),
        "site": ("North", "South", "St. Mary"),
        "payer": ("private", "public", "self-pay"),
        "diagnosis_group": ("A10", "B20", "C30", "D40", "E50"),
        "admission_date": _DAYS,
        "patient_number": range(1, 300),
        "bed_days": range(1, 9),
        "charges": [Decimal("120.00"), Decimal("80.00")],
    },
    "energy": {
        "fuel": ("Gas", "Steam", "Solar", "Wind", "Coal"),
        "grid_area": ("A1", "B2", "C3"),
        "plant": [f"P{number:02d}" for number in range(1, 71)],
        "month": [f"2024{month:02d}" for month in range(1, 13)],
        "hours": [Decimal("2.5")],
        "generation": [Decimal("12.345")],
        "co2": [Decimal("1.2")],
    },
    "library": {
        "branch": ("Central", "Eastside", "Harbour", "Old Town"),
        "medium": ("Book", "DVD", "Audiobook", "Magazine", "Game"),
        "reader_group": ("adult", "child", "student"),
        "month": _MONTHS,
        "loans": range(1, 9),
        "renewals": range(4),
        "fines": [Decimal("1.50")],
    },
    "freight": {
        "origin": ("Hamburg", "Rotterdam", "Antwerp", "Le Havre"),
        "destination": ("Vienna", "Milan", "Prague", "Rotterdam", "Basel"),
        "mode": ("road", "rail", "sea", "air"),
        "truck": [f"T{number:03d}" for number in range(1, 71)],
        "ship_date": _DAYS,
        "weight": [Decimal("12.5"), Decimal("80.25")],
        "parcels": range(1, 12),
        "freight_cost": [Decimal("44.90")],
    },
    "telecom": {
        "zone": ("EU", "World", "Domestic"),
        "tariff": ("Flat S", "Flat L", "Prepaid"),
        "service": ("voice", "sms", "data"),
        "quarter": [f"{year}-Q{number}" for year in (2023, 2024) for number in range(1, 5)],
        "minutes": range(1, 99),
        "calls": range(1, 9),
        "charged": [Decimal("0.19")],
    },
    "dairy": {
        "farm": [f"F{number:02d}" for number in range(1, 61)],
        "breed": ("Holstein", "Jersey", "Brown Swiss"),
        "region": ("Alps", "Lowland", "Coast"),
        "grade": ("A", "B", "S"),
        "collected": _DAYS,
        "milk": range(100, 900),
        "fat": [Decimal("4.1")],
        "deliveries": [1],
        "payment": [Decimal("310.75")],
    },
    "payroll": {
        "department": ("Sales", "Legal", "R&D", "Human Resources"),
        "cost_center": ("4100", "4200", "4300", "5000", "5100"),
        "contract": ("full-time", "part-time", "intern"),
        "pay_month": _MONTHS,
        "gross_pay": [Decimal("3100.00"), Decimal("4250.50")],
        "overtime": [Decimal("1.5"), Decimal(0)],
        "absences": range(4),
    },
    "airport": {
        "airline": ("KLM", "easyJet", "Air France", "Lufthansa"),
        "terminal": ("T1", "T2", "T3"),
        "aircraft": ("A320", "B737", "E190", "A350", "CRJ9"),
        "flight_date": _DAYS,
        "flight": [f"F{number:04d}" for number in range(1, 90)],
        "passengers": range(60, 190),
        "bags": range(20, 150),
        "landing_fee": [Decimal("780.00")],
    },
}
_ROWS = 420


@dataclass(frozen=True)
class Asked:
    """A question, what it must be answered with, and the question before it."""

    domain: str
    question: str
    expected: dict[str, Any]
    after: tuple[str, ...] = ()


def questions(domain: str) -> list[Asked]:
    """The questions of a domain."""
    text = (HERE / "questions" / f"{domain}.yaml").read_text()
    return [_asked(domain, *each) for each in yaml.safe_load(text)]


def asked_back() -> dict[str, list[list[str]]]:
    """Conversations by domain whose last question must be asked back."""
    text = (HERE / "questions" / "asked_back.yaml").read_text("utf-8")
    conversations: dict[str, list[list[str]]] = yaml.safe_load(text)
    return conversations


def _asked(
    domain: str, question: str, expected: dict[str, Any], after: str | list[str] = ""
) -> Asked:
    before = [after] if isinstance(after, str) else after
    return Asked(domain, question, expected, tuple(each for each in before if each))


async def vocabulary_of(domain: str, folder: Path) -> Vocabulary:
    """Fill the domain's database in this folder, and read its catalogue."""
    if domain == "ledger":
        write_demo(folder)
    else:
        _fill(domain, folder)
    async with DataServices(SourceRegistry.load(folder / "sources.yaml")) as services:
        return await read_vocabulary(services)


def _fill(domain: str, folder: Path) -> None:
    shutil.copyfile(HERE / "domains" / f"{domain}.yaml", folder / "sources.yaml")
    columns = _COLUMNS[domain]
    rows = [[values[at % len(values)] for values in columns.values()] for at in range(_ROWS)]
    types = (_type(values[0]) for values in columns.values())
    declared = ", ".join(f"{name} {kind}" for name, kind in zip(columns, types, strict=True))
    with duckdb.connect(folder / f"{domain}.duckdb") as database:
        database.execute(f"CREATE TABLE {domain} ({declared})")
        row = f"({', '.join('?' for _ in columns)})"
        values = ", ".join([row] * _ROWS)
        cells = [cell for each in rows for cell in each]
        database.execute(f"INSERT INTO {domain} VALUES {values}", cells)  # noqa: S608


def _type(value: object) -> str:
    kinds: dict[type, str] = {int: "INTEGER", date: "DATE", Decimal: "DECIMAL(18, 3)"}
    return kinds.get(type(value), "VARCHAR")


def expected_call(expected: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The call that an entry of a file stands for."""
    if "call" in expected:
        return expected["call"], expected["args"]
    sources = expected["sources"]
    arguments: dict[str, Any] = {}
    if len(sources) == 1:
        arguments["source"] = sources[0]
    else:
        arguments |= {"source_a": sources[0], "source_b": sources[1]}
    names = {
        "measures": "measures",
        "by": "dimensions" if len(sources) == 1 else "align_on",
        "filters": "filters",
        "order": "order",
        "limit": "limit",
    }
    arguments |= {names[key]: value for key, value in expected.items() if key in names}
    if "match" in expected:
        arguments["thresholds"] = {"match": expected["match"]}
    return ("query_source" if len(sources) == 1 else "compare_sources"), arguments


def result_of(name: str, arguments: dict[str, Any]) -> str:
    """A result that a follow-up question can refer to."""
    if name == "query_source":
        return json.dumps({"columns": [], "rows": []})
    return json.dumps({"summary": {}, "top_differences": [], "cache_key": "cmp"})
