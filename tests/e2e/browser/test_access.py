"""Every view in both themes: checked by axe-core, and no wider than a phone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.e2e.browser.conftest import NARROW, WIDE, Visit, assert_fits
from tests.e2e.browser.views import VIEWS, Seed

LAPTOP, HEIGHT = 1440, 800
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WEIGHTS = {"moderate", "serious", "critical"}
EXCUSED = {"login": "401", "no-page": "404", "refused": "422"}
"""What the browser complains of where a view shows an error."""
# What has the focus, and whether it or the field around it looks otherwise for it.
FOCUS = """() => {
    const at = document.activeElement;
    const seen = [at, at.closest(".q-field, .composer-box")].some(each =>
        each && (getComputedStyle(each).outlineStyle !== "none" || each.matches(".q-field--focused")
            || getComputedStyle(each).boxShadow !== "none"));
    return [at.ariaLabel ?? at.textContent.slice(0, 40), seen || at === document.body];
}"""


@pytest.mark.parametrize("widths", [(LAPTOP, WIDE), (NARROW,)], ids=["wide", "narrow"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_accessible(
    request: pytest.FixtureRequest, visit: Visit, *, view: str, widths: Sequence[int]
) -> None:
    shown = VIEWS[view]
    address = shown.address(request.getfixturevalue(f"{shown.at}_seed"))
    page = visit(address, width=widths[0], excuse=EXCUSED.get(view, ""))
    shown.come(page)
    for width, theme in product(widths, THEMES):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        expect(page.locator(f"body.body--{theme}")).to_be_attached()
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


def test_the_page_works_with_the_keyboard(demo_seed: Seed, visit: Visit) -> None:
    page = visit(VIEWS["start"].address(demo_seed))
    VIEWS["start"].come(page)
    focused: list[str] = []
    for _ in range(80):
        page.keyboard.press("Tab")
        name, is_seen = page.evaluate(FOCUS)
        assert is_seen, f"the focus is not seen: {name}"
        focused.append(name)
    assert {"Message", "Theme", "Sessions"} <= set(focused)
