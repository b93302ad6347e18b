from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.skillian.data.conftest import MakeServices, two_sources
from tests.support.asking import measures_asked

from skillian.data.comparison.engine import MeasureEngine
from skillian.data.comparison.explain.heat_map import SIDE, HeatMapCell
from skillian.errors import InvalidInputError, UnknownNameError

TABLES = """
CREATE TABLE a (c INTEGER, p VARCHAR, v DECIMAL(17, 2)); CREATE TABLE b AS FROM a;
"""
FEW = """
INSERT INTO a VALUES (1, '01', 10), (1, '02', 5), (2, '01', 3), (3, '03', 1), (1, NULL, 2);
INSERT INTO b VALUES (1, '01', 12), (2, '01', -4), (3, '03', 1), (1, NULL, 4);
"""
MANY = "INSERT INTO a SELECT i, '01', i FROM range(100) t(i); INSERT INTO b VALUES (7, '02', 1);"
SOURCES = two_sources(
    "company: {column: c}, period: {column: p}, again: {column: p}",
    "amount: {column: v, aggregation: sum, unit: EUR}",
    "company, period, again",
)


async def compared(
    make_services: MakeServices, script: str, sources: str = SOURCES
) -> tuple[MeasureEngine, str]:
    engine = make_services(TABLES + script, sources).comparison
    return engine, (await engine.compare(measures_asked("a", "b", ["amount"]))).cache_key


async def test_cells_add_up_the_gap_of_their_groups(make_services: MakeServices) -> None:
    engine, key = await compared(make_services, FEW)
    heat_map = await engine.heat_map(key, ("company", "period"), "amount")
    assert (heat_map.rows, heat_map.columns) == ((1, 2, 3), ("01", "02", "03", None))
    assert sorted(heat_map.cells, key=lambda cell: (cell.row, cell.column)) == [
        HeatMapCell(0, 0, Decimal(2), Decimal(2), 1),
        HeatMapCell(0, 1, Decimal(-5), Decimal(5), 1),
        HeatMapCell(0, 3, Decimal(2), Decimal(2), 1),
        HeatMapCell(1, 0, Decimal(-7), Decimal(7), 1),
        HeatMapCell(2, 2, Decimal(0), Decimal(0), 0),  # equal
    ]
    turned = await engine.heat_map(key, ("again", "company"), "amount")
    assert (turned.rows, turned.columns) == (heat_map.columns, heat_map.rows)
    assert heat_map.to_dict()["cells"] != turned.to_dict()["cells"]
    assert turned.unit == "EUR"


async def test_groups_of_one_cell_are_netted_and_added(make_services: MakeServices) -> None:
    sources = SOURCES.replace("again: {column: p}", "again: {column: c}")
    more = "INSERT INTO b VALUES (1, '04', 6);"
    engine, key = await compared(make_services, FEW + more, sources)
    heat_map = await engine.heat_map(key, ("company", "again"), "amount")
    # 1, 01: +2; 1, 02: -5; 1, 04: +6; 1 without a period: +2
    assert heat_map.cells[0] == HeatMapCell(0, 0, Decimal(5), Decimal(15), 4)


async def test_the_largest_members_are_kept_and_the_others_counted(
    make_services: MakeServices,
) -> None:
    engine, key = await compared(make_services, MANY)
    heat_map = await engine.heat_map(key, ("company", "period"), "amount")
    assert heat_map.rows == tuple(range(100 - SIDE, 100))
    assert heat_map.columns == ("01",)
    assert (heat_map.more_rows, heat_map.more_columns) == (100 - SIDE, 1)


async def test_unknown_names_are_reported(make_services: MakeServices) -> None:
    engine, key = await compared(make_services, FEW, SOURCES.replace(", again]", "]"))
    wrong: tuple[tuple[tuple[Any, ...], type[Exception], str], ...] = (
        ((key, ("company", "again"), "amount"), UnknownNameError, "again"),
        ((key, ("company", "period"), "amounts"), UnknownNameError, "amounts"),
        ((key, ("company", "company"), "amount"), InvalidInputError, "two different"),
        (("0", ("company", "period"), "amount"), InvalidInputError, "is unknown or has expired"),
    )
    for asked, kind, message in wrong:
        with pytest.raises(kind, match=message):
            await engine.heat_map(*asked)
