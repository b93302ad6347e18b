"""The documentation site, opened from its files: it is accessible, and searches offline."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[3]
SITE = ROOT / ".cache" / "site" / "html"
PAGES = ("index.html", "code_agent.html", "reference/execution.html", "decisions/0005-sandbox.html")


@pytest.fixture(scope="module")
def site() -> str:
    """The address of the built site."""
    program = ROOT / "tests" / "support" / "documentation.py"
    built = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return SITE.as_uri()


def _opened(browser: Browser, url: str, width: int, scheme: str) -> tuple[Page, list[str]]:
    """A page at this width, and all that it loads."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page, loaded = context.new_page(), list[str]()
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(url)
    page.wait_for_load_state("networkidle")
    return page, loaded


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1440, "light"),
        (1440, "dark"),
        (390, "light"),
        (390, "dark"),
    ],
)
def test_pages_are_accessible_and_load_nothing_from_elsewhere(
    site: str, browser: Browser, width: int, scheme: str
) -> None:
    for name in PAGES:
        page, loaded = _opened(browser, f"{site}/{name}", width, scheme)
        assert [url for url in loaded if not url.startswith(("file:", "data:", "blob:"))] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = Axe().run(page).response["violations"]
        worse = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [(name, each["id"], each["nodes"][0]["html"]) for each in worse] == []
        page.context.close()


def test_search_works_without_a_server(site: str, browser: Browser) -> None:
    page, _ = _opened(browser, f"{site}/index.html", 1440, "light")
    page.keyboard.press("/")
    page.keyboard.type("workspace")
    page.get_by_text("WorkspaceConflict").first.wait_for()
    page.context.close()
