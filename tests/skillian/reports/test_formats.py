"""The reports as HTML, Markdown, JSON and JUnit: their content, and no markup from the data."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from decimal import Decimal
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.skillian.reports.comparisons import HOSTILE

from skillian.display import printable
from skillian.reports.as_html import write_html
from skillian.reports.as_json import write_json
from skillian.reports.as_junit import write_junit
from skillian.reports.as_markdown import write_markdown
from skillian.reports.charts import WIDTH, Bar, from_zero, shades, stacked
from skillian.reports.outcome import Compared, Outcome

OPTIONS = "--rule name:trim --rule net:factor=100"
VOID = {"meta", "input", "rect", "line", "use", "circle", "path"}


class Reader(HTMLParser):
    """Collects attributes and text; tags must be closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.attributes: list[str] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [name for name, _ in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_hostile_values_are_text(hostile: Outcome) -> None:
    page = Reader(write_html([hostile]))
    shown = "".join(page.text)
    for value in (*HOSTILE, "<h1>hostile</h1> &lt; @all", "<b>a</b>", "k|<i>", "<u>"):
        assert printable(value) in shown
    assert not [name for name in page.attributes if name.startswith("on")]
    assert "\x1b" not in shown


def test_the_policy_allows_only_the_script_and_style_of_the_page(close: Outcome) -> None:
    page = write_html([close])
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'"
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        [content] = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


def test_proved_rules_are_options_to_copy(orders: tuple[Outcome, ...]) -> None:
    explained, unexplained = orders
    page = write_html([explained])
    for text in (page, html(explained)):
        assert f"with <code>{OPTIONS}</code>, 40 of 40 rows match." in text
    assert "<h3>Why</h3>" in html(explained)
    Reader(page)
    for text in (write_html([unexplained]), html(unexplained)):
        assert "No rule that was tried explains the differences." in text


def html(*outcomes: Outcome) -> str:
    return str(MarkdownIt("commonmark").enable("table").render(write_markdown(outcomes)))


def test_the_report_has_verdict_sentences_and_largest_differences(close: Outcome) -> None:
    shown = html(close)
    assert "<h2>❌ findings: close</h2>" in shown
    assert "30 of 36 groups match (83.3 %)" in shown
    assert "98.3 % of the gross gap in amount: company 1001, with 33.1 % of the rows." in shown
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", shown)
    heads = "match,minor,major,only in b,only in a,groups,match rate"
    assert cells[:14] == [*heads.split(","), "30", "1", "4", "0", "1", "36", "83.3 %"]
    assert "<code>2024004</code>" in shown
    assert '<td style="text-align:right">192258.87</td>' in shown


def test_values_are_neither_markup_nor_mentions(hostile: Outcome) -> None:
    text = write_markdown([hostile])
    shown = html(hostile)
    assert not re.search("<script>|<img|<a href|<em>", shown)
    assert "&lt;h1&gt;hostile&lt;/h1&gt; &amp;lt; @<!-- -->all" in shown
    plain = re.sub(r"(`+) ?.*?\1", "", re.sub(r"<code>.*?</code>", "", text))
    assert not re.search(r"@\w|#\d|://|www\.|:smile:", plain)


def test_a_key_is_shown_unchanged_in_one_cell(hostile: Outcome) -> None:
    shown = html(hostile)
    rows = [row for row in shown.split("<tr>") if "<code>" in row and "<td" in row]
    assert all(row.count("<td") == 9 - 1 for row in rows)
    for key in HOSTILE[:4]:
        quoted = escape(key).replace("&#x27;", "'")
        assert f"<code>{quoted}</code>" in shown


PAGE = Path(__file__).parents[3] / "docs" / "skillian.md"


def test_the_keys_are_those_in_the_documentation(close: Outcome, failed: Outcome) -> None:
    section = PAGE.read_text(encoding="utf-8").split("### The JSON report")[1].split("\n#")[0]
    listed = set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE))
    report: dict[str, Any] = json.loads(write_json([close, failed]))
    keys = {*report, *(key for comparison in report["comparisons"] for key in comparison)}
    assert listed == keys


def suites_of(*outcomes: Outcome) -> ET.Element:
    return ET.fromstring(write_junit(outcomes))  # noqa: S314 - our own


def problems_of(suite: ET.Element, tag: str) -> dict[str, ET.Element]:
    problems = ((case.attrib["name"], case.find(tag)) for case in suite.iter("testcase"))
    return {name: problem for name, problem in problems if problem is not None}


def test_failures_list_the_largest_differences(close: Outcome) -> None:
    [suite] = suites_of(close)
    failures = problems_of(suite, "failure")
    assert set(failures) == {"amount", "no group is missing in bpc_reporting"}
    amount = failures["amount"]
    assert amount.attrib["message"].startswith("amount differs in 5 groups; net gap -140305.79")
    assert "company 1001, period 2024004: amount 192258.87 in a, 384517.74 in b" in str(amount.text)
    missing = failures["no group is missing in bpc_reporting"]
    assert missing.attrib["message"] == "1 group missing in bpc_reporting"
    assert "2024007" in str(missing.text)


def test_minor_differences_fail_only_if_they_are_findings(close: Outcome) -> None:
    assert isinstance(close, Compared)
    lenient = replace(close, comparison=close.comparison.model_copy(update={"fail_on": "major"}))
    [suite] = suites_of(lenient)
    amount = problems_of(suite, "failure")["amount"]
    assert amount.attrib["message"].startswith("amount differs in 4 groups")
    assert "2024006" not in str(amount.text)


def test_the_report_follows_the_schemas_of_jenkins_and_ant(
    close: Outcome, equal: Outcome, failed: Outcome, hostile: Outcome
) -> None:
    suites = suites_of(close, equal, failed, hostile)
    assert (suites.tag, suites.attrib) == ("testsuites", {})
    for position, suite in enumerate(suites):
        order = [child.tag for child in suite if child.tag != "testcase"]
        assert order == ["properties", "system-out", "system-err"]
        assert suite[0].tag == "properties"
        assert suite.attrib["id"] == str(position)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
        cases = list(suite.iter("testcase"))
        assert int(suite.attrib["tests"]) == len(cases)
        assert int(suite.attrib["failures"]) == len(problems_of(suite, "failure"))
        for name in ("name", "package", "hostname", "errors", "time"):
            assert suite.attrib[name]
        for case in cases:
            assert set(case.attrib) == {"name", "classname", "time"}
            assert all({"type", "message"} == set(problem.attrib) for problem in case)


AMOUNTS = st.decimals(allow_nan=False, allow_infinity=False, places=2)


def test_bars_are_proportional_to_their_counts() -> None:
    assert stacked([50, 25, 0, 25]) == [Bar(0, 500), Bar(500, 250), Bar(750, 0), Bar(750, 250)]
    assert stacked([0, 0]) == [Bar(0, 0), Bar(0, 0)]


@given(st.lists(st.integers(0, 10**12), min_size=5, max_size=5).filter(any))
def test_every_class_is_visible_and_all_fill_the_width(counts: list[int]) -> None:
    bars = stacked(counts)
    assert sum(bar.length for bar in bars) == WIDTH
    assert all((bar.length > 0) == (count > 0) for bar, count in zip(bars, counts, strict=True))


def test_negative_amounts_go_to_the_left_of_zero() -> None:
    zero, bars = from_zero([Decimal(30), Decimal(-10), Decimal(0)])
    assert zero == 250
    assert bars == [Bar(250, 750), Bar(0, 250), Bar(250, 0)]


@given(st.lists(AMOUNTS, max_size=20))
def test_every_bar_is_inside_and_visible(values: list[Decimal]) -> None:
    zero, bars = from_zero(values)
    assert 0 <= zero <= WIDTH
    for value, bar in zip(values, bars, strict=True):
        assert 0 <= bar.start <= WIDTH
        assert bar.start + bar.length <= WIDTH + 6
        assert (bar.length > 0) == bool(value)


def test_a_shade_grows_with_the_amount_and_not_with_its_sign() -> None:
    amounts = [Decimal(100), Decimal(-25), Decimal(0)]
    assert (shades(amounts), shades(amounts[2:]), shades([])) == ([WIDTH, WIDTH // 2, 0], [0], [])
