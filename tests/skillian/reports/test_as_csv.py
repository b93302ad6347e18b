from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Sequence
from decimal import Decimal

from skillian.reports.spreadsheets import write_csv
from tests.skillian.reports.comparisons import HOSTILE

from skillian.data.comparison.rows import GroupRow
from skillian.reports.outcome import Compared, Outcome


async def written(outcome: Outcome, size: int = 3) -> str:
    assert isinstance(outcome, Compared)
    assert outcome.rows is not None
    rows = outcome.rows.rows

    async def batches() -> AsyncIterator[Sequence[GroupRow]]:
        for start in range(0, len(rows), size):
            yield rows[start : start + size]

    return b"".join([part async for part in write_csv(outcome.result, batches())]).decode()


async def test_every_group_is_a_line_with_all_digits(close: Outcome) -> None:
    text = await written(close)
    assert text.startswith("\ufeff")
    lines = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))
    assert lines[0] == [
        "company", "period", "class", "rows a", "rows b", "amount a (EUR)", "amount b (EUR)",
        "amount b - a (EUR)", "amount %", "amount class",
    ]  # fmt: skip
    assert lines[1] == [
        "1001", "2024004", "major", "40", "80", "192258.87", "384517.74", "192258.87", "100.0000",
        "major",
    ]  # fmt: skip
    assert ["1001", "2024007", "only in a", "40", "0", "178675.68", "", "-178675.68", "",
            "only in a"] in lines  # fmt: skip
    assert len(lines) == 1 + 6


async def test_no_text_is_a_formula_and_numbers_stay_numbers(hostile: Outcome) -> None:
    assert isinstance(hostile, Compared)
    assert hostile.rows is not None
    formulas = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\uff1d1")
    group = hostile.rows.rows[0]
    rows = [
        GroupRow({"k|<i>": key}, group.status, 1, 1, group.measures) for key in (*formulas, "a=b")
    ]

    async def batches() -> AsyncIterator[Sequence[GroupRow]]:
        yield rows

    data = b"".join([part async for part in write_csv(hostile.result, batches())]).decode()
    lines = list(csv.reader(io.StringIO(data.removeprefix("\ufeff"), newline="")))
    assert [line[0] for line in lines[1:]] == [*(f"'{key}" for key in formulas), "a=b"]
    gaps = [measure.gap for measure in group.measures]
    assert str(gaps[0]) in lines[1]
    assert Decimal(lines[1][6]) == gaps[0]


async def test_values_with_commas_quotes_and_lines_come_back(hostile: Outcome) -> None:
    lines = list(csv.reader(io.StringIO(await written(hostile), newline="")))
    keys = {line[0] for line in lines[1:]}
    assert keys >= {key for key in HOSTILE if not key.startswith("@")}
