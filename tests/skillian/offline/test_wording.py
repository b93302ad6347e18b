"""Values of the data in an answer, which is read as Markdown, format nothing."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from skillian.offline.wording import word_result


def answer(value: str) -> str:
    result = {
        "source": "ledger",
        "columns": ["name"],
        "rows": [[value]],
        "truncated": False,
    }
    return word_result("query_source", result, "")


@pytest.mark.parametrize(
    "value",
    [
        "![x](http://127.0.0.1:9/x.png)",
        "[sign in](https://example.com)",
        "<https://example.com>",
        "https://example.com",
        "**bold**",
        "_slanted_",
        "`code` and ``more``",
        "<b onclick=alert(1)>",
        "a\n\n# A heading\n\n- and a list",
        "| a |\n|---|\n| b |",
        "&#106;",
        "\\*",
    ],
)
def test_a_value_is_shown_literally(value: str) -> None:
    html = MarkdownIt("commonmark").enable("table").render(answer(value))
    shown = " ".join(value.split("\n"))
    [code] = [each.partition("</code>")[0] for each in html.split("<code>")[1:]]
    for entity, letter in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        code = code.replace(entity, letter)
    assert code == shown
    for tag in ("<a", "<img", "<strong", "<em", "<h1", "<table"):
        assert tag not in html


@pytest.mark.parametrize("value", ["1001", "fi_reporting", "2024-01-31", "A & B GmbH", "-5.00"])
def test_an_ordinary_value_is_not_quoted(value: str) -> None:
    assert answer(value) == f"ledger:\n- name: {value}"
