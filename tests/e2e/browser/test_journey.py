"""From two unlike files to an explained difference that is watched, by what a person sees."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Generator
from pathlib import Path

import pytest
import requests
from playwright.sync_api import FilePayload, Page, expect
from tests.e2e.browser.conftest import Visit
from tests.e2e.browser.test_uploads import COUNT
from tests.e2e.browser.views import drop, open_tab
from tests.support.invoices import BLANKS, DIFFERING, ROWS, english, german
from tests.support.serving import UNCOUNTED, Serving, serving

from skillian.demo.ledger import write_demo

MOST_CLICKS = 12


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Serving]:
    """A server of its own: its files are those of this test."""
    with serving(write_demo(tmp_path_factory.mktemp("journey")), **UNCOUNTED) as running:
        yield running


@pytest.fixture(autouse=True)
def _without_files(server: Serving) -> None:
    for each in requests.get(f"{server.url}/uploads", timeout=60).json():
        requests.delete(f"{server.url}/uploads/{each['id']}", timeout=60).raise_for_status()


def downloaded(page: Page, name: str) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    text = Path(download.value.path()).read_text(encoding="utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def test_a_german_and_an_english_export_are_compared_and_explained(
    server: Serving, visit: Visit
) -> None:
    page = visit(f"{server.url}/")
    page.evaluate(COUNT)
    drop(page, [("erp.csv", german().encode())])
    expect(page.get_by_text("erp.csv is here. Add the file to compare it with.")).to_be_visible()
    expect(page.get_by_text("decimal comma and dates such as 31.12.2024")).to_be_visible()
    drop(page, [("export.csv", english().encode())])
    match = page.get_by_role("region", name="Match")
    expect(match).to_contain_text(f"{ROWS} rows meet, {DIFFERING} differ")
    for name, partner, effect in (
        ("Rechnungsnr", "invoice_no", ""),
        ("Kunde", "customer", f"{BLANKS} differ"),
        ("Betrag", "amount", f"{DIFFERING - BLANKS} differ"),
        ("Datum", "date", "equal"),
    ):
        line = match.get_by_role("listitem").filter(has_text=name)
        expect(line.get_by_role("combobox", name=f"{name} in B")).to_have_value(partner)
        expect(line).to_contain_text(effect)
    match.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_test_id("verdict")).to_contain_text(f"{DIFFERING} rows differ")
    expect(page.get_by_text(f"{DIFFERING} rows are shown")).to_be_visible()
    grid = page.get_by_role("region", name="Rows that differ")
    expect(grid.locator("mark").first).to_have_text("·")
    rows = downloaded(page, "Download what is shown as CSV")
    assert len(rows) == DIFFERING
    assert {row["differing"] for row in rows} == {"Kunde", "Betrag"}
    open_tab(page, "Why")
    why = page.get_by_test_id("rules")
    expect(why).to_contain_text(f"Kunde (trimmed) explains {BLANKS} of {BLANKS} differences")
    result = page.url
    why.get_by_role("button", name=re.compile("Apply: Kunde")).click()
    expect(page).not_to_have_url(result)
    left = DIFFERING - BLANKS
    expect(page.get_by_test_id("verdict")).to_contain_text(f"{left} rows differ")
    clicks, keys = page.evaluate("['click', 'keydown'].map(x => +sessionStorage.getItem(x))")
    assert (clicks <= MOST_CLICKS, keys) == (True, 0)
    is_watched(page, left)


def is_watched(page: Page, left: int) -> None:
    """Save the result; a run again finds nothing new, and one with a newer file only its change."""
    page.get_by_role("button", name="Save …").click()
    page.get_by_role("textbox", name="Name").fill("Invoices")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text(f"{left} new · 0 open · 0 known · 0 fixed")).to_be_visible()
    page.get_by_role("button", name="Run again").click()
    expect(page.get_by_text(f"0 new · {left} open · 0 known · 0 fixed")).to_be_visible()
    newer = FilePayload(name="june.csv", mimeType="text/csv", buffer=english(changed=1).encode())
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose the new export.csv").click()
    chooser.value.set_files(newer)
    page.get_by_role("button", name="Run with the new file").click()
    expect(page.get_by_text(f"1 new · {left} open · 0 known · 0 fixed")).to_be_visible()
    [new] = page.locator(".finding", has_text="● new").all()
    expect(new).to_contain_text(f"R-{1000 + DIFFERING}")


def test_a_choice_shows_its_effect_at_once(server: Serving, visit: Visit) -> None:
    page = visit(f"{server.url}/ui/start")
    files = [("erp.csv", german().encode()), ("export.csv", english().encode())]
    drop(page, files)
    match = page.get_by_role("region", name="Match")
    expect(match).to_contain_text(f"{DIFFERING} differ")
    match.get_by_role("combobox", name="Kunde is compared").click()
    page.get_by_role("option", name="without spaces around", exact=True).click()
    left = DIFFERING - BLANKS
    expect(match).to_contain_text(f"{ROWS} rows meet, {left} differ")
    match.get_by_role("combobox", name="Betrag is compared").click()
    page.get_by_role("option", name="within an amount").click()
    match.get_by_role("textbox", name="Value for Betrag").fill("0.01")
    expect(match).to_contain_text(f"{ROWS} rows meet.")
    match.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_test_id("verdict")).to_contain_text(f"All {ROWS} rows match")
    page.get_by_role("list", name="Scope").get_by_role("button", name="whole rows").click()
    change = page.get_by_role("region", name="Change and compare again")
    expect(change.get_by_role("switch", name="Rechnungsnr is a key column")).to_be_focused()
    expect(change).to_contain_text(f"{ROWS} rows meet.")
    change.get_by_role("combobox", name="Betrag is compared").click()
    page.get_by_role("option", name="exactly").click()
    expect(change).to_contain_text(f"{ROWS} rows meet, {left} differ")
    page.get_by_role("list", name="Scope").get_by_role("button", name="all rows").click()
    change.get_by_role("button", name="Add a filter").click()
    page.get_by_role("combobox", name="Values").fill(f"R-{1000 + BLANKS}")
    page.keyboard.press("Enter")
    expect(change).to_contain_text("1 row meets, 1 differ")
    change.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_test_id("verdict")).to_contain_text("1 row differs")
    expect(page.get_by_role("list", name="Scope")).to_contain_text(
        f"Rechnungsnr is R-{1000 + BLANKS}"
    )
