"""Server processes with the page, and a browser that watches its pages."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from tests.e2e.browser.views import Seed, seed, seed_plot, seed_rows, seed_runs
from tests.support.browser import Watch, chromium
from tests.support.careful import write_careful
from tests.support.customers import write_customers
from tests.support.paced_model import PacedModel, by_model, paced_model
from tests.support.serving import COMMAND, UNCOUNTED, Serving, running, serving
from tests.support.waits import SECONDS, until

from skillian.demo.ledger import write_demo

WIDE, NARROW = 1280, 390
KEYS = ("first-key-0123456789", "second-key-0123456789")

TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
"""By how many pixels a page is wider than its window."""

Visit = Callable[..., Page]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder, and give them time to start servers and browsers."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(180))


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """One browser for each file: its driver runs an event loop, which others must not share."""
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def model() -> Generator[PacedModel]:
    """A model that answers from a script."""
    with paced_model() as answering:
        yield answering


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Generator[Serving]:
    """`skillian demo --serve`: the demo's sources and the offline planner."""
    command: list[str | Path] = [COMMAND, "demo", "--serve", "--port", "0"]
    with running(command, tmp_path_factory.mktemp("page-demo"), **UNCOUNTED) as server:
        yield server


@pytest.fixture(scope="session")
def scripted(model: PacedModel, tmp_path_factory: pytest.TempPathFactory) -> Generator[Serving]:
    """A server over the demo's sources, with the scripted model."""
    folder = tmp_path_factory.mktemp("page-scripted")
    skills = str(write_careful(folder))
    with serving(write_demo(folder), SKILLIAN_SKILLS=skills, **by_model(model)) as server:
        yield server


@pytest.fixture(scope="session")
def demo_seed(demo: Serving) -> Seed:
    """The demo, after a question and a comparison."""
    return seed(demo.url)


@pytest.fixture(scope="session")
def scripted_seed(scripted: Serving, model: PacedModel) -> Seed:
    """The scripted server, after code that drew a plot."""
    return seed_plot(scripted.url, model)


@pytest.fixture(scope="session")
def customers(model: PacedModel, tmp_path_factory: pytest.TempPathFactory) -> Generator[Serving]:
    """A server over two tables whose rows differ, with the scripted model."""
    sources = write_customers(tmp_path_factory.mktemp("page-customers"))
    with serving(sources, **by_model(model)) as server:
        yield server


@pytest.fixture(scope="session")
def customers_seed(customers: Serving, model: PacedModel) -> Seed:
    """The server over the customers, after a comparison of whole rows."""
    return seed_rows(customers.url, model)


@pytest.fixture(scope="session")
def durable(tmp_path_factory: pytest.TempPathFactory) -> Generator[Serving]:
    """A server with durable runs."""
    sources = write_demo(tmp_path_factory.mktemp("page-durable"))
    with serving(sources, SKILLIAN_DURABLE="true", **UNCOUNTED) as server:
        yield server


@pytest.fixture(scope="session")
def durable_seed(durable: Serving) -> Seed:
    """The server with durable runs, after a turn and a comparison."""
    return seed_runs(durable.url)


@pytest.fixture(scope="session")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Generator[Serving]:
    """A server with `KEYS`."""
    sources = write_demo(tmp_path_factory.mktemp("page-locked"))
    with serving(sources, SKILLIAN_API_KEYS=",".join(KEYS), **UNCOUNTED) as server:
        yield server


@pytest.fixture(scope="session")
def locked_seed(locked: Serving) -> Seed:
    """The server with keys, without any session."""
    return Seed(locked.url)


@pytest.fixture
def visit(browser: Browser) -> Generator[Visit]:
    """Open a page of a server; fail on requests to other hosts, errors, and injected scripts.

    An address without a path opens the chat.
    """
    opened: list[tuple[BrowserContext, Watch]] = []

    def go(url: str, *, width: int = WIDE, dark: bool = False, excuse: str = "") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            locale="de-DE",
        )
        context.set_default_timeout(SECONDS * 1000)
        watch = Watch(context, url)
        if excuse:
            watch.excuse(excuse)
        opened.append((context, watch))
        page = context.new_page()
        page.goto(url if urlsplit(url).path else f"{url}/ui/")
        return page

    yield go
    for context, watch in opened:
        watch.check(context)
        context.close()


def ask(page: Page, question: str) -> None:
    """Type a question and send it."""
    box = page.get_by_role("textbox", name="Message")
    box.fill(question)
    expect(box).to_have_value(question)
    box.press("Enter")


def choose(page: Page, field: str, *names: str) -> None:
    """Choose options of a field."""
    page.get_by_role("combobox", name=field).click()
    for name in names:
        page.get_by_role("option", name=name, exact=True).click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("option")).to_have_count(0)


def assert_fits(page: Page) -> None:
    """Check that the page does not scroll sideways, as soon as its layout is done."""
    until(lambda: page.evaluate(TOO_WIDE) <= 0)
