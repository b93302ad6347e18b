"""Sessions in the drawer: search, rename, delete; and calls that wait for approval."""

from __future__ import annotations

from collections.abc import Generator

import pytest
import requests
from playwright.sync_api import Locator, Page, expect
from tests.e2e.browser.conftest import Visit, ask
from tests.support.careful import write_careful
from tests.support.paced_model import PacedModel, by_model
from tests.support.serving import Serving, serving

from skillian.demo.ledger import write_demo
from tinyagent import scripted_call


@pytest.fixture(scope="module")
def server(model: PacedModel, tmp_path_factory: pytest.TempPathFactory) -> Generator[Serving]:
    folder = tmp_path_factory.mktemp("page-careful")
    settings = {"SKILLIAN_SKILLS": str(write_careful(folder)), **by_model(model)}
    with serving(write_demo(folder), **settings) as running:
        yield running


def test_a_session_is_found_renamed_and_deleted(server: Serving, visit: Visit) -> None:
    for title in ("The first quarter", "The second quarter"):
        made = requests.post(f"{server.url}/sessions", json={"title": title}, timeout=60)
        made.raise_for_status()
    page = visit(server.url)
    rows = page.locator(".session-list li")
    search = page.get_by_role("textbox", name="Search sessions")
    search.fill("quarter")  # other tests leave sessions
    expect(rows).to_have_count(2)
    search.fill("second")
    expect(rows).to_have_count(1)
    rows.get_by_role("button").click()
    page.get_by_label("Title").fill("The third quarter")
    page.get_by_role("button", name="Rename", exact=True).click()
    expect(rows).to_have_count(0)
    search.fill("third")
    expect(rows).to_have_text(["The third quarter⋮"])
    rows.get_by_role("button").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete permanently").click()
    expect(rows).to_have_count(0)
    kept = requests.get(f"{server.url}/sessions", timeout=60).json()
    titles = [each["title"] for each in kept["sessions"]]
    assert [title for title in titles if "quarter" in title] == ["The first quarter"]


@pytest.mark.parametrize(("choice", "text"), [("Approve", '"posted"'), ("Deny", "denied")])
def test_a_call_waits_for_approval(
    server: Serving, model: PacedModel, visit: Visit, choice: str, text: str
) -> None:
    page = visit(server.url)
    model.says("correct", scripted_call("post_correction", document="0000000076"), "Seen to.")
    ask(page, "correct")
    expect(card(page)).to_contain_text("waiting for approval")
    page.reload()
    page.get_by_role("button", name=choice, exact=True).click()
    expect(page.get_by_test_id("answer")).to_contain_text("Seen to.")
    card(page).get_by_role("button").first.click()
    expect(card(page)).to_contain_text(text, ignore_case=True)


def card(page: Page) -> Locator:
    """The tool card of the call."""
    return page.get_by_test_id("tool-card").filter(has_text="post_correction")
