"""The page under load: `python benchmarks/page.py`.

Fifty pages, each with an answer that is streamed to it, by NiceGUI's own protocol and in a real
Chromium; when a page is first painted; a comparison with 100,000 differences scrolled to its end.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import aiohttp
from playwright.async_api import Browser, Page, async_playwright
from service import Running, running
from service_server import LAST_WORD

from skillian.demo.ledger import write_demo

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.support.browser import PROGRAM  # noqa: E402 - found from here on
from tests.support.many_rows import QUESTION, write_many  # noqa: E402
from tests.support.page_socket import PageSocket, open_page  # noqa: E402

ROWS = 100_000
PAINT_TARGET_MS = 2000
BLOCKED_TARGET_MS = 200
PATIENCE_SECONDS = 300
ASKED = "Talk"


class Load(NamedTuple):
    """Fifty pages with their answers: MB a page, seconds, and how many answers were whole."""

    opened_mb: float
    answered_mb: float
    seconds: float
    cpu_ms: float
    arrived: int


async def by_protocol(server: Running, pages: int) -> Load:
    """All pages at once, as NiceGUI's client speaks."""
    async with aiohttp.ClientSession() as http, AsyncExitStack() as stack:
        await answered(await stack.enter_async_context(open_page(http, server.url, "/ui/")))
        before, cpu = server.rss(), server.cpu()
        opened = [
            await stack.enter_async_context(open_page(http, server.url, "/ui/"))
            for _ in range(pages)
        ]
        after, start = server.rss(), perf_counter()
        whole = await asyncio.gather(*(answered(page) for page in opened))
        return Load(
            (after - before) / pages,
            (server.rss() - before) / pages,
            perf_counter() - start,
            (server.cpu() - cpu) * 1000 / pages,
            sum(whole),
        )


async def answered(page: PageSocket) -> bool:
    """Ask, and wait for the end of the answer."""
    await page.fire("Message", "keydown", ASKED)  # as Enter does, with the text in the box
    async with asyncio.timeout(PATIENCE_SECONDS):
        await page.wait_for(LAST_WORD)
    return True


@asynccontextmanager
async def chromium() -> AsyncGenerator[Browser]:
    """A real Chromium."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=PROGRAM, args=["--no-sandbox", "--disable-background-timer-throttling"]
        )
        yield browser
        await browser.close()


async def in_chromium(server: Running, pages: int) -> int:
    """All pages as tabs of a real browser; gives how many answers were whole."""
    async with chromium() as browser:
        opened = [await browser.new_page() for _ in range(pages)]
        for page in opened:
            await page.goto(server.url, timeout=PATIENCE_SECONDS * 1000)
        whole = await asyncio.gather(*map(seen, opened))
        return sum(whole)


async def seen(page: Page) -> bool:
    """Ask, and wait until the end of the answer is seen."""
    box = page.get_by_role("textbox", name="Message")
    await box.fill(ASKED, timeout=PATIENCE_SECONDS * 1000)
    await box.press("Enter")
    await page.get_by_text(LAST_WORD).first.wait_for(timeout=PATIENCE_SECONDS * 1000)
    return True


_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


async def first_paints(url: str, times: int) -> list[float]:
    """Milliseconds from the request to the first content, each time in a new browser profile."""
    found: list[float] = []
    async with chromium() as browser:
        for _ in range(times):
            context = await browser.new_context()
            page = await context.new_page()
            await page.goto(url)
            painted = await page.wait_for_function(_PAINTED)
            found.append(await painted.json_value())
            await context.close()
    return found


class Scrolling(NamedTuple):
    """Of a grid that is scrolled: milliseconds until rows show, and the longest the page stood."""

    shown_ms: list[float]
    blocked_ms: float
    memory_mb: float


_WATCH = """
() => {
    window.longest = 0;
    new PerformanceObserver(list => {
        for (const task of list.getEntries()) longest = Math.max(longest, task.duration);
    }).observe({ type: "longtask" });
}
"""
_SCROLL = """
async ([body, share]) => {
    const start = performance.now();
    body.scrollTop = (body.scrollHeight - body.clientHeight) * share;
    const row = Math.floor(share * ROWS * 0.999);
    const shown = () => [...body.querySelectorAll(".ag-row")].some(
        each => Math.abs(each.getAttribute("row-index") - row) < 100 && /D0/.test(each.innerText));
    while (!shown()) await new Promise(requestAnimationFrame);
    return performance.now() - start;
}
""".replace("ROWS", str(ROWS))


async def scrolled(server: Running) -> Scrolling:
    """A comparison of so many differences, scrolled to twenty places."""
    async with aiohttp.ClientSession() as http, chromium() as browser:
        async with http.post(f"{server.url}/compare", json=QUESTION) as answer:
            key = (await answer.json())["cache_key"]
        page = await browser.new_page()
        await page.goto(f"{server.url}/ui/compare/{key}")
        body = page.locator(".comparison-grid .ag-body-viewport")
        await body.locator(".ag-row", has_text="D0").first.wait_for()
        await page.evaluate(_WATCH)
        handle = await body.element_handle()
        shown = [await page.evaluate(_SCROLL, [handle, part / 20]) for part in range(1, 21)]
        heap = await page.evaluate("performance.memory.usedJSHeapSize / 1e6")
        return Scrolling(shown, await page.evaluate("longest"), heap)


def main() -> int:
    """Measure, print, and say by the exit code whether the targets are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sources = write_demo(Path(folder))
        with running("page", sources) as server:
            [cold] = asyncio.run(first_paints(server.url, 1))
            paint = statistics.median(asyncio.run(first_paints(server.url, 5)))
            load = asyncio.run(by_protocol(server, given.pages))
            seen_whole = asyncio.run(in_chromium(server, given.pages))
        with running("page", write_many(Path(folder) / "many", ROWS)) as server:
            grid = asyncio.run(scrolled(server))
    print(f"{given.pages} pages, an answer of 8 s each: {load.arrived} arrived whole")
    print(f"  in {load.seconds:.1f} s, {load.cpu_ms:.0f} ms of the server's CPU each")
    print(f"  MB a page: {load.opened_mb:.2f} open, {load.answered_mb:.2f} with its answer")
    print(f"{given.pages} tabs of Chromium: {seen_whole} answers seen whole")
    print(f"first paint: {cold:.0f} ms right after the start, then {paint:.0f} ms (median of 5)")
    print(
        f"{ROWS:,} differences, to twenty places: {statistics.median(grid.shown_ms):.0f} ms until"
    )
    print(f"  rows show, at most {max(grid.shown_ms):.0f}; the page stood {grid.blocked_ms:.0f} ms")
    print(f"  at most; {grid.memory_mb:.0f} MB of its heap")
    missed = (
        load.arrived < given.pages,
        seen_whole < given.pages,
        max(cold, paint) > PAINT_TARGET_MS,
        grid.blocked_ms > BLOCKED_TARGET_MS,
    )
    return int(any(missed))


if __name__ == "__main__":
    sys.exit(main())
