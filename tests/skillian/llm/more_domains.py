"""The columns of seven more domains: words and numbers that are values, periods of four kinds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal

MORE_DOMAINS = ("retail", "insurance", "logistics", "subscriptions", "clinic", "wind", "exams")
_MONTHS = [f"{year}-{month:02d}" for year in (2023, 2024) for month in range(1, 13)]
# Every second day, since 420 rows do not hold all 547 days; the first and the last day are in it.
_DAYS = [date(2024, 1, 1) + timedelta(days=day) for day in range(0, 547, 2)]
_PERIODS = [f"2024{month:03d}" for month in range(1, 13)] + [f"2025{at:03d}" for at in range(1, 7)]
MORE_COLUMNS: dict[str, dict[str, Sequence[object]]] = {
    "retail": {
        "country": ("US", "IT", "IN", "NO", "AT", "DE", "FR"),
        "region": ("North", "South", "East", "West"),
        "team": ("North", "South", "Key Accounts", "Export", "Outlet"),
        "channel": ("web", "store", "phone"),
        "product": ("All", "Bike", "Helmet", "Lock", "Pump"),
        "customer": [f"C{number:04d}" for number in range(1, 121)],
        "month": _MONTHS,
        "revenue": [Decimal("10.50"), Decimal("99.00")],
        "order_number": range(1, 200),
        "quantity": range(1, 6),
        "discount": [Decimal("0.50")],
        "stock": range(20, 90),
        "weight": [Decimal("12.5"), Decimal("80.25")],
    },
    "insurance": {
        "class": ("motor", "home", "travel", "liability", "other"),
        "state": ("OR", "ME", "OK", "HI", "CA", "TX", "NY"),
        "status": ("open", "closed", "on hold", "rejected"),
        "channel": ("direct", "agent", "other"),
        "policy": [f"P{number:04d}" for number in range(1001, 1081)],
        "year": ("2023", "2024", "2025"),
        "quarter": ("Q1", "Q2", "Q3", "Q4"),
        "claim_number": range(1, 300),
        "paid": [Decimal("250.00"), Decimal("1200.00")],
        "reserve": [Decimal("500.00")],
        "premium": [Decimal("89.90")],
        "commission": [Decimal("7.25")],
    },
    "logistics": {
        "origin": ("Hamburg", "Vienna", "Milan", "Lyon", "Nice", "Porto"),
        "destination": ("Vienna", "Hamburg", "Milan", "Lyon", "Nice", "Porto", "Bergen"),
        "mode": ("road", "rail", "sea", "air"),
        "status": ("delivered", "on hold", "in transit", "lost", "returned"),
        "carrier": ("Norline", "Swift", "Blue Star"),
        "consignee": [f"K{number:03d}" for number in range(1, 91)],
        "ship_date": _DAYS,
        "weight": [Decimal("12.5"), Decimal("80.25")],
        "parcels": range(1, 12),
        "pallets": range(1, 4),
        "cost": [Decimal("44.90")],
        "duty": [Decimal("3.10")],
    },
    "subscriptions": {
        "tariff": ("May", "Basic", "Plus", "Family"),
        "country": ("US", "IT", "IN", "NO", "DE"),
        "department": ("IT", "HR", "Legal"),
        "status": ("active", "on hold", "cancelled"),
        "contract": ("trial", "annual", "rolling"),
        "account": [f"A{number:03d}" for number in range(101, 176)],
        "period": _PERIODS,
        "subscriber_number": range(1, 250),
        "mrr": [Decimal("19.90"), Decimal("49.00")],
        "cancellations": range(3),
        "credits": [Decimal("5.00")],
        "minutes": range(1, 99),
        "data_volume": [Decimal("2.5")],
    },
    "clinic": {
        "country": ("US", "IT", "IN", "NO", "ME", "DE"),
        "unit": ("OR", "ER", "ICU", "Maternity"),
        "insurer": ("AOK", "Blue Cross", "Self-pay"),
        "urgency": ("elective", "urgent", "emergency"),
        "physician": [f"D{number:03d}" for number in range(1, 81)],
        "discharged": [date(2024, 1, 1) + timedelta(days=day) for day in range(366)],
        "stay_number": range(1, 300),
        "meals": range(1, 9),
        "billed": [Decimal("120.00"), Decimal("80.00")],
        "copay": [Decimal("10.00")],
    },
    "wind": {
        "farm": ("Nordsee", "Baltic", "Hill Top", "Old Moor"),
        "turbine": [f"T{number:02d}" for number in range(1, 61)],
        "vendor": ("Vestas", "Siemens", "GE"),
        "country": ("NO", "DE", "IT"),
        "state": ("running", "stopped", "no signal"),
        "month": _MONTHS,
        "energy": [Decimal("12.345")],
        "run_time": [Decimal("2.5")],
        "stops": range(5),
        "fee": [Decimal("310.75")],
    },
    "exams": {
        "campus": ("North", "North East", "East", "South Bank"),
        "subject": ("Algebra", "Linear Algebra", "Art", "Art History", "History"),
        "examiner": ("May", "March", "Reed"),
        "entry": ("NEW", "RESIT", "ALL"),
        "grade": (1, 2, 3, 4, 5),
        "room": (101, 102, 201, 305),
        "outcome": ("passed", "failed", "pending"),
        "candidate": [f"S{number:04d}" for number in range(1001, 1081)],
        "exam_date": [date(2024, 1, 1) + timedelta(days=day) for day in range(366)],
        "exam_number": range(1, 300),
        "points": range(1, 99),
        "fees": [Decimal("10.50"), Decimal("99.00")],
    },
}
