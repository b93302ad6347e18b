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
from tests.support.waits import until

from tinyagent import scripted_call

QUESTION = "Compare amounts between fi_reporting and bpc_reporting for company 1001"
BY_COMPANY = "Show amount by company in fi_reporting"
POST = "Post the correction of document 76"
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
BAR = ".differences-chart path[fill='var(--fill-major)']"
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
FORGET = """async () => {
  const files = await (await fetch("/uploads")).json();
  await Promise.all(files.map(each => fetch(`/uploads/${each.id}`, { method: "DELETE" })));
}"""
"""Deletes the files of earlier visits."""
TRIES = 3
"""On a busy machine the code may run out of time."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A server with data, so that its views have something to show.

    Attributes:
        url: The address of the server.
        session: A session with an answered question.
        comparison: The key of a comparison.
        saved: A saved comparison that has run.
        new: A saved comparison that has not run.
    """

    url: str
    session: str = ""
    comparison: str = ""
    saved: str = ""
    new: str = ""


def seed(url: str) -> Seed:
    """Ask a question and compare, on a server over the demo's sources."""
    chat = _posted(f"{url}/chat", {"message": QUESTION})
    compared = _posted(f"{url}/compare", COMPARED)
    saved, new = (
        str(_posted(f"{url}/saved", {"name": name, "comparison": COMPARED})["id"])
        for name in ("Monthly close", "Quarterly close")
    )
    for _ in range(2):
        _run(url, saved)
    finding = requests.get(f"{url}/saved/{saved}", timeout=SECONDS).json()["findings"][0]["id"]
    note = {"note": "The load of April ran twice", "due": "2999-12-31"}
    address = f"{url}/saved/{saved}/findings/{finding}"
    requests.put(address, json=note, timeout=SECONDS).raise_for_status()
    return Seed(url, chat["session_id"], compared["cache_key"], saved, new)


def _run(url: str, saved: str) -> None:
    run = _posted(f"{url}/saved/{saved}/runs", {})["id"]

    def has_ended() -> bool:
        state: str = requests.get(f"{url}/runs/{run}", timeout=SECONDS).json()["state"]
        return state not in {"queued", "running"}

    until(has_ended)


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
    """Make the model of a server plot the result of a comparison, and post when it is asked to."""
    model.says(POST, scripted_call("post_correction", document="0000000076"), "It is posted.")
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
        path = self.path.format(
            session=seeded.session, comparison=seeded.comparison, saved=seeded.saved, new=seeded.new
        )
        return f"{seeded.url}{path}"


def _shows(selector: str, text: str | re.Pattern[str]) -> Callable[[Page], None]:
    return lambda page: expect(page.locator(selector).first).to_contain_text(text)


def _open_card(page: Page) -> None:
    card = page.get_by_test_id("tool-card").first
    card.get_by_role("button").first.click()
    expect(card).to_contain_text("source_a")
    card.scroll_into_view_if_needed()


def _open_rows_card(page: Page) -> None:
    _open_card(page)
    expect(page.locator(".comparison-grid").first).to_contain_text("Customer")


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
    rules = page.get_by_role("combobox", name="Rule")
    for count in (1, 2):
        page.get_by_role("button", name="Add a rule").click()
        expect(rules).to_have_count(count)
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


def _without_files(page: Page) -> None:
    page.evaluate(FORGET)
    page.reload()


def _match(page: Page) -> None:
    _without_files(page)
    drop(page, [("ledger.csv", LEDGER.encode()), ("plan.csv", PLAN.encode())])
    match = page.get_by_role("region", name="Match")
    expect(match.get_by_test_id("key-reason")).to_contain_text("id is")
    expect(match).to_contain_text("rows meet")
    expect(page.locator(".sending")).to_have_count(0)


def _refused(page: Page) -> None:
    wide = ",".join(f"c{number}" for number in range(10_000)) + "\n"
    _without_files(page)
    drop(page, [("wide.csv", wide.encode()), ("tool.exe", b"MZ")])
    alerts = page.locator(".drop-zone").get_by_role("alert")
    for reason in ("10,000 columns", ".exe"):
        expect(alerts.filter(has_text=reason)).to_have_count(1)


def _ask(page: Page, question: str) -> None:
    box = page.get_by_role("textbox", name="Message")
    box.fill(question)
    box.press("Enter")


def _query(page: Page) -> None:
    _ask(page, BY_COMPANY)
    answer = page.get_by_test_id("answer").last
    expect(answer.get_by_role("img").first).to_be_visible()


def _help(page: Page) -> None:
    _ask(page, "gibberish foo?")
    expect(page.get_by_test_id("answer").last).to_contain_text("You can ask")


def _approval(page: Page) -> None:
    _ask(page, POST)
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()


def _scope(part: str) -> Callable[[Page], None]:
    def come(page: Page) -> None:
        # By key: the page scrolls to its newest answer meanwhile, away from under a mouse.
        page.get_by_role("button", name=re.compile(f"^{part}: ")).first.press("Enter")
        expect(page.get_by_role("dialog")).to_contain_text(f"Change: {part}")

    return come


def _note(page: Page) -> None:
    page.get_by_role("button", name=re.compile("^Note on: ")).first.click()
    expect(page.get_by_role("dialog")).to_contain_text("A known finding")


def _share(page: Page) -> None:
    switch = page.get_by_role("switch", name="Shared with everyone who has a key")
    if not switch.is_checked():
        switch.click()
    expect(page.get_by_role("textbox", name="Link")).to_have_value(page.url)


def _saved_list(page: Page) -> None:
    _without_files(page)
    expect(page.locator(".saved-list").first).to_contain_text("Monthly close")


_missing = _shows(".fault", "does not exist")


def _runs(page: Page) -> None:
    for kind, end in (("Turn 1", "✓ completed"), ("Comparison", "They differ")):
        row = page.locator(".run-list li").filter(has_text=kind).first
        expect(row).to_contain_text(end)


VIEWS: Mapping[str, View] = MappingProxyType(
    {
        "start": View("/ui/", _shows("body", "Compare")),
        "files": View("/ui/start", _shows(".drop-zone", "Choose files")),
        "match": View("/ui/start", _match),
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
        "rows": View("/ui/compare/{comparison}", _shows(".view", "rows are shown"), "customers"),
        "rows-columns": View("/ui/compare/{comparison}", _tab("Columns", "country"), "customers"),
        "rows-change": View("/ui/compare/{comparison}", _tab("Change", "rows meet"), "customers"),
        "rows-form": View("/ui/compare", _rows_form, "customers"),
        "rows-rules": View("/ui/compare", _rows_rules, "customers"),
        "rows-schema": View("/ui/compare/{comparison}", _tab("Schema", "segment"), "customers"),
        "rows-card": View("/ui/chat/{session}", _open_rows_card, "customers"),
        "sources": View("/ui/sources", _shows(".source-card", "fi_reporting")),
        "settings": View("/ui/settings", _shows("body", "Theme")),
        "run": View("/ui/runs/{session}/1", _shows("body", "compare_sources")),
        "runs": View("/ui/runs", _runs, "durable"),
        "query": View("/ui/", _query),
        "help": View("/ui/", _help),
        "scope-filters": View("/ui/chat/{session}", _scope("Filters")),
        "scope-limits": View("/ui/chat/{session}", _scope("Limits")),
        "approval": View("/ui/", _approval, "scripted"),
        "refused": View("/ui/start", _refused),
        "saved": View("/ui/saved/{saved}", _shows(".finding", "known")),
        "saved-note": View("/ui/saved/{saved}", _note),
        "saved-new": View("/ui/saved/{new}", _shows(".saved", "has not run yet")),
        "saved-shared": View("/ui/saved/{saved}", _share),
        "saved-list": View("/ui/start", _saved_list),
        "no-page": View("/ui/nothing", _missing),
        "no-session": View("/ui/chat/nothing", _missing),
        "no-saved": View("/ui/saved/nothing", _missing),
        "no-comparison": View("/ui/compare/nothing", _shows(".fault", "has expired")),
        "no-runs": View("/ui/runs", _shows("body", "Runs"), "customers"),
        "login": View("/ui/login", _shows("body", "key"), "locked"),
    }
)
