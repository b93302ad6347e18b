"""The Markdown report, read by a Markdown parser."""

from __future__ import annotations

import re
from html import escape

from markdown_it import MarkdownIt
from tests.skillian.reports.comparisons import HOSTILE

from skillian.reports.as_markdown import write_markdown
from skillian.reports.outcome import Outcome


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
    plain = re.sub(r"(`+) ?.*?\1", "", re.sub(r"<code>.*?</code>", "", text))
    assert not re.search(r"@\w|#\d|://|www\.|:smile:", plain)


def test_a_key_is_shown_unchanged_in_one_cell(hostile: Outcome) -> None:
    shown = html(hostile)
    rows = [row for row in shown.split("<tr>") if "<code>" in row and "<td" in row]
    assert all(row.count("<td") == 9 - 1 for row in rows)
    for key in HOSTILE[:4]:
        quoted = escape(key).replace("&#x27;", "'")
        assert f"<code>{quoted}</code>" in shown


def test_proved_rules_are_options_to_copy(explained: Outcome, unexplained: Outcome) -> None:
    shown = html(explained)
    assert "<h3>Why</h3>" in shown
    assert "with <code>--rule name:trim --rule net:factor=100</code>, 40 of 40 rows match." in shown
    assert "No rule that was tried explains the differences." in html(unexplained)
