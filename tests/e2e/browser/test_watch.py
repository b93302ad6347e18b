"""The watch detects requests to other hosts, errors, and scripts that ran."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser
from tests.support.browser import Watch

PAGE = "http://page.example/"
FAULTS = {
    "<img src='http://outside.example/x.png'>": "asked another host: http://outside.example/x.png",
    "<script>new WebSocket('ws://outside.example/x')</script>": "asked another host: ws://outside",
    "<script>console.error('oh')</script>": "error: oh",
    "<script>throw new Error('thrown')</script>": "error: thrown",
    "<script>alert('seen')</script>": "dialog: seen",
}


@pytest.mark.parametrize("body", FAULTS)
def test_a_fault_is_detected(browser: Browser, body: str) -> None:
    context = browser.new_context()
    watch = Watch(context, PAGE)
    context.route(PAGE, lambda route: route.fulfill(body=body, content_type="text/html"))
    page = context.new_page()
    page.goto(PAGE)
    page.evaluate("fetch('/').then(answer => answer.text())")
    assert any(FAULTS[body] in fault for fault in watch.faults)
    with pytest.raises(AssertionError):
        watch.check(context)
    context.close()


def test_a_script_that_ran_is_detected(browser: Browser) -> None:
    context = browser.new_context()
    watch = Watch(context, PAGE)
    body = "<p>All is well.</p><iframe srcdoc='<script>pwned = 7</script>'></iframe>"
    context.route(PAGE, lambda route: route.fulfill(body=body, content_type="text/html"))
    context.new_page().goto(PAGE)
    assert watch.faults == []
    with pytest.raises(AssertionError, match="pwned is 7"):
        watch.check(context)
    context.close()
