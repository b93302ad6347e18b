"""The HTML report in a real browser: no requests, and no script but its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page
from tests.support.browser import chromium

from skillian.reports.as_html import write_html
from skillian.reports.outcome import Outcome

pytestmark = pytest.mark.browser

Show = Callable[..., Page]

ROWS = "table.groups > tbody > tr:first-child"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """Open the report of some outcomes; fail on other requests and on errors."""
    requests: list[str] = []
    errors: list[str] = []
    pages: list[Page] = []

    def open_page(*outcomes: Outcome, width: int = 1200, dark: bool = False) -> Page:
        file = tmp_path / "report.html"
        file.write_text(write_html(outcomes), encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            locale="de-DE",
        )
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(file.as_uri())
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.context.close()
    assert requests == [(tmp_path / "report.html").as_uri()] * len(pages)
    assert errors == []


def columns(page: Page, number: int) -> list[str]:
    cells = page.locator(f"{ROWS} > td:nth-child({number})")
    return cells.all_inner_texts()


def test_the_charts_are_drawn(show: Show, close: Outcome) -> None:
    page = show(close)
    stack = page.locator("svg.stack rect")
    widths = [box["width"] for rect in stack.all() if (box := rect.bounding_box())]
    assert len(widths) == 4  # no group is only in b
    assert widths[0] > 10 * widths[1] > 0
    bars = page.locator(".chart").first.locator("rect")
    assert bars.count() == 6
    assert all(bar.is_visible() for bar in bars.all())
    fills = {rect.evaluate("rect => getComputedStyle(rect).fill") for rect in stack.all()}
    assert len(fills) == 4
    assert page.locator("symbol").count() == 5
    assert page.locator(".legend svg").first.bounding_box()


def test_amounts_are_formatted_and_sorted_exactly(show: Show, hostile: Outcome) -> None:
    page = show(hostile)
    amount = page.locator("table.groups data[value='123456789012345678.12']").first
    assert amount.inner_text() == "123.456.789.012.345.678,12"
    assert amount.get_attribute("title") == "123456789012345678.12"
    small = page.locator("table.groups data[value='-5.00']").first
    assert small.inner_text() == "-5,00"
    page.get_by_role("button", name="v: b", exact=True).click()
    shown = page.locator(f"{ROWS} > td:nth-child(5) data")
    amounts = [float(str(cell.get_attribute("value"))) for cell in shown.all()]
    assert amounts == sorted(amounts)


def test_a_click_or_a_key_on_a_heading_sorts_the_rows(show: Show, close: Outcome) -> None:
    page = show(close)
    assert columns(page, 3)[:2] == ["2024004", "2024007"]
    period = page.get_by_role("button", name="period", exact=True)
    period.click()
    assert columns(page, 3) == sorted(columns(page, 3))
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    period.focus()
    page.keyboard.press("Enter")
    assert columns(page, 3) == sorted(columns(page, 3), reverse=True)
    page.get_by_role("button", name="b", exact=True).click()
    assert columns(page, 6)[0] == "81.238,94"
    assert columns(page, 6)[-1] == "no rows"
    page.get_by_role("button", name="b", exact=True).click()
    assert columns(page, 6)[0] == "384.517,74"
    assert columns(page, 6)[-1] == "no rows"
    assert page.locator("th[aria-sort]").count() == 1


def test_rows_are_filtered_by_key_and_class(show: Show, close: Outcome) -> None:
    page = show(close)
    page.get_by_role("searchbox").fill("1003")
    assert page.locator("table.groups > tbody:visible").count() == 1
    assert page.get_by_role("status").inner_text() == "1 of 6 shown"
    page.get_by_role("searchbox").fill("")
    page.get_by_role("checkbox", name="major").uncheck()
    assert page.locator("table.groups > tbody:visible").count() == 2
    assert page.get_by_role("status").inner_text() == "2 of 6 shown"


def test_the_rows_behind_a_group_open_and_move_with_it(show: Show, close: Outcome) -> None:
    page = show(close)
    button = page.get_by_role("button", name="Rows behind company 1001, period 2024007")
    behind = page.locator(f"[id='{button.get_attribute('aria-controls')}']")
    assert behind.is_hidden()
    button.focus()
    page.keyboard.press("Enter")
    assert behind.is_visible()
    assert button.get_attribute("aria-expanded") == "true"
    a, b = behind.locator(".side").all()
    assert a.locator("tbody tr").count() == 40
    assert "no rows" in b.inner_text()
    page.get_by_role("button", name="period", exact=True).click()
    assert behind.locator("xpath=..").locator("td.key").nth(1).inner_text() == "2024007"
    button.click()
    assert behind.is_hidden()


@pytest.mark.parametrize("dark", [False, True])
def test_dark_and_light_themes_have_enough_contrast(
    show: Show, close: Outcome, *, dark: bool
) -> None:
    page = show(close, dark=dark)
    paper, ink = page.locator("body").evaluate(
        "body => ['backgroundColor', 'color'].map("
        "name => getComputedStyle(body)[name].match(/\\d+/g).map(Number))"
    )
    assert (sum(paper) < sum(ink)) == dark
    found = Axe().run(page, options={"runOnly": ["color-contrast"]}).response["violations"]
    assert [node["html"] for each in found for node in each["nodes"]] == []
