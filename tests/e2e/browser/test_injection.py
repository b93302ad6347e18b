"""Text from data, models and users is shown and never run.

After each test `visit` checks that no script ran and no other host got a request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from typing import Any
from urllib.parse import quote

import pytest
import requests
from playwright.sync_api import Locator, Page, expect
from tests.e2e.browser import hostile
from tests.e2e.browser.conftest import Visit, ask
from tests.e2e.browser.views import open_tab
from tests.support.paced_model import PacedModel, by_model
from tests.support.serving import Serving, serving

from skillian.display import printable
from tinyagent import scripted_call

COMPARED: dict[str, Any] = {
    "source_a": hostile.SOURCE,
    "source_b": hostile.OTHER,
    "measures": ["v", ":n"],
}
# Nothing of these may come of an answer, whatever it says.
FORBIDDEN = (
    "script, style, form, input, button, iframe, object, embed, svg, math, video, audio, link,"
    " meta, img, [style], [class*=fixed], [class*=fullscreen], [id], [name], [onclick]"
)


@pytest.fixture(scope="module")
def server(model: PacedModel, tmp_path_factory: pytest.TempPathFactory) -> Generator[Serving]:
    folder = tmp_path_factory.mktemp("page-hostile")
    sources = hostile.write_hostile(folder)
    skill = hostile.write_skill(folder / "skills")
    with serving(sources, SKILLIAN_SKILLS=str(skill.parent), **by_model(model)) as running:
        yield running


@pytest.fixture(scope="module")
def compared(server: Serving) -> str:
    """The address of a comparison of hostile sources."""
    answer = requests.post(f"{server.url}/compare", json=COMPARED, timeout=60)
    assert answer.status_code == 200, answer.text
    return f"{server.url}/ui/compare/{answer.json()['cache_key']}"


def test_an_answer_is_markdown_and_nothing_else(
    server: Serving, model: PacedModel, visit: Visit
) -> None:
    page = visit(server.url)
    # An answer with numbers is shown only after a call that computed some.
    call = scripted_call("query_source", source=hostile.OTHER, dimensions=[hostile.PROPERTY])
    model.says("Thanks", call, hostile.ANSWER)
    ask(page, "Thanks")
    answer = page.get_by_test_id("answer").last
    assert_shown(answer, "The end of the answer.", "<script>window.pwned = 50</script>")
    assert_shown(answer, "{{ constructor", "window.pwned = 66")
    expect(answer.locator("table, strong, code, h1, h2, h3, h4").nth(3)).to_be_attached()
    expect(answer.locator(f".prose *:is({FORBIDDEN})")).to_have_count(0)
    expect(answer.locator("a")).to_have_count(0)


def test_questions_and_answers_are_texts(server: Serving, model: PacedModel, visit: Visit) -> None:
    page = visit(server.url)
    for number, text in enumerate(hostile.VALUES, 1):
        model.says(text, f"You said: {text}")
        ask(page, text)
        expect(page.get_by_test_id("answer")).to_have_count(number)
        assert_shown(page.locator(".question").last, text.splitlines()[0])
    page.reload()
    expect(page.get_by_test_id("answer")).to_have_count(len(hostile.VALUES))


def test_calls_their_arguments_and_their_results_are_texts(
    server: Serving, model: PacedModel, visit: Visit
) -> None:
    page = visit(server.url)
    model.says(
        "use all tools",
        scripted_call("list_sources"),
        scripted_call("search_knowledge", query=hostile.KNOWN),
        scripted_call("describe_source", source=hostile.SOURCE),
        scripted_call("query_source", source=hostile.OTHER, dimensions=[hostile.PROPERTY]),
        scripted_call("describe_source", source=hostile.VALUES[0], **{":onclick": hostile.CODE}),
        scripted_call(hostile.VALUES[1]),
        scripted_call("compare_sources", **COMPARED),
        scripted_call("run_python", code=hostile.CODE_STEP),
        "Done.",
    )
    ask(page, "use all tools")
    answer = page.get_by_test_id("answer").last
    assert_shown(answer, "Done.", hostile.CODE)
    expect(answer.locator("img, iframe, script")).to_have_count(0)
    heads = page.get_by_test_id("tool-card").locator("button.tool-head")
    open_all(heads, 8)
    assert_shown(page.locator("main"), hostile.SOURCE, hostile.VALUES[0], "window.pwned = 50")
    expect(page).to_have_url(re.compile("/ui/chat/.+"))
    session = page.url.rpartition("/")[2]
    page.goto(f"{server.url}/ui/runs/{session}/1")
    assert_shown(page.locator("main"), "compare_sources")


def test_a_title_is_a_text(server: Serving, model: PacedModel, visit: Visit) -> None:
    made = requests.post(f"{server.url}/sessions", json={}, timeout=60).json()
    title = {"title": hostile.TITLE}
    requests.patch(f"{server.url}/sessions/{made['id']}", json=title, timeout=60).raise_for_status()
    page = visit(f"{server.url}/ui/chat/{made['id']}")
    expect(page.get_by_text(hostile.TITLE).first).to_be_attached()
    assert "49" not in page.title()


def test_sources_are_texts(server: Serving, visit: Visit) -> None:
    page = visit(f"{server.url}/ui/sources")
    cards = page.locator(".source-card")
    assert_shown(cards.first, hostile.SOURCE, hostile.DESCRIPTION)
    open_all(cards.get_by_role("button", name="Columns and sample rows"), 2)
    for card in (cards.first, cards.last):
        samples = card.locator(".q-table")
        assert_shown(samples, "k (VARCHAR)", "c (VARCHAR)", hostile.VALUES[0], hostile.CODE)
        assert_shown(card, hostile.TAGGED, hostile.PROPERTY)
    expect(page.locator("main img")).to_have_count(0)


def test_a_comparison_shows_values_and_names_as_texts(compared: str, visit: Visit) -> None:
    page = visit(compared)
    main = page.locator("main")
    assert_shown(main, hostile.SOURCE, hostile.OTHER, hostile.TAGGED)
    assert_shown(page.locator(".comparison-grid"), hostile.VALUES[0])
    expect(page.locator(".differences-chart path").first).to_be_attached()
    for chart in (".status-bar", ".differences-chart"):
        hover_all_over(page, page.locator(chart).first)
    for tab in ("Why", "Rows", "SQL"):
        open_tab(page, tab)
    assert_shown(page.get_by_role("tabpanel", name="SQL"), "SELECT")
    open_tab(page, "Why")
    expect(page.locator(".heat-map path").first).to_be_attached()
    hover_all_over(page, page.locator(".heat-map"))
    expect(page.locator(".explanation")).to_be_visible()
    expect(main.locator("img, iframe, form[action*=outside]")).to_have_count(0)
    open_tab(page, "Differences")
    page.locator(".differences-chart").first.click()
    assert_shown(page.locator(".drill-down"), hostile.OTHER)


@pytest.mark.parametrize("path", ["chat", "compare", "runs", ""])
def test_an_address_is_a_text(server: Serving, visit: Visit, path: str) -> None:
    page = visit(f"{server.url}/ui/{path}/{quote(hostile.VALUES[1], safe='')}", excuse="404|422")
    expect(page.get_by_role("link", name="skillian")).to_be_visible()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator("img[src=x]")).to_have_count(0)


def assert_shown(place: Locator, *texts: str) -> None:
    """Check that a place shows these texts, with control characters escaped."""
    for text in texts:
        expect(place).to_contain_text(printable(text))


def open_all(buttons: Locator, number: int) -> None:
    """Wait until so many buttons are there, and open what is behind each."""
    expect(buttons).to_have_count(number)
    for button in buttons.all():
        button.click()
        expect(button).to_have_attribute("aria-expanded", "true")


def hover_all_over(page: Page, chart: Locator) -> None:
    """Move over a chart, so that it shows all of its tooltips."""
    chart.scroll_into_view_if_needed()
    place = chart.bounding_box()
    assert place, json.dumps(place)
    for part in range(1, 20):
        for down in (0.15, 0.5, 0.85):
            x = place["x"] + place["width"] * part / 20
            page.mouse.move(x, place["y"] + place["height"] * down)
