"""Pages of the rows that differ: classes, order, filters and search, against plain Python."""

import asyncio
import csv
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from tests.skillian.data.tables.comparing import engine_over

from skillian.data.comparison.page import ColumnFilter, Order, Page
from skillian.data.engine import ComparisonEngine
from skillian.data.tables.differing import DifferingRow
from skillian.errors import InvalidInputError, ToolError

A = {n: ("same" if n % 3 else f"Name {n}", Decimal(n) / 4, n % 5) for n in range(60)}
B = {n: (name, amount + (n % 2), n % 5) for n, (name, amount, _) in A.items() if n % 10}
B |= {n: ("new", Decimal(1), 1) for n in range(100, 104)}
B[103] = ("new \u0130", Decimal(1), 1)

DIFFERING = {n for n in A if n in B and A[n] != B[n]}
EXPECTED = [*sorted(DIFFERING), *sorted({*A} - {*B}), *sorted({*B} - {*A})]


def _write(path: Path, rows: dict[int, tuple[str, Decimal, int]]) -> str:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "name", "amount", "code"])
        writer.writerows([n, *row] for n, row in rows.items())
    return str(path)


def files(folder: Path) -> tuple[str, str]:
    return _write(folder / "a.csv", A), _write(folder / "b.csv", B)


def paged(names: tuple[str, str], *pages: Page, most_rows: float = 1000) -> list[Any]:
    """The rows and the total of each page, or the error that it ends with."""

    async def work() -> list[Any]:
        async with engine_over(*names, most_rows=most_rows) as (engine, question):
            key = (await engine.compare(question)).cache_key
            return [await _page(engine, key, page) for page in pages]

    return asyncio.run(work())


async def _page(engine: ComparisonEngine, key: str, page: Page) -> Any:
    try:
        found = await engine.rows(key, page)
    except ToolError as error:
        return error
    return found.rows, found.total


def _ids(page: tuple[tuple[DifferingRow, ...], int]) -> list[object]:
    return [row.key["id"] for row in page[0]]


def test_all_rows_come_once_in_the_order_of_classes_and_keys(tmp_path: Path) -> None:
    pages = paged(files(tmp_path), *(Page((), at, 10) for at in range(0, len(EXPECTED) + 10, 10)))
    assert [each for page in pages for each in _ids(page)] == EXPECTED
    assert {total for _, total in pages} == {len(EXPECTED)}
    first = pages[0][0][0]
    cells = {
        "name": {"a": "same", "b": "same", "differs": False},
        "amount": {"a": "0.25", "b": "1.25", "differs": True},
        "code": {"a": 1, "b": 1, "differs": False},
    }
    row = {"key": {"id": 1}, "status": "differing", "rows_a": 1, "rows_b": 1}
    assert first.to_dict() == {**row, "cells": cells, "own": {}}


def where(column: Any, of: str, test: Any) -> Page:
    return Page((), where=(ColumnFilter(column=column, of=of, filter=test),))


CONDITIONS: list[tuple[Page, Callable[[int], bool]]] = [
    (Page(("only_in_b", "only_in_a")), lambda n: n not in B or n not in A),
    (where("a", "amount", {"gte": 5}), lambda n: n in A and A[n][1] >= 5),
    (where("gap", "amount", 1), lambda n: n in DIFFERING),
    (where("b", "name", {"contains": "NAME"}), lambda n: n in B and "Name" in B[n][0]),
    (where("key", "id", {"lt": 20}), lambda n: n < 20),
    (Page((), search=("ew",)), lambda n: n >= 100),
    (Page((), search=("ew", "NAME 1")), lambda n: n >= 100 or (str(n)[0] == "1" and n % 3 == 0)),
    (Page((), search=("'; DROP",)), lambda n: n < 0),
    (Page((), search=("\u0130",)), lambda n: n == 103),
    (where("b", "name", {"contains": "i\u0307"}), lambda n: n == 103),
]


def test_conditions_select_as_python_does(tmp_path: Path) -> None:
    pages = paged(files(tmp_path), *(replace(page, limit=1000) for page, _ in CONDITIONS))
    for page, (asked, selects) in zip(pages, CONDITIONS, strict=True):
        assert {*_ids(page)} == {n for n in EXPECTED if selects(n)}, asked
        assert page[1] == len(page[0])


def test_an_order_is_that_of_the_values(tmp_path: Path) -> None:
    descending = Order(column="b", of="amount", descending=True)
    by_amount, by_size, no_gap = paged(
        files(tmp_path),
        Page((), 0, 5, descending),
        Page(("differing",), 0, 1000, Order(column="size", of="amount")),
        Page((), 0, 1, Order(column="gap", of="name")),
    )
    assert "'name' has no gap" in str(no_gap)
    largest = sorted((n for n in EXPECTED if n in B), key=lambda n: (-B[n][1], n))[:5]
    assert _ids(by_amount) == largest
    assert _ids(by_size) == sorted(DIFFERING)


def test_more_rows_than_are_kept_are_refused_with_the_way_to_get_them(tmp_path: Path) -> None:
    [error] = paged(files(tmp_path), Page((), 0, 1), most_rows=len(EXPECTED) - 1)
    assert isinstance(error, InvalidInputError)
    assert "skillian compare" in str(error)
    assert "--output diff.parquet" in str(error)


_NANOS = "1970-01-01T00:00:00.00000003"
# Columns of Parquet: their type, the values of a, and those of b.
TYPED = {
    "huge": ("UBIGINT", ["3", "20", f"{2**63}"], ["4", "18", f"{2**63 + 1}"]),
    "real": ("DOUBLE", ["nan", "0.5", "-inf"], ["0.25", "inf", "-inf"]),
    "fine": ("TIMESTAMP_NS", [_NANOS, _NANOS[:19], "2024-01-31"], ["1970-01-01"] * 3),
    "day": ("TIMESTAMP_NS", ["2024-01-01", "2024-01-02", "2024-01-03"], ["2024-01-04"] * 3),
}
# The column that is filtered, its side, the filter, and the rows that it keeps.
KEPT: list[tuple[str, Any, Any, list[int]]] = [
    ("huge", "a", {"gt": 5}, [1, 2]),
    ("huge", "a", 2**63, [2]),
    ("huge", "gap", {"lt": 0}, [1]),
    ("huge", "size", 1, [0, 2]),
    ("real", "a", 0.5, [1]),
    ("real", "a", "nan", [0]),
    ("real", "b", {"gte": "inf"}, [1]),
    ("real", "gap", 0, [2]),
    ("fine", "a", {"lte": _NANOS}, [0, 1]),
    ("fine", "a", {"gt": _NANOS}, [2]),
    ("day", "a", {"gt": "2024-01-02"}, [2]),
]


def test_each_type_is_filtered_and_ordered_by_its_values(tmp_path: Path) -> None:
    for side in (0, 1):
        cells = [
            f"CAST(unnest({values[side]}) AS {kind}) AS {name}"
            for name, (kind, *values) in TYPED.items()
        ]
        target = str(tmp_path / f"{'ab'[side]}.parquet")
        rows = f"SELECT unnest(range(3)) AS id, {', '.join(cells)}"
        duckdb.execute(f"COPY ({rows}) TO '{target}'")
    filters = [Page((), where=(ColumnFilter(column=c, of=n, filter=f),)) for n, c, f, _ in KEPT]
    by = [Order(column=column, of=name) for name in ("huge", "fine") for column in ("a", "b")]
    pages = [replace(each, limit=9) for each in (*filters, *(Page((), order=o) for o in by))]
    names = str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")
    read = paged(names, *pages)
    assert [_ids(page) for page in read[: len(KEPT)]] == [ids for *_, ids in KEPT]
    orders = ["".join(map(str, _ids(page))) for page in read[len(KEPT) :]]
    assert orders == ["012", "012", "102", "012"]
    shown = [row.to_dict()["cells"] for row in read[len(KEPT)][0]]
    assert [cells["huge"]["a"] for cells in shown] == [3, 20, str(2**63)]
    assert [cells["real"]["a"] for cells in shown] == ["nan", 0.5, "-inf"]
    assert shown[0]["fine"]["a"] == "1970-01-01T00:00:00.000000030"
    assert shown[0]["day"]["a"] == "2024-01-01T00:00:00"
