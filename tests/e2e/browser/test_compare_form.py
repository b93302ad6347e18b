"""The comparison form: values that are known, limits that apply, and what it refuses."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.e2e.browser.conftest import NARROW, Visit, assert_fits, choose
from tests.e2e.browser.test_access import faults
from tests.support.serving import Serving


def test_values_of_a_filter_are_chosen_or_typed(demo: Serving, visit: Visit) -> None:
    page = visit(f"{demo.url}/ui/compare")
    page.get_by_role("button", name="Add a filter").click()
    expect(page.locator("datalist option[value='1001']").first).to_be_attached()  # values are known
    choose(page, "Values", "1001")
    page.get_by_role("combobox", name="Values").press_sequentially("1009")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page).to_have_url(re.compile("/ui/compare/.+"))
    expect(page.locator(".view")).to_contain_text("company is 1001, 1009")


def test_the_form_shows_limits_and_refuses_one_source_twice(demo: Serving, visit: Visit) -> None:
    page = visit(f"{demo.url}/ui/compare", width=NARROW)
    expect(page.get_by_role("group", name="Limits of the classes")).to_contain_text(
        "a match up to 0.01 and 0.01 %"
    )
    choose(page, "Source B", "fi_reporting")
    expect(page.locator(".compare-form")).to_contain_text("A and B are the same. Choose two.")
    page.get_by_role("button", name="Add a filter").click()
    choose(page, "Condition", "is from … to")
    assert faults(page) == []
    assert_fits(page)
