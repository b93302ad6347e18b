"""An answer in progress: stopped, after a reload, and after the server died."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.browser.conftest import NARROW, WIDE, Visit, ask
from tests.support.paced_model import HERE, PacedModel, by_model
from tests.support.ports import own_port
from tests.support.serving import Serving, serving
from tests.support.waits import until

from skillian.demo.ledger import write_demo
from tinyagent import scripted_call

# How large an element's text is shown, and what is shown behind it.
SHOWN = "at => [getComputedStyle(at).fontSize, getComputedStyle(at, '::after').content]"
both_widths = pytest.mark.parametrize("width", [WIDE, NARROW])
# What Chromium writes while nobody listens.
GONE = r"ERR_CONNECTION_REFUSED|WebSocket connection to|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE"


@both_widths
def test_a_running_answer_is_stopped(
    scripted: Serving, model: PacedModel, visit: Visit, width: int
) -> None:
    page = visit(scripted.url, width=width)
    model.says("stop me", f"The beginning {HERE} and the end.")
    ask(page, "stop me")
    expect(answer(page)).to_contain_text("The beginning")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_hidden()
    model.let_go()
    expect(answer(page)).not_to_contain_text("and the end")
    model.says("stop me", "Whole.")
    page.get_by_role("button", name="Ask again", exact=True).last.click()
    expect(answer(page)).to_contain_text("Whole.")


@both_widths
def test_an_answer_continues_after_a_reload(
    scripted: Serving, model: PacedModel, visit: Visit, width: int
) -> None:
    page = visit(scripted.url, width=width)
    model.says(
        "reload", scripted_call("list_sources"), f"Before the reload {HERE} after the reload."
    )
    ask(page, "reload")
    expect(answer(page)).to_contain_text("Before the reload")
    page.reload()
    expect(answer(page)).to_contain_text("Before the reload")
    expect(page.get_by_test_id("tool-card")).to_have_count(1)
    model.let_go()
    expect(answer(page)).to_have_text(re.compile("Before the reload\\s+after the reload."))


def test_a_question_is_edited_and_sent_again(
    scripted: Serving, model: PacedModel, visit: Visit
) -> None:
    page = visit(scripted.url)
    model.says("the first", "First answer.")
    model.says("the second", "Second answer.")
    ask(page, "the first")
    expect(answer(page)).to_contain_text("First answer.")
    expect(page.get_by_role("button", name="Ask again", exact=True)).to_be_visible()
    page.get_by_role("button", name="Edit", exact=True).last.click()
    box = page.get_by_role("textbox", name="Message")
    expect(box).to_have_value("the first")
    expect(box).to_be_focused()  # the last that the server does to it
    ask(page, "the second")
    expect(answer(page)).to_contain_text("Second answer.")


def test_a_page_continues_when_its_server_is_restarted(
    model: PacedModel, visit: Visit, tmp_path: Path
) -> None:
    sources = write_demo(tmp_path)
    model.says("die", f"Before the end {HERE} never said.")
    port = str(own_port())
    with serving(sources, "--port", port, **by_model(model)) as server:
        page = visit(server.url, excuse=GONE)
        ask(page, "die")
        expect(answer(page)).to_contain_text("Before the end")
        server.stop(signal.SIGKILL)
    model.let_go()
    model.says("again", "Well again.")
    with serving(sources, "--port", port, **by_model(model)):
        expect(answer(page)).to_contain_text("broken off")
        expect(page.locator(".question")).to_have_count(1)
        ask(page, "again")
        expect(answer(page)).to_contain_text("Well again.")
        expect(page.locator(".question")).to_have_count(2)


def test_a_killed_server_is_reported_and_a_draft_stays(
    model: PacedModel, visit: Visit, tmp_path: Path
) -> None:
    sources = write_demo(tmp_path / "killed")
    port, draft = str(own_port()), "half of a question"
    with serving(sources, "--port", port, **by_model(model)) as server:
        page = visit(server.url, excuse=GONE)
        model.says("killed", f"The beginning {HERE} and the end.")
        ask(page, "killed")
        expect(answer(page)).to_contain_text("The beginning")
        waiting = page.locator(".working")
        expect(waiting).to_be_visible()
        assert waiting.evaluate(SHOWN)[1] == "none"
        page.get_by_role("textbox", name="Message").fill(draft)
        server.stop(signal.SIGKILL)
        expect(page.locator("#popup")).to_be_visible()
        until(lambda: waiting.evaluate(SHOWN)[0] == "0px")
        until(lambda: "The server does not answer" in waiting.evaluate(SHOWN)[1])
    model.let_go()
    with serving(sources, "--port", port, **by_model(model)):
        # The page reconnects, and the turn counts as broken once its lease has ended.
        expect(page.locator(".fault.answer")).to_contain_text("broken off")
        expect(page.locator(".working")).to_be_hidden()
        box = page.get_by_role("textbox", name="Message")
        expect(box).to_have_value(draft)
        page.reload()
        expect(box).to_have_value(draft)
        model.says(draft, "Whole.")
        box.press("Enter")
        expect(answer(page)).to_contain_text("Whole.")
        expect(box).to_have_value("")
        page.reload()
        expect(answer(page)).to_contain_text("Whole.")
        expect(box).to_have_value("")


def answer(page: Page) -> Locator:
    """The last answer."""
    return page.locator(".answer:visible").last
