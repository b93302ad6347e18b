"""What code sees of a comparison: exact numbers, whatever is missing."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from skillian.bundled.comparison_frame import make_frame
from skillian.data.comparison.results import Difference, Status
from skillian.data.comparison.rows import GroupRow
from tinyagent.execution import ProcessExecutor

HUGE = 2**60 + 1
LONG = Decimal("12345678901234567890.1234567891")


def group(key: dict[str, object], a: Decimal | None, b: Decimal | None, status: Status) -> GroupRow:
    found = Difference("amount", key, status, a, b, 1, 2)
    return GroupRow(key, status, 1, 2, (found,))


async def test_decimals_and_large_integers_arrive_exactly() -> None:
    rows = [
        group({"id": HUGE, "day": date(2024, 1, 2)}, LONG, Decimal("-0.10"), "major_diff"),
        group({"id": None, "day": None}, None, Decimal(HUGE), "missing_in_a"),
    ]
    async with ProcessExecutor(extra_imports=["pandas"]) as executor:
        executor.inject("comparison", make_frame(("id", "day"), ("amount",), rows))
        result = await executor.run(
            "[str(v) for v in [*comparison.id, *comparison.day, *comparison.amount_a,"
            " *comparison.amount_b, *comparison.status, *comparison.rows_b]]"
        )
    assert result.error is None
    assert result.value == [
        *(str(HUGE), "None", "2024-01-02", "None", str(LONG), "None", "-0.10", f"{HUGE}.00"),
        *("major_diff", "missing_in_a", "2", "2"),
    ]


async def test_no_group_at_all_is_an_empty_frame() -> None:
    async with ProcessExecutor(extra_imports=["pandas"]) as executor:
        executor.inject("comparison", make_frame(("id",), ("amount",), []))
        result = await executor.run("len(comparison), list(comparison.columns)[:6]")
    assert result.error is None
    assert result.value == (0, ["id", "status", "rows_a", "rows_b", "amount_a", "amount_b"])
