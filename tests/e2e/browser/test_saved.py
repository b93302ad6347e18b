"""A comparison that is saved, run again, annotated, shared and deleted on the page."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.e2e.browser.conftest import Visit, assert_fits
from tests.e2e.browser.test_access import faults
from tests.e2e.browser.views import Seed


def test_a_result_is_saved_and_followed(demo_seed: Seed, visit: Visit) -> None:
    page = visit(f"{demo_seed.url}/ui/compare/{demo_seed.comparison}")
    page.get_by_role("button", name="Save …").click()
    page.get_by_role("textbox", name="Name").fill("Closing of May")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Closing of May")).to_be_visible()
    expect(page).to_have_url(re.compile("/ui/saved/.+"))
    expect(page.locator("nav [aria-current=page]")).to_have_text("Compare")
    expect(page.get_by_role("img", name=re.compile("^Findings of each run: "))).to_be_visible()
    expect(page.get_by_text("5 new · 0 open · 0 known · 0 fixed")).to_be_visible()
    findings = page.locator(".finding")
    expect(findings.first).to_contain_text("● new")
    expect(findings.first.locator(".finding-change")).to_contain_text(
        re.compile(r"amount: .+ → .+")
    )
    page.get_by_role("button", name="Run again").click()
    expect(page.get_by_text("0 new · 5 open · 0 known · 0 fixed")).to_be_visible()
    expect(page.get_by_text("Nothing new since the run of")).to_be_visible()
    findings.first.get_by_role("button", name=re.compile("^Note on: ")).click()
    page.get_by_role("textbox", name="What is known about it").fill("Booked in March")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".finding", has_text="Booked in March")).to_contain_text("◐ known")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("switch", name="Shared with everyone who has a key").click()
    link = page.get_by_role("textbox", name="Link")
    expect(link).to_have_value(page.url)
    assert faults(page) == []
    assert_fits(page)
    page.get_by_role("button", name="Accept all").click()
    page.get_by_role("textbox", name="What is known about it").fill("The move of May")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".finding", has_text="The move of May")).to_have_count(4)
    page.goto(f"{demo_seed.url}/ui/start")
    item = page.locator(".saved-list li", has_text="Closing of May")
    expect(item).to_contain_text("They differ")
    item.get_by_role("link").click()
    page.get_by_role("link", name="Open the last result").click()
    expect(page).to_have_url(re.compile("/ui/compare/"))
    page.go_back()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete permanently").click()
    expect(page).to_have_url(re.compile("/ui/start$"))
    expect(page.get_by_role("link", name="Closing of May")).to_have_count(0)
