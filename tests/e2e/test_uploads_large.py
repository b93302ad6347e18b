"""Large files through a real server: its memory stays flat, and others are answered."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest
import requests
import xlsxwriter
from tests.support.serving import UNCOUNTED, Serving, serving
from tests.support.watching import watched

from skillian.demo.ledger import write_demo

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(900)]

SECONDS = 600
GROWN_BYTES = 100 * 1024 * 1024
STALL_SECONDS = 0.25
ROWS, COLUMNS = 100_000, 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Serving]:
    """A server over the demo's sources."""
    with serving(write_demo(tmp_path_factory.mktemp("large-uploads")), **UNCOUNTED) as running:
        yield running


def csv_file(folder: Path) -> tuple[Path, int]:
    """A CSV file of 1 GB, and its rows."""
    file, rows = folder / "large.csv", 0
    with file.open("w", encoding="utf-8") as target:
        target.write("id,company,amount,text\n")
        while target.tell() < 1_000_000_000:
            target.writelines(
                f"{row},{row % 97},{row % 1000}.25,a text that fills the line of row {row}\n"
                for row in range(rows, rows + 100_000)
            )
            rows += 100_000
    return file, rows


def workbook_file(folder: Path) -> tuple[Path, int]:
    """A workbook with 100,000 rows, and their number."""
    file = folder / "large.xlsx"
    book = xlsxwriter.Workbook(str(file), {"constant_memory": True})
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, [f"c{column}" for column in range(COLUMNS)])
    for row in range(1, ROWS + 1):
        sheet.write_row(row, 0, [row + column / 4 for column in range(COLUMNS)])
    book.close()
    return file, ROWS


@pytest.mark.parametrize("make", [workbook_file, csv_file], ids=["xlsx", "csv"])
def test_the_servers_memory_stays_flat(
    server: Serving, tmp_path: Path, make: Callable[[Path], tuple[Path, int]]
) -> None:
    file, rows = make(tmp_path)
    with watched(server) as watch, file.open("rb") as content:
        answer = requests.post(
            f"{server.url}/uploads",
            params={"name": file.name},
            data=content,
            headers={"Content-Type": "application/octet-stream"},
            timeout=SECONDS,
        )
    assert (answer.status_code, answer.json()["rows"]) == (201, rows)
    assert watch.grown < GROWN_BYTES
    assert max(watch.stalls) < STALL_SECONDS
