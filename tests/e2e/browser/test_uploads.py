"""Two files that are dropped or chosen: progress, refusals, preview, the result, and deletion."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path

import pytest
import requests
from playwright.sync_api import expect
from tests.e2e.browser.conftest import KEYS, NARROW, Visit, assert_fits, choose
from tests.e2e.browser.test_access import faults
from tests.e2e.browser.test_keys import REFUSED, log_in
from tests.e2e.browser.views import drop
from tests.support.serving import UNCOUNTED, Serving, serving
from tests.support.uploads import LEDGER, PLAN, pair, workbook
from tests.support.waits import until

from skillian.demo.ledger import write_demo

LARGEST = 9_000_000
LAPTOP = 1440
# Counts what the reader does, from the first script of each page on.
COUNT = """for (const kind of ["click", "keydown"])
  addEventListener(kind, event => event.isTrusted && sessionStorage.setItem(
    kind, 1 + Number(sessionStorage.getItem(kind))), true);"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the server runs in."""
    return tmp_path_factory.mktemp("page-uploads")


@pytest.fixture(scope="module")
def server(folder: Path) -> Generator[Serving]:
    """A server that takes files of a few megabytes."""
    limit = {"SKILLIAN_MAX_UPLOAD_BYTES": str(LARGEST)}
    with serving(write_demo(folder), **limit, **UNCOUNTED) as running:
        yield running


@pytest.fixture(autouse=True)
def _without_files(server: Serving) -> None:
    for each in requests.get(f"{server.url}/uploads", timeout=60).json():
        requests.delete(f"{server.url}/uploads/{each['id']}", timeout=60).raise_for_status()


def stored(folder: Path) -> list[str]:
    """The files in the server's folder."""
    return [path.name for path in (folder / "uploads").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("width", "dark"),
    [(LAPTOP, False), (NARROW, True)],
    ids=["wide-light", "narrow-dark"],
)
def test_a_dropped_pair_gives_a_result_in_four_clicks_without_typing(
    server: Serving, visit: Visit, *, width: int, dark: bool
) -> None:
    page = visit(f"{server.url}/", width=width, dark=dark)
    page.evaluate(COUNT)
    drop(page, [("ledger.csv", LEDGER.encode()), ("plan.csv", PLAN.encode())])
    match = page.get_by_role("region", name="Match")
    expect(match.get_by_test_id("key-reason")).to_contain_text("id is")
    line = match.get_by_role("listitem").filter(has_text="amount")
    expect(line).to_contain_text("number")
    expect(line).to_contain_text("1 differ")
    assert faults(page) == []
    assert_fits(page)
    match.get_by_role("button", name="Compare", exact=True).click()
    expect(page).to_have_url(re.compile("/ui/compare/.+"))
    expect(page.get_by_test_id("verdict")).to_contain_text("1 row differs")
    differing = page.get_by_role("region", name="Rows that differ")
    expect(differing).to_contain_text("2,75")
    clicks, keys = page.evaluate("['click', 'keydown'].map(x => +sessionStorage.getItem(x))")
    assert (clicks <= 4, keys) == (True, 0)
    assert faults(page) == []
    assert_fits(page)


def test_the_first_of_two_files_is_the_baseline(server: Serving, visit: Visit) -> None:
    page = visit(f"{server.url}/ui/start")
    events: list[str] = []
    page.on("request", lambda sent: events.append(sent.method))
    page.on("response", lambda came: events.append(str(came.status)))
    long = "".join(f"{number},{number}\n" for number in range(50_000))
    drop(page, [("z.csv", f"id,v\n{long}".encode()), ("a.csv", b"id,v\n1,2\n")])
    match = page.get_by_role("region", name="Match")
    expect(match.get_by_role("combobox", name="File A")).to_have_value("z.csv")
    expect(match.get_by_role("combobox", name="File B")).to_have_value("a.csv")
    assert [each for each in events if each in {"POST", "201"}] == ["POST", "201"] * 2


def test_files_are_chosen_and_swapped_and_deleted_with_their_result(
    server: Serving, visit: Visit, folder: Path, tmp_path: Path
) -> None:
    page = visit(f"{server.url}/ui/start", excuse="404")
    ledger, plan = pair(tmp_path)
    plan.unlink()
    book = tmp_path / "plan.xlsx"
    book.write_bytes(workbook([["id", "name", "amount"], ["001", "Anna", 1.5]], "Second"))
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose files").click()
    chooser.value.set_files([ledger, book])
    files = page.get_by_role("list", name="Uploaded files")
    for sheet, columns in (("Second", "1 column "), ("First", "3 columns")):
        choose(page, "Sheet of plan.xlsx", sheet)
        expect(files.get_by_role("listitem").filter(has_text="plan.xlsx")).to_contain_text(columns)
        expect(files.get_by_role("listitem")).to_have_count(2)
    match = page.get_by_role("region", name="Match")
    expect(match.get_by_test_id("key-reason")).to_be_visible()
    match.get_by_role("button", name="First rows of both sides").click()
    headings = match.get_by_role("heading", level=3)
    expect(headings).to_have_count(2)
    second = headings.last.inner_text()
    match.get_by_role("button", name="Swap A and B").click()
    expect(match.get_by_role("combobox", name="File A")).to_have_value(second)
    expect(match.get_by_test_id("key-reason")).to_be_visible()
    match.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_test_id("verdict")).to_contain_text("only in ledger.csv")
    result = page.url
    page.get_by_role("button", name="Save …").click()
    page.get_by_role("textbox", name="Name").fill("Two files")
    page.get_by_role("button", name="Save", exact=True).click()
    sides = re.compile(r"(ledger\.csv and plan\.xlsx|plan\.xlsx and ledger\.csv) · whole rows")
    expect(page.locator(".saved")).to_contain_text(sides)
    page.goto(f"{server.url}/ui/start")
    for name in ("ledger.csv", "plan.xlsx"):
        page.get_by_role("button", name=f"Delete {name}").click()
        expect(files).to_contain_text(f"{name} is deleted.")
    page.goto(f"{server.url}/ui/start")  # which does not keep them
    until(lambda: stored(folder) == [])
    page.reload()
    expect(page.locator(".saved-list")).to_contain_text("a file that is not available")
    page.goto(result)
    expect(page.get_by_role("heading", name="cannot be shown")).to_be_visible()
    expect(page.get_by_role("button", name="Save …")).to_have_count(0)


def test_a_deleted_file_can_be_kept(server: Serving, visit: Visit) -> None:
    page = visit(f"{server.url}/ui/start")
    page.get_by_role("button", name="Try it with a sample").click()
    match = page.get_by_role("region", name="Match")
    expect(match).to_contain_text("rows meet")
    page.get_by_role("button", name="Delete planning.csv").click()
    expect(page.get_by_text("ledger.csv is here.")).to_be_visible()
    expect(match).to_be_hidden()
    page.get_by_role("button", name="Keep planning.csv").click()
    expect(match).to_contain_text("rows meet")
    assert len(requests.get(f"{server.url}/uploads", timeout=60).json()) == 2


def test_a_file_that_is_refused_says_why(
    server: Serving, visit: Visit, folder: Path, tmp_path: Path
) -> None:
    page = visit(f"{server.url}/ui/start", excuse="422")
    wide = ",".join(f"c{number}" for number in range(10_000)) + "\n"
    refused = {
        "wide.csv": (wide.encode(), "10,000 columns"),
        "tool.exe": (b"MZ", ".exe"),
        "large.csv": (b"x" * (LARGEST + 1), "9 MB, and a file can have"),
        "broken.csv": (b"id,v\n1,2,3\n", "broken.csv, line 2"),
    }
    for name, (content, _) in refused.items():
        (tmp_path / name).write_bytes(content)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose files").click()
    chooser.value.set_files([tmp_path / name for name in refused])
    alerts = page.locator(".drop-zone").get_by_role("alert")
    for _, reason in refused.values():
        expect(alerts.filter(has_text=reason)).to_have_count(1)
    assert faults(page) == []
    page.get_by_role("button", name="Remove tool.exe").click()
    expect(alerts).to_have_count(3)
    until(lambda: stored(folder) == [])


def test_an_upload_shows_its_progress_and_is_cancelled(
    server: Serving, visit: Visit, folder: Path, tmp_path: Path
) -> None:
    page = visit(f"{server.url}/ui/start")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 100_000}
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", slow)
    file = tmp_path / "long.csv"
    file.write_text("id,v\n" + "1,2\n" * 2_000_000, encoding="utf-8")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose files").click()
    chooser.value.set_files(file)
    bar = page.get_by_role("progressbar", name="Progress of long.csv")
    until(lambda: bar.evaluate("bar => bar.value") > 0)
    until(lambda: "upload.csv" in stored(folder))
    page.get_by_role("button", name="Cancel long.csv").click()
    expect(bar).to_have_count(0)
    until(lambda: stored(folder) == [])


def test_a_text_of_an_older_program_is_read_with_one_click(server: Serving, visit: Visit) -> None:
    page = visit(f"{server.url}/ui/start", excuse="422")
    drop(page, [("old.csv", "Nr;Ort\n1;Köln\n2;Bonn\n".encode("cp1252"))])
    expect(page.locator(".drop-zone").get_by_role("alert")).to_contain_text("not UTF-8")
    assert faults(page) == []
    page.get_by_role("button", name="Read old.csv as Windows-1252").click()
    expect(page.get_by_role("list", name="Uploaded files")).to_contain_text("2 rows")
    drop(page, [("new.csv", "Nr;Ort\n1;Köln\n2;Bonn\n".encode())])
    expect(page.get_by_role("region", name="Match")).to_contain_text("2 rows meet.")


def test_a_file_is_read_as_chosen_instead_of_as_recognised(server: Serving, visit: Visit) -> None:
    page = visit(f"{server.url}/ui/start")
    page.get_by_role("button", name="How text files are written").click()
    page.get_by_role("combobox", name="Decimal numbers").click()
    page.get_by_role("option", name="1,50").click()
    expect(page.get_by_role("option")).to_have_count(0)
    assert faults(page) == []
    text = b"id;amount\n1;1,500\n"  # which could also be fifteen hundred
    drop(page, [("a.csv", text), ("b.csv", text)])
    lines = page.get_by_role("region", name="Match").get_by_role("listitem")
    expect(lines.filter(has_text="amount")).to_contain_text("number")


def test_a_column_that_is_dragged_onto_a_line_is_its_partner(server: Serving, visit: Visit) -> None:
    page = visit(f"{server.url}/ui/start")
    drop(page, [("a.csv", b"id,tone\n1,red\n2,blue\n"), ("b.csv", b"id,finish\n1,matt\n2,bare\n")])
    match = page.get_by_role("region", name="Match")
    line = match.get_by_role("listitem").filter(has_text="tone")
    expect(line).to_contain_text("only in A")
    match.get_by_text("finish", exact=True).drag_to(line)
    expect(line).to_contain_text("2 differ")
    expect(line.get_by_role("combobox", name="tone in B")).to_have_value("finish")
    expect(match.get_by_text("Only in b.csv")).to_have_count(0)


def test_two_sources_are_compared_with_one_click(server: Serving, visit: Visit) -> None:
    page = visit(f"{server.url}/ui/start")
    page.get_by_role("button", name="Compare sources").click()
    expect(page).to_have_url(re.compile("/ui/compare/.+"))
    expect(page.get_by_role("heading", name="fi_reporting and bpc_reporting")).to_be_visible()


def test_a_rule_that_explains_the_differences_is_applied_with_one_click(
    server: Serving, visit: Visit
) -> None:
    page = visit(f"{server.url}/ui/start")
    for name, end in (("shop.csv", ""), ("erp.csv", "  ")):
        rows = "".join(f"{number},Order {number}{end}\n" for number in range(1, 41))
        drop(page, [(name, f"id,name\n{rows}".encode())])
        expect(page.get_by_role("list", name="Uploaded files")).to_contain_text(name)
    match = page.get_by_role("region", name="Match")
    match.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_test_id("verdict")).to_contain_text("40 rows differ")
    first = page.url
    page.get_by_role("tab", name="Why").click()
    why = page.get_by_role("region", name="Why they differ")
    expect(why).to_contain_text("explains 40 of 40 differences; with this rule 40 of 40 rows match")
    expect(why).to_contain_text("--rule name:trim")
    assert faults(page) == []
    assert_fits(page)
    why.get_by_role("button", name="Apply").click()
    expect(page).not_to_have_url(first)
    expect(page.get_by_test_id("verdict")).to_contain_text("All 40 rows match")
    expect(page.get_by_role("list", name="Scope")).to_contain_text("name trimmed")


def test_another_key_sees_no_file(locked: Serving, visit: Visit) -> None:
    one, other = [visit(f"{locked.url}/", excuse=REFUSED) for _ in KEYS]
    for page, key in ((one, KEYS[0]), (other, KEYS[1])):
        log_in(page, key)
        expect(page.get_by_role("button", name="Choose files")).to_be_visible()
    drop(one, [("ledger.csv", LEDGER.encode())])
    expect(one.get_by_role("list", name="Uploaded files")).to_contain_text("ledger.csv")
    other.reload()
    expect(other.get_by_role("button", name="Choose files")).to_be_visible()
    expect(other.get_by_text("ledger.csv")).to_have_count(0)
    one.get_by_role("button", name="Delete ledger.csv").click()
    expect(one.get_by_text("ledger.csv")).to_have_count(0)
