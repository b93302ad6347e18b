"""Every view in both themes: checked by axe-core, and no wider than a phone."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from tests.e2e.browser.conftest import NARROW, WIDE, Visit, assert_fits
from tests.e2e.browser.views import VIEWS, Seed

SERIOUS = {"serious", "critical"}
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


@pytest.mark.parametrize(
    ("width", "dark"),
    [(WIDE, False), (NARROW, True)],
    ids=["wide-light", "narrow-dark"],
)
@pytest.mark.parametrize(
    "view",
    VIEWS,
)
def test_a_view_is_accessible(
    request: pytest.FixtureRequest, visit: Visit, *, view: str, width: int, dark: bool
) -> None:
    shown = VIEWS[view]
    excuse = EXCUSED.get(view, "")
    page = visit(
        shown.address(request.getfixturevalue(f"{shown.at}_seed")),
        width=width,
        dark=dark,
        excuse=excuse,
    )
    shown.come(page)
    assert faults(page) == []
    assert_fits(page)


def faults(page: Page) -> list[str]:
    """The violations that axe-core reports."""
    violations = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {node['html'][:200]} {node['failureSummary']}"
        for each in violations
        if each["impact"] in SERIOUS
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
