"""The views of the page and how to open each, for tests of all views."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import requests
from playwright.sync_api import Page, expect
from tests.support.paced_model import PacedModel
from tests.support.uploads import LEDGER, PLAN

from tinyagent import scripted_call

QUESTION = "Compare amounts between fi_reporting and bpc_reporting for company 1001"
PLOT = "Plot the gaps of company 1001"
COMPARED: dict[str, Any] = {
    "source_a": "fi_reporting",
    "source_b": "bpc_reporting",
    "measures": ["amount"],
    "filters": {"company": "1001"},
}
ROWS_QUESTION = "Are the rows of the customers the same?"
ROWS_COMPARED: dict[str, Any] = {
    "source_a": "customers",
    "source_b": "customers_copy",
    "key": ["id"],
}
CODE = """\
import matplotlib.pyplot as plt
gaps = comparison.set_index("period")["amount_gap"].astype(float).sort_index()
plt.figure(figsize=(7, 3))
plt.bar(gaps.index, gaps / 1000)
plt.ylabel("gap, thousand EUR")
plt.tight_layout()
print(len(gaps), "periods differ")
comparison[["period", "status", "amount_gap"]]
"""
BAR = ".differences-chart path[fill='#d55e00']"
"""A bar of a major difference; ECharts draws bars as paths."""
SECONDS = 120
DROP = """async ([files]) => {
  const dropped = new DataTransfer();
  for (const [name, content] of files) {
    const bytes = Uint8Array.from(atob(content), each => each.charCodeAt(0));
    dropped.items.add(new File([bytes], name));
  }
  const init = { dataTransfer: dropped, bubbles: true, cancelable: true };
  document.querySelector(".drop-zone").dispatchEvent(new DragEvent("drop", init));
}"""
TRIES = 3
"""On a busy machine the code may run out of time."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A server with data, so that its views have something to show.

    Attributes:
        url: The address of the server.
        session: A session with an answered question.
        comparison: The key of a comparison.
    """

    url: str
    session: str = ""
    comparison: str = ""


def seed(url: str) -> Seed:
    """Ask a question and compare, on a server over the demo's sources."""
    chat = _posted(f"{url}/chat", {"message": QUESTION})
    compared = _posted(f"{url}/compare", COMPARED)
    return Seed(url, chat["session_id"], compared["cache_key"])


def seed_runs(url: str) -> Seed:
    """Run a turn and start a comparison, on a server with durable runs."""
    chat = _posted(f"{url}/chat", {"message": QUESTION})
    _posted(f"{url}/compare", COMPARED, Prefer="respond-async")
    return Seed(url, chat["session_id"])


def seed_rows(url: str, model: PacedModel) -> Seed:
    """Compare whole rows, by the model of a server over the customers and without it."""
    call = scripted_call("compare_sources", **ROWS_COMPARED)
    model.says(ROWS_QUESTION, call, "The countries are written differently.")
    chat = _posted(f"{url}/chat", {"message": ROWS_QUESTION})
    compared = _posted(f"{url}/compare", ROWS_COMPARED)
    return Seed(url, chat["session_id"], compared["cache_key"])


def _posted(url: str, body: dict[str, Any], **headers: str) -> dict[str, Any]:
    answer = requests.post(url, json=body, headers=headers, timeout=SECONDS)
    answer.raise_for_status()
    data: dict[str, Any] = answer.json()
    return data


def seed_plot(url: str, model: PacedModel) -> Seed:
    """Make the model of a server plot the result of a comparison."""
    model.says(
        PLOT,
        scripted_call("compare_sources", **COMPARED),
        scripted_call("run_python", code=CODE),
        "The gap is largest in **2024004**, where a load was run twice.",
    )
    reply: dict[str, Any] = {}
    for _ in range(TRIES):
        reply = _posted(f"{url}/chat", {"message": PLOT})
        if reply["tool_calls"][1]["result"]["artifacts"]:
            return Seed(url, reply["session_id"])
    raise AssertionError(f"the code drew nothing: {reply['tool_calls'][1]}")


@dataclass(frozen=True, slots=True)
class View:
    """One view.

    Attributes:
        path: Its path, with the fields of a `Seed`.
        come: Opens what the view shows, and waits until it is complete.
        at: The server that has it: `demo`, `scripted`, `durable`, `customers` or `locked` (with
            keys).
    """

    path: str
    come: Callable[[Page], None]
    at: str = "demo"

    def address(self, seeded: Seed) -> str:
        """Its address on a server."""
        path = self.path.format(session=seeded.session, comparison=seeded.comparison)
        return f"{seeded.url}{path}"


def _shows(selector: str, text: str | re.Pattern[str]) -> Callable[[Page], None]:
    return lambda page: expect(page.locator(selector).first).to_contain_text(text)


def _open_card(page: Page) -> None:
    card = page.get_by_test_id("tool-card").first
    card.get_by_role("button").first.click()
    expect(card).to_contain_text("source_a")
    card.scroll_into_view_if_needed()


def _open_plot(page: Page) -> None:
    card = page.get_by_test_id("tool-card").filter(has_text="run_python")
    card.get_by_role("button").first.click()
    plot = page.locator("img.plot").first
    expect(plot).to_have_js_property("complete", value=True)
    plot.evaluate("plot => plot.scrollIntoView({ block: 'center' })")


def _comparison(page: Page) -> None:
    expect(page.locator(".differences-chart").first).to_be_visible()
    expect(page.locator(".comparison-grid")).to_contain_text("2024007")


def _rows_form(page: Page) -> None:
    """Choose no measure, so that the form asks for a key."""
    form = page.locator(".compare-form")
    form.get_by_role("combobox", name="Measures").click()
    page.get_by_role("option", name="credit").click()
    page.keyboard.press("Escape")
    expect(form).to_contain_text("How rows are matched")
    expect(form).to_contain_text("Without key columns")
    expect(page.get_by_role("option")).to_have_count(0)


def _rows_rules(page: Page) -> None:
    """Pair two columns, and allow differences."""
    _rows_form(page)
    page.get_by_role("button", name="Pair two columns").click()
    for _ in range(2):
        page.get_by_role("button", name="Add a rule").click()
    rules = page.get_by_role("combobox", name="Rule")
    expect(rules).to_have_count(2)
    page.get_by_role("textbox", name="Value").first.fill("0.01")
    rules.nth(1).click()
    page.get_by_role("option", name="upper and lower case are equal").click()
    expect(page.get_by_role("option")).to_have_count(0)
    page.get_by_role("button", name="Pair two columns").scroll_into_view_if_needed()


def _drill_down(page: Page) -> None:
    _comparison(page)
    page.locator(BAR).first.click()
    expect(page.locator(".drill-down")).to_contain_text("bpc_reporting")


def open_tab(page: Page, name: str) -> None:
    """Open a tab of a result."""
    page.get_by_role("tab", name=name, exact=True).click()
    expect(page.get_by_role("tabpanel", name=name, exact=True)).to_be_visible()


def _explanation(page: Page) -> None:
    _comparison(page)
    open_tab(page, "Why")
    expect(page.locator(".explanation")).to_contain_text("2024007")
    expect(page.locator(".heat-map")).to_be_visible()


def _pairs(page: Page) -> None:
    _comparison(page)
    open_tab(page, "Rows")
    expect(page.get_by_test_id("paired-rows")).to_contain_text("Rows are matched")


def _tab(name: str, text: str) -> Callable[[Page], None]:
    def come(page: Page) -> None:
        open_tab(page, name)
        expect(page.get_by_role("tabpanel", name=name, exact=True)).to_contain_text(text)

    return come


def drop(page: Page, files: Sequence[tuple[str, bytes]]) -> None:
    """Drop files on the zone."""
    expect(page.get_by_role("button", name="Choose files")).to_be_visible()
    page.evaluate(DROP, [[[name, base64.b64encode(each).decode()] for name, each in files]])


def _preview(page: Page) -> None:
    drop(page, [("ledger.csv", LEDGER.encode()), ("plan.csv", PLAN.encode())])
    preview = page.get_by_role("region", name="Preview")
    expect(preview.get_by_test_id("key-reason")).to_contain_text("id is")
    expect(preview).to_contain_text("First rows of ledger.csv")


def _runs(page: Page) -> None:
    for kind in ("Turn 1", "Comparison"):
        row = page.locator(".run-list li").filter(has_text=kind).first
        expect(row).to_contain_text("✓ completed")


VIEWS: Mapping[str, View] = MappingProxyType(
    {
        "start": View("/ui/", _shows("body", "Compare")),
        "files": View("/ui/start", _shows(".drop-zone", "Choose files")),
        "preview": View("/ui/start", _preview),
        "chat": View("/ui/chat/{session}", _shows("[data-testid=answer]", "2024007")),
        "tool-card": View("/ui/chat/{session}", _open_card),
        "code": View("/ui/chat/{session}", _open_plot, "scripted"),
        "comparison": View("/ui/compare/{comparison}", _comparison),
        "drill-down": View("/ui/compare/{comparison}", _drill_down),
        "explanation": View("/ui/compare/{comparison}", _explanation),
        "pairs": View("/ui/compare/{comparison}", _pairs),
        "schema": View("/ui/compare/{comparison}", _tab("Schema", "entity")),
        "sql": View("/ui/compare/{comparison}", _tab("SQL", "GROUP BY")),
        "compare": View("/ui/compare", _shows(".compare-form", "Measures")),
        "rows": View("/ui/compare/{comparison}", _shows(".view", "marks a cell"), "customers"),
        "rows-columns": View("/ui/compare/{comparison}", _tab("Columns", "country"), "customers"),
        "rows-lone": View("/ui/compare/{comparison}", _tab("Rows", "Repeated keys"), "customers"),
        "rows-form": View("/ui/compare", _rows_form, "customers"),
        "rows-rules": View("/ui/compare", _rows_rules, "customers"),
        "rows-schema": View("/ui/compare/{comparison}", _tab("Schema", "segment"), "customers"),
        "rows-card": View("/ui/chat/{session}", _open_card, "customers"),
        "sources": View("/ui/sources", _shows(".source-card", "fi_reporting")),
        "settings": View("/ui/settings", _shows("body", "Theme")),
        "run": View("/ui/runs/{session}/1", _shows("body", "compare_sources")),
        "runs": View("/ui/runs", _runs, "durable"),
        "login": View("/ui/login", _shows("body", "key"), "locked"),
    }
)
