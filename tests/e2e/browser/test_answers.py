"""Answers in a conversation: tables, charts, scopes that can be changed, and waiting."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect
from tests.e2e.browser.conftest import NARROW, Visit, ask, assert_fits
from tests.support.paced_model import HERE, PacedModel
from tests.support.serving import Serving

COMPARE = "Compare amounts between fi_reporting and bpc_reporting for company 1001"
BY_COMPANY = "Show amount by company of fi_reporting"


def test_a_part_of_the_scope_is_changed_without_a_model(demo: Serving, visit: Visit) -> None:
    page = visit(demo.url)
    ask(page, COMPARE)
    scopes = page.get_by_role("group", name="Scope of the answer")
    expect(page.get_by_test_id("answer")).to_contain_text("amount in total: 2.172.539,90 EUR")
    expect(page.get_by_test_id("verdict")).to_be_visible()
    expect(page.get_by_text("as if a load had run twice")).to_have_count(1)
    chip = scopes.last.get_by_role("button", name=re.compile("^Filters: company: 1001"))
    chip.focus()
    page.keyboard.press("Enter")  # no pointer is needed
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="Change: Filters")).to_be_visible()
    expect(dialog).to_contain_text("1001")
    dialog.get_by_role("button", name="Remove this filter").click()
    dialog.get_by_role("button", name="Ask again").click()
    expect(scopes).to_have_count(2)
    expect(scopes.last).to_contain_text("all of company, period")
    expect(page.locator(".question-text").last).to_have_text("Filters changed: none")
    expect(page.get_by_test_id("answer").last).to_contain_text("36 groups")
    page.reload()
    expect(scopes).to_have_count(2)


def test_limits_are_changed(demo: Serving, visit: Visit) -> None:
    page = visit(demo.url)
    ask(page, COMPARE)
    scopes = page.get_by_role("group", name="Scope of the answer")
    scopes.last.get_by_role("button", name=re.compile("^Limits")).click()
    match = page.get_by_role("textbox", name="A match differs by at most: amount")
    expect(match).to_have_attribute("placeholder", "0.01")
    match.fill("5")
    page.get_by_role("dialog").get_by_role("button", name="Ask again").click()
    expect(scopes).to_have_count(2)
    expect(scopes.last).to_contain_text("match within 5 EUR")


def test_an_answer_is_a_verdict_and_findings_in_the_readers_locale(
    demo: Serving, visit: Visit
) -> None:
    page = visit(demo.url)
    ask(page, COMPARE)
    answer = page.get_by_test_id("answer")
    expect(answer.locator("p").first).to_have_text(re.compile(r"^7 of 12 groups match \(58,3 %\)"))
    expect(answer.locator("li")).to_have_count(5)
    expect(answer.locator("li").nth(1)).to_contain_text(
        "period 2024004: 192.258,87 EUR in fi_reporting, 384.517,74 EUR in bpc_reporting,"
        " difference +192.258,87 EUR"
    )
    limits = page.get_by_role("button", name="Limits: match within 0,01 EUR and 0,01 % (change)")
    expect(limits).to_be_visible()
    expect(page.get_by_test_id("verdict")).to_be_visible()
    shown = page.locator(".turn").inner_text()
    assert not re.search(r"\d,\d{3}\b|\d\.\d\d\b|\dT\d\d:", shown)  # as in 2,172,539.90
    page.get_by_role("button", name="compare_sources: arguments and result").click()
    expect(page.locator(".tool-body")).to_contain_text("Total amount: 2.172.539,90 EUR")


def test_a_follow_up_is_a_button_of_the_newest_answer(demo: Serving, visit: Visit) -> None:
    page = visit(demo.url)
    ask(page, COMPARE)
    offered = page.get_by_role("group", name="What this result can also show")
    labels = ["Why", "Only period 2024004, by account", "Show the rows behind", "By account"]
    expect(offered.get_by_role("button")).to_have_text(labels)
    offered.get_by_role("button", name="Show the rows behind").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".question-text").last).to_have_text(
        "Show the rows behind company 1001 and period 2024004"
    )
    answer = page.get_by_test_id("answer").last
    expect(answer.get_by_role("region", name="Rows of bpc_reporting")).to_be_visible()
    expect(page.locator(".turn").last).not_to_have_attribute("aria-busy", "true")
    expect(offered).to_have_count(0)
    ask(page, BY_COMPANY)
    expect(offered.get_by_role("button").first).to_have_text("Compare with bpc_reporting")
    page.reload()
    expect(offered.get_by_role("button")).to_have_count(4)
    offered.get_by_role("button", name="Compare with bpc_reporting").click()
    expect(page.get_by_test_id("answer").last).to_contain_text("1 of 3 groups match")


def test_the_answer_to_a_query_is_a_table_with_a_chart(demo: Serving, visit: Visit) -> None:
    page = visit(demo.url)
    ask(page, BY_COMPANY)
    answer = page.get_by_test_id("answer").last
    amount = answer.get_by_role("cell", name="2.172.539,90")  # the locale of the browser
    expect(amount).to_have_css("text-align", "right")
    expect(
        answer.get_by_role("img", name=re.compile("^amount by company: 1001: 217"))
    ).to_be_visible()
    ask(page, "Show amount by company, period and account of fi_reporting")
    answer = page.get_by_test_id("answer").last
    expect(answer.get_by_text("There are more.", exact=True)).to_be_visible()
    expect(answer.get_by_role("img")).to_have_count(0)
    answer.get_by_role("button", name="Get all rows").click()
    answer = page.get_by_test_id("answer").last
    answer.get_by_role("button", name="Show all 180 rows").click()
    expect(answer.locator("tbody tr")).to_have_count(180)


def test_the_question_appears_at_once_and_waiting_says_what_happens(
    scripted: Serving, model: PacedModel, visit: Visit
) -> None:
    page = visit(scripted.url)
    model.says("First?", f"One {HERE} two.")
    ask(page, "First?")
    model.wait_until_held()
    expect(page.get_by_role("status").last).to_contain_text("…")
    ask(page, "Second?")  # its turn begins after the first
    expect(page.locator(".question-text")).to_have_text(["First?", "Second?"])
    expect(page.get_by_role("status").last).to_have_text("Sending the question …")
    model.let_go()
    expect(page.get_by_test_id("answer")).to_have_count(2)
    expect(page.locator(".question-text")).to_have_text(["First?", "Second?"])


def test_an_address_that_does_not_exist_shows_a_page(demo: Serving, visit: Visit) -> None:
    page = visit(demo.url, excuse="404")
    answer = page.goto(f"{demo.url}/nothing")
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_role("alert")).to_have_text("This page does not exist, or no longer exists.")
    page.locator(".view").get_by_role("link", name="Start").click()
    expect(page).to_have_url(re.compile("/ui/start$"))
    for path in ("/sessions/0123", "/comparisons/abc", "/runs/abc"):
        reply = page.request.get(f"{demo.url}{path}", headers={"Accept": "text/html"})
        assert reply.headers["content-type"] == "application/problem+json"


def test_a_timeline_shows_no_tokens_at_first(
    scripted: Serving, model: PacedModel, visit: Visit
) -> None:
    page = visit(scripted.url)
    model.says("Which?", "These.")
    ask(page, "Which?")
    page.get_by_role("link", name="Timeline").click()
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    expect(page.get_by_text(re.compile("tokens"))).to_be_hidden()


def test_help_is_in_paragraphs_of_its_own(demo: Serving, visit: Visit) -> None:
    page = visit(demo.url)
    ask(page, f"{COMPARE}, gibberish foo")
    help_text = page.get_by_test_id("answer").last.locator("p").last
    expect(help_text).to_have_text("It also understands:")


def test_a_dialog_of_a_scope_fits_a_phone(demo: Serving, visit: Visit) -> None:
    page: Page = visit(demo.url, width=NARROW)
    ask(page, COMPARE)
    for part in ("Sources", "Measures", "Filters", "Grouping", "Limits"):
        page.get_by_role("button", name=re.compile(f"^{part}: ")).first.click()
        expect(page.get_by_role("dialog")).to_contain_text(f"Change: {part}")
        assert_fits(page)
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
