"""From a question to the answer, the comparison, its rows, its explanation, and downloads."""

from __future__ import annotations

import csv
import io
import re
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.browser.conftest import NARROW, WIDE, Visit, assert_fits
from tests.e2e.browser.views import BAR, VIEWS, Seed, open_tab
from tests.support.serving import COMMAND, Serving
from tests.support.waits import until

both_widths = pytest.mark.parametrize("width", [WIDE, NARROW])


def test_the_demo_prints_the_address_of_its_page(demo: Serving, tmp_path: Path) -> None:
    until(lambda: f"The page: {demo.url}/" in demo.log)
    output = subprocess.check_output([COMMAND, "demo"], cwd=tmp_path, text=True)
    assert "skillian demo --serve" in output


@both_widths
def test_a_question_is_answered_and_its_tool_card_opens(
    demo: Serving, visit: Visit, width: int
) -> None:
    page = visit(demo.url, width=width)
    box = page.get_by_role("textbox", name="Message")
    box.fill("Compare amounts")
    box.press("Shift+Enter")
    box.press_sequentially("between fi_reporting and bpc_reporting for company 1001")
    box.press("Enter")
    expect(page.get_by_test_id("answer").last).to_contain_text("2024007")
    expect(page).to_have_url(re.compile("/ui/chat/.+"))
    card = page.get_by_test_id("tool-card").filter(has_text="compare_sources")
    card.get_by_role("button", name=re.compile("compare_sources")).first.click()
    expect(card).to_contain_text("fi_reporting")
    expect(card).to_contain_text("GROUP BY")
    expect(box).to_have_value("")
    assert_fits(page)


@both_widths
def test_the_answer_has_charts_and_rows(demo_seed: Seed, visit: Visit, width: int) -> None:
    page = visit(VIEWS["chat"].address(demo_seed), width=width)
    page.locator(".comparison-card").get_by_role("button").first.wait_for()
    expect(page.get_by_test_id("figures")).to_be_visible()
    expect(page.locator(".status-bar")).to_be_visible()
    expect(page.locator(".differences-chart")).to_be_visible()
    expect(page.locator(".comparison-grid")).to_contain_text("2024007")
    assert_fits(page)


@both_widths
def test_a_click_on_a_bar_shows_the_rows_of_both_sides(
    demo_seed: Seed, visit: Visit, width: int
) -> None:
    page = visit(VIEWS["comparison"].address(demo_seed), width=width)
    expect(page.locator(BAR).first).to_be_attached()
    page.locator(".differences-chart").click()
    drill = page.locator(".drill-down")
    expect(drill).to_contain_text("fi_reporting")
    expect(drill).to_contain_text("bpc_reporting")
    expect(drill).to_contain_text("400000")
    until(lambda: right_end(drill.locator(".pairs .scroll-x")) < right_end(drill))
    page.keyboard.press("Escape")
    expect(drill).to_be_hidden()


@both_widths
def test_the_gap_is_explained(demo_seed: Seed, visit: Visit, width: int) -> None:
    page = visit(VIEWS["comparison"].address(demo_seed), width=width)
    open_tab(page, "Why")
    member = page.locator(".explanation .member").filter(has_text="2024007").first
    expect(member).to_be_visible()
    expect(member.locator(".share")).to_be_visible()
    assert_fits(page)


@both_widths
def test_the_comparison_is_downloaded(demo_seed: Seed, visit: Visit, width: int) -> None:
    page = visit(VIEWS["comparison"].address(demo_seed), width=width)
    rows = list(csv.DictReader(io.StringIO(downloaded(page, "CSV").decode("utf-8-sig"))))
    assert "2024007" in {row["period"] for row in rows}
    assert b"<!doctype html>" in downloaded(page, "HTML")[:100].lower()
    assert downloaded(page, "XLSX")[:2] == b"PK"
    assert downloaded(page, "JSON")[:1] == b"{"


@both_widths
def test_the_theme_is_kept(demo: Serving, visit: Visit, width: int) -> None:
    page = visit(f"{demo.url}/ui/settings", width=width)
    dark = page.get_by_role("radio", name="Dark")
    expect(dark).to_be_visible()
    light = background(page)
    dark.click()
    page.wait_for_function(
        "light => getComputedStyle(document.body).backgroundColor != light", arg=light
    )
    until(lambda: "skillian-theme=dark" in page.evaluate("document.cookie"))
    page.reload()
    expect(page.locator("body.body--dark")).to_be_visible()
    assert background(page) != light


def downloaded(page: Page, name: str) -> bytes:
    """Download the link with this name."""
    with page.expect_download() as waiting:
        page.get_by_role("link", name=re.compile(name)).click()
    return Path(waiting.value.path()).read_bytes()


def right_end(element: Locator) -> float:
    """Where an element ends on its right, in pixels."""
    box = element.bounding_box()
    assert box is not None
    return box["x"] + box["width"]


def background(page: Page) -> str:
    """The background colour of the page."""
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))
