"""The list of runs, and a comparison that the form starts as a run."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from tests.e2e.browser.conftest import NARROW, WIDE, Visit, assert_fits
from tests.e2e.browser.views import QUESTION, VIEWS, Seed


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_runs_are_listed_with_links_to_their_results(
    durable_seed: Seed, visit: Visit, width: int
) -> None:
    page = visit(durable_seed.url, width=width)
    page.get_by_role("link", name="Runs", exact=True).click()
    rows = page.locator(".run-list li")
    turn = rows.filter(has_text="Turn 1")
    expect(turn).to_contain_text(QUESTION)
    expect(turn).to_contain_text("✓ completed")
    assert_fits(page)
    turn.get_by_role("link", name="Timeline").click()
    expect(page.locator("body")).to_contain_text("compare_sources")
    page.go_back()
    rows.filter(has_text="Comparison").last.get_by_role("link").click()
    expect(page).to_have_url(re.compile("/ui/compare/.+"))
    expect(page.locator(".comparison-grid")).to_contain_text("2024007")


def test_the_form_compares_as_a_run(durable_seed: Seed, visit: Visit) -> None:
    page = visit(VIEWS["runs"].address(durable_seed))
    VIEWS["runs"].come(page)
    before = page.locator(".run-list li").filter(has_text="Comparison").count()
    page.goto(f"{durable_seed.url}/ui/compare")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page).to_have_url(re.compile("/ui/compare/.+"))
    expect(page.locator(".status-bar")).to_be_visible()
    page.goto(VIEWS["runs"].address(durable_seed))
    expect(page.locator(".run-list li").filter(has_text="Comparison")).to_have_count(before + 1)
