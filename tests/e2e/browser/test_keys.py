"""A server with keys: the sign-in, where the browser keeps the key, and separate sessions."""

from __future__ import annotations

import re

import requests
from playwright.sync_api import Page, expect
from tests.e2e.browser.conftest import KEYS, Visit, ask
from tests.support.serving import Serving

REFUSED = "401|403"


def test_the_sign_in_is_kept_where_no_script_can_read_it(locked: Serving, visit: Visit) -> None:
    page = visit(locked.url, excuse=REFUSED)
    log_in(page, "a-wrong-key-0123456789")
    expect(page.get_by_role("alert")).not_to_be_empty()
    log_in(page, KEYS[0])
    expect(page.get_by_role("button", name="Choose files")).to_be_visible()
    page.goto(f"{locked.url}/ui/")
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    page.reload()
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    storage = str(page.evaluate("document.cookie + JSON.stringify([localStorage, sessionStorage])"))
    assert KEYS[0] not in storage
    [cookie] = [each for each in page.context.cookies() if each["httpOnly"]]
    assert cookie["sameSite"] == "Strict"
    assert KEYS[0] not in cookie["value"]


def test_each_key_sees_its_own_sessions(locked: Serving, visit: Visit) -> None:
    one, other = visit(locked.url, excuse=REFUSED), visit(locked.url, excuse=REFUSED)
    log_in(one, KEYS[0])
    log_in(other, KEYS[1])
    for page in (one, other):
        expect(page.get_by_role("button", name="Choose files")).to_be_visible()
    one.goto(f"{locked.url}/ui/")
    ask(one, "Which sources are there?")
    expect(one.get_by_test_id("answer").last).to_contain_text("fi_reporting")
    expect(one).to_have_url(re.compile("/ui/chat/.+"))
    mine = one.url
    other.goto(mine)
    expect(other.get_by_role("alert")).to_contain_text("does not exist")
    expect(other.get_by_test_id("answer")).to_have_count(0)
    response = requests.get(mine, timeout=60, allow_redirects=False)
    assert response.status_code in {302, 303, 307, 401}


def log_in(page: Page, key: str) -> None:
    """Sign in with a key."""
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
