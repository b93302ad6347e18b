"""A result: the verdict, its tabs, the grid, and numbers in the reader's locale."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

import duckdb
import pytest
import requests
from playwright.sync_api import Locator, Page, expect
from tests.e2e.browser.conftest import NARROW, WIDE, Visit, assert_fits
from tests.e2e.browser.test_access import faults
from tests.e2e.browser.views import BAR, SECONDS, VIEWS, Seed, open_tab
from tests.support.serving import UNCOUNTED, Serving, serving
from tests.support.waits import until

LAPTOP = 1440
CUT_OFF = "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"
SMALL_GAPS = """
connections: {main: duckdb:///small.duckdb}
sources:
  one: {connection: main, table: ta, dimensions: {k: {column: k}}, measures: &m
    {v: {column: v, aggregation: sum}}}
  two: {connection: main, table: tb, dimensions: {k: {column: k}}, measures: *m}
comparison: {default_align_on: [k]}
"""


def compared(url: str, **question: Any) -> str:
    """Compare, and return the address of the result."""
    answer = requests.post(f"{url}/compare", json=question, timeout=SECONDS)
    answer.raise_for_status()
    return f"{url}/ui/compare/{answer.json()['cache_key']}"


def test_a_result_begins_with_a_verdict_in_the_readers_locale(
    demo_seed: Seed, visit: Visit
) -> None:
    page = visit(VIEWS["comparison"].address(demo_seed), width=LAPTOP)
    VIEWS["comparison"].come(page)
    figures = page.get_by_test_id("figures")
    expect(figures).to_contain_text("amount in fi_reporting2.172.539,90EUR")
    expect(figures).to_contain_text("amount in bpc_reporting2.040.865,41EUR")
    expect(figures).to_contain_text("-131.674,49EUR")
    expect(page.get_by_test_id("verdict")).to_contain_text("5 of 12 groups differ")
    scope = page.get_by_role("list", name="Scope")
    expect(scope).to_contain_text(re.compile(r"Compared\s*\d+\. \w+\.? \d{4}, \d\d:\d\d"))
    expect(scope).to_contain_text("company is 1001")
    expect(scope).to_contain_text("match up to 0,01EUR and 0,01 %")
    expect(grid_row(page, "2024004")).to_contain_text("384.517,74")
    expect(page.locator("body")).not_to_contain_text("2172539.90")
    expect(page.get_by_text("Only fi_reporting has 1 group")).to_have_count(1)
    labels = "['123456789012345678901234.04', '-1234567.89'].map(x => skillian.label(x))"
    assert page.evaluate(labels) == ["1,23E23", "-1.234.567,89"]


def grid_row(page: Page, text: str) -> Locator:
    """The row of the grid that holds a text."""
    return page.locator(".comparison-grid .ag-center-cols-container .ag-row").filter(has_text=text)


def test_no_column_is_cut_off_and_cells_that_differ_are_marked(
    demo_seed: Seed, visit: Visit
) -> None:
    page = visit(VIEWS["comparison"].address(demo_seed), width=LAPTOP)
    VIEWS["comparison"].come(page)
    view = page.locator(".comparison-grid .ag-center-cols-viewport")
    until(lambda: view.evaluate("view => view.scrollWidth - view.clientWidth") <= 0)
    texts = page.locator(".comparison-grid :is(.ag-cell, .ag-header-cell-text)")
    for width in (LAPTOP, WIDE):
        page.set_viewport_size({"width": width, "height": 800})
        until(lambda: texts.evaluate_all(CUT_OFF) == [])
    row = grid_row(page, "2024009")
    marked = row.locator(".changed")
    expect(marked).to_have_count(3)  # both sides and the gap, and not the rows
    assert (
        len(set(marked.evaluate_all("all => all.map(one => getComputedStyle(one).boxShadow)"))) == 1
    )


@pytest.mark.parametrize(
    ("view", "names"), [("comparison", ("Rows", "Schema")), ("rows", ("Columns", "Schema"))]
)
def test_all_tabs_fit_a_phone(
    demo_seed: Seed, customers_seed: Seed, visit: Visit, view: str, names: tuple[str, str]
) -> None:
    seeded = {"comparison": demo_seed, "rows": customers_seed}[view]
    page = visit(VIEWS[view].address(seeded), width=NARROW)
    VIEWS[view].come(page)
    tabs = page.get_by_role("tablist")
    until(lambda: tabs.evaluate("tabs => tabs.scrollWidth - tabs.clientWidth") <= 0)
    for name in names:
        open_tab(page, name)
        assert_fits(page)


def test_show_all_groups_grows_the_grid(demo_seed: Seed, visit: Visit) -> None:
    page = visit(VIEWS["comparison"].address(demo_seed))
    VIEWS["comparison"].come(page)
    grid = page.locator(".comparison-grid")
    before = height(grid)
    page.get_by_role("button", name="Show all 12 groups").click()
    expect(page.get_by_text("12 of 12 groups are shown")).to_be_visible()
    expect(grid_row(page, "2024001")).to_contain_text("match")
    switch = page.get_by_role("button", name=re.compile(r"^match\b"))
    expect(switch).to_have_attribute("aria-pressed", "true")
    until(lambda: height(grid) >= before + 7 * 32)
    expect(grid.locator(".ag-center-cols-container .ag-row")).to_have_count(12)


def height(element: Locator) -> float:
    """The height of an element, in pixels."""
    box = element.bounding_box()
    assert box is not None
    return box["height"]


def test_the_row_that_differs_is_next_to_its_counterpart(demo_seed: Seed, visit: Visit) -> None:
    page = visit(VIEWS["comparison"].address(demo_seed), width=NARROW)
    VIEWS["comparison"].come(page)
    open_tab(page, "Rows")
    pairs = page.get_by_test_id("paired-rows")
    expect(pairs).to_contain_text("40 only in bpc_reporting, 40 equal.")
    page.get_by_role("combobox", name="Group").click()
    page.get_by_role("option", name="company 1001, period 2024006").click()
    expect(pairs).to_contain_text("1 differs, 39 equal.")
    expect(page.get_by_role("option")).to_have_count(0)
    row = pairs.get_by_role("row").filter(has_text="≠")
    expect(row).to_have_count(1)
    expect(row.locator(".differs")).to_have_count(1)
    expect(row.locator(".differs")).to_contain_text("→")
    assert faults(page) == []
    assert_fits(page)


@pytest.mark.parametrize("dark", [True, False])
def test_a_page_that_is_not_built_yet_says_so_in_its_theme(
    demo: Serving, visit: Visit, *, dark: bool
) -> None:
    page = visit(f"{demo.url}/ui/compare", dark=dark, excuse="ERR_FAILED|is not defined")
    page.route("**/static/nicegui.js", lambda route: route.abort())
    page.goto(f"{demo.url}/ui/compare", wait_until="commit")
    expect(page.get_by_text("Loading the page …")).to_be_visible()
    shown = "rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)"
    expect(page.locator("body")).to_have_css("background-color", shown)
    page.unroute("**/static/nicegui.js")
    page.reload()
    expect(page.get_by_role("button", name="Compare", exact=True)).to_be_visible()
    expect(page.get_by_text("Loading the page …")).to_be_hidden()


def test_a_member_under_why_shows_its_groups(demo_seed: Seed, visit: Visit) -> None:
    page = visit(VIEWS["explanation"].address(demo_seed))
    VIEWS["explanation"].come(page)
    page.get_by_role("button", name="Show the groups of period 2024007").click()
    expect(page.get_by_role("tab", name="Differences")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text("1 of 12 groups are shown")).to_be_visible()
    page.keyboard.press("Tab")
    page.get_by_role("tab", name="Differences").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Schema")).to_be_focused()
    expect(page.get_by_role("tabpanel", name="Schema")).to_be_visible()


def test_a_colour_has_one_meaning(demo_seed: Seed, visit: Visit) -> None:
    page = visit(VIEWS["comparison"].address(demo_seed))
    VIEWS["comparison"].come(page)
    fills = "all => all.map(each => getComputedStyle(each).backgroundColor)"
    expect(page.locator(BAR).first).to_be_attached()
    classes = set(page.locator(".status-bar > div").evaluate_all(fills))
    bars = set(page.locator(".differences-chart path").evaluate_all(
        "all => all.map(each => getComputedStyle(each).fill)"
    ))  # fmt: skip
    open_tab(page, "Why")
    expect(page.locator(".heat-map path").first).to_be_attached()
    expect(page.locator(".share > div").first).to_be_attached()
    signs = set(page.locator(".heat-map path").evaluate_all(
        "all => all.map(each => getComputedStyle(each).fill).filter(fill => fill != 'none')"
    ))  # fmt: skip
    shares = set(page.locator(".share > div").evaluate_all(fills))
    assert not (classes | bars) & (signs | shares)
    assert not classes & shares


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Generator[Serving]:
    """A server whose sources differ by less than 1."""
    folder = tmp_path_factory.mktemp("page-small")
    with duckdb.connect(folder / "small.duckdb") as connection:
        connection.execute("CREATE TABLE ta AS SELECT 'k' || i AS k, 5.00 AS v FROM range(4) t(i)")
        connection.execute("CREATE TABLE tb AS SELECT k, v + 0.05 AS v FROM ta")
    (folder / "sources.yaml").write_text(SMALL_GAPS, encoding="utf-8")
    with serving(folder / "sources.yaml", **UNCOUNTED) as running:
        yield running


def test_the_axis_of_small_gaps_has_different_ticks(small: Serving, visit: Visit) -> None:
    page = visit(compared(small.url, source_a="one", source_b="two", measures=["v"]))
    ticks = page.locator(".differences-chart text")
    expect(ticks.filter(has_text="0,05").first).to_be_visible()

    def are_different() -> bool:
        texts = [text for text in ticks.all_text_contents() if re.fullmatch(r"0(,\d+)?", text)]
        return len(texts) == len(set(texts)) > 2

    until(are_different)
