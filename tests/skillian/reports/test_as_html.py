"""The HTML report as text: its policy, its content, and no markup from the data."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

from tests.skillian.reports.comparisons import HOSTILE

from skillian.display import printable
from skillian.reports.as_html import write_html
from skillian.reports.outcome import Outcome

ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "script", "svg", "symbol", "path"),
    *("circle", "rect", "line", "use", "section", "header", "h1", "h2", "h3", "h4", "p", "span"),
    *("strong", "dl", "div", "dt", "dd", "data", "figure", "figcaption", "ul", "li", "bdi", "nav"),
    *("a", "label", "input", "fieldset", "legend", "table", "thead", "tbody", "tr", "th", "td"),
    *("button", "details", "summary", "code", "pre"),
}
VOID = {"meta", "input", "rect", "line", "use", "circle", "path"}


class Reader(HTMLParser):
    """Collects tags, attributes and text; tags must be closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
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
    for key in HOSTILE:
        assert printable(key) in shown
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
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


def test_no_attribute_fetches_anything_or_sets_a_style(close: Outcome, hostile: Outcome) -> None:
    page = Reader(write_html([close, hostile]))
    names = {name for _, name, _ in page.attributes}
    assert not names & {"src", "srcset", "style", "action", "background"}
    links = [value for _, name, value in page.attributes if name == "href"]
    assert all(str(link).startswith("#") for link in links)


def test_amounts_have_all_of_their_digits(hostile: Outcome) -> None:
    assert 'value="123456789012345678.12" title="123456789012345678.12"' in write_html([hostile])


def test_proved_rules_are_options_to_copy(explained: Outcome, unexplained: Outcome) -> None:
    page = write_html([explained])
    assert "with <code>--rule name:trim --rule net:factor=100</code>, 40 of 40 rows match." in page
    read = Reader(page)
    assert (read.open, read.tags - ALLOWED) == ([], set())
    assert "No rule that was tried explains the differences." in write_html([unexplained])
