from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from tests.support.asking import measures_asked

from skillian.data.comparison.explain.heat_map import SIDE, HeatMapCell
from skillian.data.services import DataServices
from skillian.errors import InvalidInputError, UnknownNameError

MakeServices = Callable[[str, str], DataServices]

TABLES = """
CREATE TABLE a (c INTEGER, p VARCHAR, v DECIMAL(17, 2));
CREATE TABLE b (c INTEGER, p VARCHAR, v DECIMAL(17, 2));
"""
FEW = """
INSERT INTO a VALUES (1, '01', 10), (1, '02', 5), (2, '01', 3), (3, '03', 1), (1, NULL, 2);
INSERT INTO b VALUES (1, '01', 12), (2, '01', -4), (3, '03', 1), (1, NULL, 4);
"""
SOURCES = """
connections: {db: 'duckdb:///test.duckdb'}
sources:
  a:
    connection: db
    table: a
    dimensions: {company: {column: c}, period: {column: p}, again: {column: p}}
    measures: {amount: {column: v, aggregation: sum, unit: EUR}}
  b:
    connection: db
    table: b
    dimensions: {company: {column: c}, period: {column: p}, again: {column: p}}
    measures: {amount: {column: v, aggregation: sum}}
comparison: {default_align_on: [company, period]}
"""


async def test_cells_add_up_the_gap_of_their_groups(make_services: MakeServices) -> None:
    engine = make_services(TABLES + FEW, SOURCES).comparison
    align = ["company", "period", "again"]
    key = (await engine.compare(measures_asked("a", "b", ["amount"], align))).cache_key
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
    more = "INSERT INTO b VALUES (1, '04', 6);"
    engine = make_services(
        TABLES + FEW + more, SOURCES.replace("again: {column: p}", "again: {column: c}")
    ).comparison
    align = ["company", "period", "again"]
    key = (await engine.compare(measures_asked("a", "b", ["amount"], align))).cache_key
    heat_map = await engine.heat_map(key, ("company", "again"), "amount")
    # 1, 01: +2; 1, 02: -5; 1, 04: +6; 1 without a period: +2
    assert heat_map.cells[0] == HeatMapCell(0, 0, Decimal(5), Decimal(15), 4)


async def test_the_largest_members_are_kept_and_the_others_counted(
    make_services: MakeServices,
) -> None:
    many = (
        "INSERT INTO a SELECT i, '01', i FROM range(100) t(i); INSERT INTO b VALUES (7, '02', 1);"
    )
    engine = make_services(TABLES + many, SOURCES).comparison
    key = (await engine.compare(measures_asked("a", "b", ["amount"]))).cache_key
    heat_map = await engine.heat_map(key, ("company", "period"), "amount")
    assert heat_map.rows == tuple(range(100 - SIDE, 100))
    assert heat_map.columns == ("01",)
    assert (heat_map.more_rows, heat_map.more_columns) == (100 - SIDE, 1)


async def test_unknown_names_are_reported(make_services: MakeServices) -> None:
    engine = make_services(TABLES + FEW, SOURCES).comparison
    key = (await engine.compare(measures_asked("a", "b", ["amount"]))).cache_key
    with pytest.raises(UnknownNameError, match="again"):
        await engine.heat_map(key, ("company", "again"), "amount")
    with pytest.raises(UnknownNameError, match="amounts"):
        await engine.heat_map(key, ("company", "period"), "amounts")
    with pytest.raises(InvalidInputError, match="two different"):
        await engine.heat_map(key, ("company", "company"), "amount")
    with pytest.raises(InvalidInputError, match="is unknown or has expired"):
        await engine.heat_map("0", ("company", "period"), "amount")
