"""Three catalogues to ask about, and what was done before a follow-up question."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from skillian.offline.language.vocabulary import DimensionWords, SourceWords, Vocabulary
from tinyagent import Message, ToolCall

MONTHS = tuple(f"2024{month:03d}" for month in range(1, 13))
_LEDGER = SourceWords(
    {
        "amount": ("amounts", "value", "balance", "sum", "total"),
        "documents": ("document count", "postings", "count"),
    },
    {
        "company": DimensionWords(("company code", "entity"), ("1001", "1002", "1003")),
        "period": DimensionWords(("month", "fiscal period"), MONTHS),
        "account": DimensionWords(("gl account",), ("400000", "410000", "500000", "620000")),
        "cost_centre": DimensionWords(("cost center", "department"), ("CC100", "CC200", "CC300")),
    },
)
_ORDERS = SourceWords(
    {
        "revenue": ("sales", "turnover"),
        "orders": ("order count", "number of orders"),
        "quantity": ("units", "pieces"),
    },
    {
        "customer_region": DimensionWords(("region",), ("EMEA", "APAC", "North America", "LATAM")),
        "channel": DimensionWords(("sales channel",), ("web", "store", "phone")),
        "order_month": DimensionWords(
            ("month",), tuple(f"{y}-{m:02d}" for y in (2023, 2024) for m in range(1, 13))
        ),
        "product_line": DimensionWords(("product",), ("Bikes", "Helmets", "Spare Parts")),
        "customer": DimensionWords(("client",), (), is_open=True),
    },
)
_ENDS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_STAFF = SourceWords(
    {
        "headcount": ("employees", "heads", "staff", "number of employees"),
        "fte": ("full time equivalents",),
        "salary_cost": ("salary", "salaries"),
    },
    {
        "department": DimensionWords(("dept",), ("Sales", "Finance", "IT", "Research")),
        "location": DimensionWords(("site", "city"), ("Berlin", "Munich", "New York")),
        "snapshot_date": DimensionWords(
            ("date", "month"),
            tuple(f"2024-{month:02d}-{day}" for month, day in enumerate(_ENDS, 1)),
            is_date=True,
        ),
        "grade": DimensionWords((), ("G1", "G2", "G3")),
        "contract": DimensionWords(("contract type",), ("permanent", "temporary")),
    },
)
CATALOGUES = {
    "demo": Vocabulary({"fi_reporting": _LEDGER, "bpc_reporting": _LEDGER}),
    "orders": Vocabulary({"old_dwh": _ORDERS, "new_dwh": _ORDERS}),
    "headcount": Vocabulary({"hr_core": _STAFF, "payroll_run": _STAFF}),
}

_COMPARED: dict[str, tuple[dict[str, Any], list[dict[str, str]]]] = {
    "demo": (
        {
            "source_a": "fi_reporting",
            "source_b": "bpc_reporting",
            "measures": ["amount"],
            "filters": {"company": "1001"},
        },
        [{"company": "1001", "period": p} for p in ("2024004", "2024007", "2024009", "2024012")],
    ),
    "orders": (
        {
            "source_a": "old_dwh",
            "source_b": "new_dwh",
            "measures": ["revenue"],
            "align_on": ["customer_region", "order_month"],
        },
        [
            {"customer_region": "EMEA", "order_month": "2024-03"},
            {"customer_region": "APAC", "order_month": "2024-01"},
        ],
    ),
    "headcount": (
        {
            "source_a": "hr_core",
            "source_b": "payroll_run",
            "measures": ["headcount"],
            "align_on": ["department"],
        },
        [{"department": "Sales"}, {"department": "IT"}],
    ),
}
_QUERIED: dict[str, dict[str, Any]] = {
    "demo": {"source": "fi_reporting", "measures": ["amount"], "filters": {"company": "1001"}},
    "orders": {"source": "old_dwh", "measures": ["revenue"], "dimensions": ["channel"]},
    "headcount": {"source": "hr_core", "measures": ["headcount"], "dimensions": ["department"]},
}


def before(catalogue: str, after: str) -> Sequence[Message]:
    """The conversation that a follow-up question goes on with."""
    if after == "compared":
        arguments, keys = _COMPARED[catalogue]
        result: dict[str, Any] = {
            "summary": {"groups": 12},
            "top_differences": [{"key": key, "gap": "1.00"} for key in keys],
            "interpretation": ["8 of 12 groups match."],
            "cache_key": f"cmp-{catalogue}",
        }
        return _turn("compare_sources", arguments, result)
    if after == "queried":
        return _turn("query_source", _QUERIED[catalogue], {"columns": [], "rows": []})
    return ()


def _turn(tool: str, arguments: dict[str, Any], result: dict[str, Any]) -> Sequence[Message]:
    return (
        Message("user", "An earlier question"),
        Message("assistant", "", (ToolCall("c1", tool, arguments),)),
        Message("tool", json.dumps(result), tool_call_id="c1"),
        Message("assistant", "8 of 12 groups match."),
    )
