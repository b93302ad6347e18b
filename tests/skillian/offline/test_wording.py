"""Values of the data in an answer, which is read as Markdown, format nothing."""

from __future__ import annotations

from typing import Any

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


def difference(period: str, a: str | None, b: str | None, status: str, gap: str) -> dict[str, Any]:
    key = {"company": "1001", "period": period}
    return {"measure": "amount", "key": key, "status": status, "a": a, "b": b, "gap": gap}


def comparison(*differences: dict[str, Any], **more: Any) -> dict[str, Any]:
    amount = {"unit": "EUR", "total_a": "-1200.50", "total_b": "1000.00"}
    return {
        "source_a": "fi",
        "source_b": "bpc",
        "summary": {
            "groups": 1200,
            "measures": {"amount": {**amount, "net_difference": "2200.50"}},
        },
        "top_differences": [*differences],
        "interpretation": ["1,190 of 1,200 groups match (99.1 %).", "Limits of amount: exact."],
        "findings": ["A cause.", "Another one."],
        **more,
    }


def test_a_comparison_is_its_verdict_and_at_most_five_findings() -> None:
    major = [
        difference("4", "1234567.80", "0.00", "major_diff", "-1234567.80"),
        difference("5", "500.00", None, "missing_in_b", "-500.00"),
        difference("6", None, "12.00", "major_diff", "12.00"),
        difference("7", "0.00", "5.00", "major_diff", "5.00"),
    ]
    verdict, *findings = word_result("compare_sources", comparison(*major), "").split("\n")
    assert verdict == "1,190 of 1,200 groups match (99.1 %)."
    assert findings == [
        "- amount in total: -1,200.50 EUR in fi, 1,000.00 EUR in bpc, difference +2,200.50 EUR",
        (
            "- company 1001, period 4: 1,234,567.80 EUR in fi, 0.00 EUR in bpc,"
            " difference -1,234,567.80 EUR"
        ),
        "- company 1001, period 5: 500.00 EUR, only in fi",
        "- company 1001, period 6: no value in fi, 12.00 EUR in bpc, difference +12.00 EUR",
        "- A cause.",
    ]


def test_causes_take_the_room_that_differences_leave() -> None:
    nothing_differs = comparison(schema=["column x is only in fi"])
    assert word_result("compare_sources", nothing_differs, "").split("\n")[2:] == [
        "- A cause.",
        "- Another one.",
        "- Schema: column x is only in fi.",
    ]


def test_a_single_group_has_no_total_of_its_own() -> None:
    one = comparison(
        difference("", None, "1.00", "missing_in_a", "1.00"),
        summary={"groups": 1, "measures": {"amount": {"unit": None}}},
    )
    assert "total" not in word_result("compare_sources", one, "")
    two = {"groups": 1, "measures": {"amount": {"unit": None}, "rows": {"unit": None}}}
    named = word_result("compare_sources", {**one, "summary": two}, "")
    assert "- amount, company 1001, period empty: 1.00, only in bpc" in named


def test_a_comparison_of_rows_is_its_verdict_and_at_most_five_findings() -> None:
    result = {
        "kind": "rows",
        "interpretation": ["2 rows differ; 8 rows match.", "The key is id."],
        "findings": [f"Finding {number}." for number in range(9)],
    }
    assert word_result("compare_sources", result, "").split("\n") == [
        "2 rows differ; 8 rows match.",
        *(f"- Finding {number}." for number in range(5)),
    ]


@pytest.mark.parametrize(("rows", "listed"), [(6, 6), (20, 20), (21, 20)])
def test_as_many_rows_are_listed_as_were_asked_for(rows: int, listed: int) -> None:
    result = {
        "source": "ledger",
        "columns": ["year", "amount"],
        "measures": ["amount"],
        "rows": [["2025", "1234.50"]] * rows,
        "truncated": True,  # by the number that was asked for: the result has no others
    }
    answer = word_result("query_source", result, "")
    assert answer.count("- year: 2025, amount: 1,234.50") == listed
    assert ("There are more" in answer) == (rows > listed)
    assert ("the result has only the first" in answer) == (rows > listed)
    tied = word_result("query_source", {**result, "tied": True}, "")
    assert "others with the same value" in tied.removeprefix(answer)
    groups = {
        "statuses": ["major_diff"],
        "total": rows,
        "rows": [
            {"key": {"year": 2025}, "status": "major_diff", "measures": {"m": {"a": 1234, "b": 0}}}
        ]
        * rows,
    }
    page = word_result("get_comparison_rows", groups, "")
    assert page.count("- year: 2025: major, m 1,234 and 0") == listed
    side = {"source": "s", "columns": ["id"], "rows": [[1]] * rows, "truncated": False}
    behind = {"key": {"id": 1}, "a": side, "b": {**side, "rows": []}}
    assert word_result("drill_down", behind, "", 6).count("- id") == 6
    assert word_result("drill_down", behind, "", 100).count("- id") == listed
    assert word_result("drill_down", behind, "").count("- id") == 5
