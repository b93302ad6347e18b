"""100,000 differences: the server pages and sorts them."""

from __future__ import annotations

from collections.abc import Generator
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from playwright.sync_api import Page, expect
from tests.e2e.browser.conftest import Visit
from tests.support.many_rows import QUESTION, write_many
from tests.support.serving import UNCOUNTED, Serving, serving

ROWS = 100_000
MOST_A_PAGE = 1000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Serving]:
    with serving(write_many(tmp_path_factory.mktemp("many"), ROWS), **UNCOUNTED) as running:
        yield running


@pytest.fixture
def page(server: Serving, visit: Visit) -> Page:
    answer = requests.post(f"{server.url}/compare", json=QUESTION, timeout=60)
    answer.raise_for_status()
    opened = visit(f"{server.url}/ui/compare/{answer.json()['cache_key']}")
    expect(opened.locator(".comparison-grid .ag-row").first).to_contain_text("D0")
    return opened


def test_scrolling_to_the_last_row_fetches_few_rows(page: Page) -> None:
    limits: list[int] = []
    page.on("request", lambda request: limits.extend(limits_of(request.url)))
    grid = page.locator(".comparison-grid")
    grid.scroll_into_view_if_needed()
    body = grid.locator(".ag-body-viewport")
    for share in (0.25, 0.5, 0.75, 1.0):
        body.evaluate("(body, share) => body.scrollTop = body.scrollHeight * share", share)
        wanted = "[aria-rowindex]"
        expect(grid.locator(f".ag-center-cols-container .ag-row{wanted}").last).to_contain_text(
            "D0"
        )
    expect(grid.locator(f'.ag-row[row-index="{ROWS - 1}"]').first).to_contain_text("D0")
    assert limits
    assert max(limits) <= MOST_A_PAGE
    assert sum(limits) < ROWS / 10
    assert grid.locator(".ag-row").count() < 200


def test_rows_are_sorted_by_the_server(page: Page) -> None:
    heading = page.locator(".comparison-grid .ag-header-cell[col-id=k0]")
    first = page.locator('.comparison-grid .ag-center-cols-container .ag-row[row-index="0"]')
    heading.click()
    expect(first).to_contain_text("D0000001")
    heading.click()
    expect(first).to_contain_text(f"D{ROWS:07}")


def limits_of(url: str) -> list[int]:
    """How many rows a request asks for."""
    parts = urlsplit(url)
    if not parts.path.endswith("/rows"):
        return []
    return [int(limit) for limit in parse_qs(parts.query).get("limit", ["0"])]
