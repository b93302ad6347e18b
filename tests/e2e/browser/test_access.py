"""Every view in both themes: checked by axe-core, and no wider than a phone."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from itertools import product
from typing import Literal

import pytest
import requests
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.e2e.browser.conftest import NARROW, WIDE, Visit, assert_fits
from tests.e2e.browser.views import VIEWS, Seed

LAPTOP, HEIGHT = 1440, 800
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WEIGHTS = {"moderate", "serious", "critical"}
EXCUSED = {"login": "401", "no-page": "404", "refused": "422"}
"""What the browser complains of where a view shows an error."""
MAIN = ("files", "match", "comparison", "rows", "saved", "chat")
"""The views of the way from two files to a saved comparison and to the chat."""
MOST_STOPS = 120
FIRST_LOAD = 400_000
# What has the focus: its place among all elements and on the page, and whether it is seen by a
# look that it or the field around it has for it; null at the end of the page.
FOCUS = """() => {
    const at = document.activeElement;
    if (at === document.body) return null;
    const seen = [at, at.closest(".q-field, .composer-box")].some(each =>
        each && (getComputedStyle(each).outlineStyle !== "none" || each.matches(".q-field--focused")
            || each.matches(".ag-cell-focus") || getComputedStyle(each).boxShadow !== "none"));
    const grid = at.closest(".comparison-grid"); // which is one stop, and moves in its own ways
    const { top, bottom, left, right } = (grid ?? at).getBoundingClientRect();
    return {
        name: at.ariaLabel ?? at.textContent.trim().slice(0, 40), seen,
        place: [...document.querySelectorAll("*")].indexOf(grid ?? at),
        top: top + scrollY, bottom: bottom + scrollY, left, right,
        frame: at.closest(".q-layout__section--marginal, .q-drawer") !== null,
    };
}"""
ON_ITS_OWN = "window.socket?.off()"
"""While axe-core works, the page stands still; on a busy machine it would be loaded again then."""
MOVING = """() => {
    const seconds = style => `${style.transitionDuration},${style.animationDuration}`.split(",");
    const moves = style => seconds(style).some(each => parseFloat(each) > 0.001)
        || style.animationIterationCount.includes("infinite");
    return [...document.querySelectorAll("*")].filter(each =>
        [null, "::before", "::after"].some(part => moves(getComputedStyle(each, part)))
    ).map(each => each.outerHTML.slice(0, 80));
}"""
"""The elements that move for longer than nobody sees."""


@pytest.mark.parametrize("widths", [(LAPTOP, WIDE), (NARROW,)], ids=["wide", "narrow"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_accessible(
    request: pytest.FixtureRequest, visit: Visit, *, view: str, widths: Sequence[int]
) -> None:
    shown = VIEWS[view]
    address = shown.address(request.getfixturevalue(f"{shown.at}_seed"))
    page = visit(address, width=widths[0], excuse=EXCUSED.get(view, ""))
    shown.come(page)
    page.evaluate(ON_ITS_OWN)
    for width, theme in product(widths, THEMES):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        own = "body:not([class*=body--])"  # the page to sign in follows the system by itself
        expect(page.locator(f"body.body--{theme}, {own}")).to_be_attached()
        assert faults(page) == [], f"{width} pixels, {theme}"
        assert_fits(page)


def faults(page: Page) -> list[str]:
    """The violations that axe-core reports."""
    violations = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {node['html'][:200]} {node['failureSummary']}"
        for each in violations
        if each["impact"] in WEIGHTS
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("view", MAIN)
def test_the_focus_is_seen_and_goes_from_the_top_to_the_end(
    request: pytest.FixtureRequest, visit: Visit, view: str
) -> None:
    shown = VIEWS[view]
    page = visit(shown.address(request.getfixturevalue(f"{shown.at}_seed")))
    shown.come(page)
    page.locator(".top a, .top button").first.focus()
    start = last = page.evaluate(FOCUS)
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUS)
        if stop is None or stop["place"] == start["place"]:
            break
        assert stop["seen"], f"the focus is not seen: {stop['name']}"
        assert stop["place"] >= last["place"], f"{stop['name']} is before {last['name']}"
        is_beside = stop["left"] >= last["right"] or last["frame"]
        is_below = stop["bottom"] > last["top"] or is_beside
        assert is_below, f"{stop['name']} is above {last['name']}"
        last = stop
    else:
        raise AssertionError(f"the focus does not leave the page: it is at {last['name']}")


@pytest.mark.parametrize("view", MAIN)
def test_nothing_moves_for_readers_who_prefer_that(
    request: pytest.FixtureRequest, visit: Visit, view: str
) -> None:
    shown = VIEWS[view]
    page = visit(shown.address(request.getfixturevalue(f"{shown.at}_seed")))
    shown.come(page)
    assert page.evaluate(MOVING) == []
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(MOVING) != []


def test_the_first_load_is_small_and_without_a_font_of_icons(demo_seed: Seed, visit: Visit) -> None:
    page = visit(VIEWS["files"].address(demo_seed))
    VIEWS["files"].come(page)
    entries = "[location.href, ...performance.getEntriesByType('resource').map(each => each.name)]"
    names = [name for name in page.evaluate(entries) if name.startswith("http")]
    assert [name for name in names if ".woff" in name] == []
    assert 100_000 < sum(map(_compressed, names)) < FIRST_LOAD


def _compressed(url: str) -> int:
    # NiceGUI compresses nothing where it is tested, and as much as this where it serves.
    return len(gzip.compress(requests.get(url, timeout=60).content))
