"""A real Chromium, and what a page did that it should not have done."""

from __future__ import annotations

import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect, sync_playwright
from tests.support.waits import SECONDS

PROGRAM = shutil.which("chromium")
GET_IT = "Chromium is not installed; get it with: apt-get install chromium"
ALARM = "pwned"
"""The global variable that hostile texts set where they are run."""


@contextmanager
def chromium() -> Generator[Browser]:
    """A Chromium of the caller's own; it finds no host but this machine."""
    if PROGRAM is None:
        pytest.fail(GET_IT)
    expect.set_options(timeout=SECONDS * 1000)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=PROGRAM,
            args=[
                "--no-sandbox",  # root may not use Chromium's own; the pages are those of tests
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            ],
        )
        yield opened
        opened.close()


class Watch:
    """Sees what the pages of a context ask for and complain of.

    Args:
        context: whose pages are watched.
        url: the one address that they may ask.

    Attributes:
        faults: what a well-behaved page would not have done, in order.
        asked: the addresses that were asked for.
    """

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.faults: list[str] = []
        self.asked: list[str] = []
        self._host = urlsplit(url).netloc
        self._excused: list[re.Pattern[str]] = []
        context.on("request", lambda request: self._see(request.url))
        context.on("console", lambda message: self._hear(message.type, message.text))
        context.on("weberror", lambda error: self._note(f"error: {error.error}"))
        context.on("dialog", self._close)
        context.on("page", self._follow)

    def excuse(self, pattern: str) -> None:
        """Ignore complaints like this: the test is about what causes them."""
        self._excused.append(re.compile(pattern))

    def check(self, context: BrowserContext) -> None:
        """Fail if a page did what it should not have, or ran what it should have shown."""
        for page in context.pages:
            for frame in page.frames:
                ran = frame.evaluate(f"window.{ALARM} ?? null")
                assert ran is None, f"{page.url} ran a text: {ALARM} is {ran}"
        assert self.faults == [], self.faults

    def _follow(self, page: Page) -> None:
        page.on("websocket", lambda socket: self._see(socket.url))

    def _see(self, url: str) -> None:
        self.asked.append(url)
        parts = urlsplit(url)
        if parts.netloc != self._host and parts.scheme not in {"data", "blob", "about"}:
            self._note(f"asked another host: {url}")

    def _close(self, dialog: Dialog) -> None:
        self._note(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _hear(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self._note(f"{kind}: {text}")

    def _note(self, fault: str) -> None:
        if not any(pattern.search(fault) for pattern in self._excused):
            self.faults.append(fault)
