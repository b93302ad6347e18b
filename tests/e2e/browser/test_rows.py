"""A comparison of whole rows: from the form to the result and its report."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs

from playwright.sync_api import expect
from tests.e2e.browser.conftest import NARROW, Visit, assert_fits, choose
from tests.e2e.browser.test_access import faults
from tests.e2e.browser.test_walk import downloaded
from tests.e2e.browser.views import VIEWS, Seed


def test_rows_are_compared_by_key_and_the_report_is_downloaded(
    customers_seed: Seed, visit: Visit
) -> None:
    page = visit(VIEWS["rows-form"].address(customers_seed), width=NARROW)
    VIEWS["rows-form"].come(page)
    choose(page, "Key columns", "id")
    choose(page, "Ignored columns", "segment", "grade")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page).to_have_url(re.compile("/ui/compare/.+"))
    expect(page.get_by_test_id("verdict")).to_contain_text("24 rows differ")
    tabs = ["Differences", "Columns", "Why", "Change", "SQL"]
    expect(page.get_by_role("tab")).to_have_text(tabs)
    expect(page.locator("main img")).to_have_count(0)
    assert_fits(page)
    grid = page.get_by_role("region", name="Rows that differ")
    first = grid.locator('.ag-center-cols-container .ag-row[row-index="0"]')
    expect(first).to_contain_text("Germany")
    classes = page.get_by_role("group", name="Classes shown")
    for hidden in ("differing", "only in customers 2", "repeated key"):
        classes.get_by_role("button", name=hidden).click()
    expect(page.get_by_text("1 row is shown")).to_be_visible()
    expect(first).to_contain_text("only in customers_copy")
    assert_fits(page)
    assert b"class,differing,rows a" in downloaded(page, "CSV")
    assert b"<!doctype html>" in downloaded(page, "HTML")[:100].lower()
    assert downloaded(page, "JSON")[:1] == b"{"


# Calls of the page's functions, in German, and what they return.
SHOWN: tuple[tuple[str, object], ...] = (
    ("numbers('1.234')", ["1.234", "1234"]),
    ("numbers('x')", []),
    ("typed('9007199254740993')", "9007199254740993"),
    ("typed(' -1.234.567,50')", "-1234567.50"),
    ("typed('1234,5')", "1234.5"),
    ("typed('+5')", "5"),
    ("typed('1.5')", "1.5"),
    ("typed('1,234,567.5')", "1,234,567.5"),  # the service refuses it
    ("typed('NaN')", "NaN"),
    (r"shown('a\u00a0b')", r"a\u00a0b"),
    (r"shown('a\\u00a0b')", r"a\\u00a0b"),
    (r"read(skillian.shown('a\\u00a0b')) === 'a\\u00a0b'", True),
    (r"read(skillian.shown('a\u00a0b')) === 'a\u00a0b'", True),
    (r"read('\\u0041\\n')", r"\u0041\n"),
    ("shown(null)", "NULL"),
    ("shown(undefined)", ""),
    ("shown('')", "empty"),
    ("marked('a·b', 'a b').innerHTML", r"a<mark>\u00b7</mark>b"),
    ("marked('a b', 'a·b').innerHTML", "a<mark>·</mark>b"),
    ("marked('<b>' + 'a'.repeat(50) + '1', '<b>' + 'a'.repeat(50) + '2').textContent",
     "…aaaaaaaaaaaa1"),
)  # fmt: skip


def test_a_filter_is_written_as_the_grid_shows_values(customers_seed: Seed, visit: Visit) -> None:
    page = visit(VIEWS["rows"].address(customers_seed), excuse="422")
    VIEWS["rows"].come(page)
    assert [page.evaluate(f"skillian.{call}") for call, _ in SHOWN] == [each for _, each in SHOWN]
    first = page.locator('.comparison-grid .ag-row[row-index="0"]')
    page.get_by_role("button", name="differing 24").click()
    page.get_by_role("button", name="only in customers 2").click()
    page.get_by_role("button", name="only in customers_copy 1").click()
    expect(first).to_contain_text("repeated key 1 : 2")
    expect(first.locator("[col-id=a2]")).to_have_text("")
    page.get_by_role("button", name="differing 24").click()
    null = page.locator('.comparison-grid .ag-row[row-index="2"] [col-id=b2]')
    expect(null).to_have_text("NULL")
    wanted: list[str] = []
    page.on("request", lambda each: wanted.extend(parse_qs(each.url).get("where", [])))
    page.locator(".ag-header-cell[col-id=a2] .ag-header-cell-filter-button").click()
    value, apply = page.get_by_role("textbox", name="Filter Value"), page.get_by_text("Apply")
    for typed, message in (
        ("9007199254740993", "0 rows are shown"),
        ("1.234", "1.234 can be 1234 or 1,234"),
        ("x", "takes a number"),
        ("699,99", "2 rows are shown"),
    ):
        value.fill(typed)
        apply.click()
        expect(page.get_by_text(message)).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(int(typed in {"1.234", "x"}))
    page.get_by_role("searchbox", name="Search the rows").fill("712,50")
    expect(page.get_by_text("1 row is shown")).to_be_visible()
    sent = [json.loads(each)[0]["filter"] for each in wanted]
    assert sent == [{"gt": "9007199254740993"}, {"gt": "x"}, {"gt": "699.99"}, {"gt": "699.99"}]


def test_the_tool_card_shows_which_cells_differ(customers_seed: Seed, visit: Visit) -> None:
    page = visit(VIEWS["rows-card"].address(customers_seed), width=NARROW)
    VIEWS["rows-card"].come(page)
    card = page.get_by_test_id("tool-card").first
    expect(card).to_contain_text("24 rows differ")
    expect(card.get_by_role("region", name="Rows that differ")).to_contain_text("Germany → DE")
    assert_fits(page)


def test_keys_go_through_the_rows_and_say_what_they_do(customers_seed: Seed, visit: Visit) -> None:
    page = visit(VIEWS["rows"].address(customers_seed))
    VIEWS["rows"].come(page)
    expect(page.get_by_role("region", name="Rows that differ")).to_contain_text("Germany")
    focused = page.locator(".comparison-grid .ag-cell-focus")
    rows = []
    for key in ("j", "j", "j", "k"):
        page.keyboard.press(key)
        expect(focused.last).to_be_focused()
        rows.append(focused.last.evaluate("cell => cell.parentElement.ariaRowIndex"))
    assert [int(row) - int(rows[0]) for row in rows] == [0, 1, 2, 1]
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search the rows")).to_be_focused()
    page.keyboard.press("?")  # typed
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("search the rows")
    assert faults(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Keys").click()
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
