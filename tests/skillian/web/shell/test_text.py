from __future__ import annotations

import re
from collections.abc import Collection

import pytest
from nicegui import ui
from tests.skillian.web.views import only, viewed

from skillian.web.shell import text


async def html_of(build: object) -> str:
    async def view() -> None:
        assert callable(build)
        build()

    async with viewed(view) as user:
        return str(only(user, ui.html).content)


@pytest.mark.parametrize(
    "written",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "![picture](https://example.com/a.png)",
        "[link](javascript:alert(1))",
        "[link](data:text/html,x)",
        "[link](//example.com)",
        "[link](/ui/login)",
        '<a href="https://example.com">x</a>',
        '<https://example.com/"onclick=alert(1)//>',
        "```html\n<b onclick=alert(1)>\n```",
        '| <i> | "b" |\n|---|---|\n| <u> | {{ 1 }} |',
    ],
)
async def test_markup_in_an_answer_is_escaped(written: str) -> None:
    html = await html_of(lambda: text.markdown(written))
    for tag in (
        "<script",
        "<img",
        "<i>",
        "<u>",
        "<b ",
        'href="/',
        'href="javascript',
        'href="data',
    ):
        assert tag not in html
    assert ' onclick="' not in html


async def test_amounts_in_an_answer_are_in_the_readers_locale() -> None:
    written = "2172539.90 EUR, -131674.49 net, 58.3 % & period 2024.04, Python 3.11, `0.25 EUR`"
    html = await html_of(lambda: text.markdown(written))
    assert re.findall("<exact-number[^>]*>([^<]*)<", html) == ["2172539.90", "-131674.49", "58.3"]
    assert "<code>0.25 EUR</code>" in html
    assert "% &amp; period 2024.04, Python 3.11" in html


@pytest.mark.parametrize(
    ("written", "amounts", "shown"),
    [
        ("1,234.50 and -0.50", {"1,234.50", "0.50"}, ["1234.50", "-0.50"]),
        ("+1,234 and (5,000).", {"1,234", "5,000"}, ["1234", "5000"]),
        ("1,234.50 and 2.50", (), []),
        ("1,234 EUR, 2,500 %, 12 EUR", (), ["1234", "2500"]),
        ("1,234 of 0.50, accounts 4711,4712, 100,20", None, ["1234"]),
        ("1,234,5 and 1,2345 and 2024.04.01 and v1,234 and 1,234th", None, []),
    ],
)
def test_only_amounts_are_in_the_readers_locale(
    written: str, amounts: Collection[str] | None, shown: list[str]
) -> None:
    html = text.localised(written, amounts)
    assert re.findall('<exact-number value="([^"]*)"', html) == shown
    assert re.sub("<[^>]*>", "", html) == written  # until the page formats them


async def test_markdown_is_shown() -> None:
    html = await html_of(lambda: text.markdown("**b**\n\n|a|\n|-|\n|1|"))
    assert "<strong>b</strong>" in html
    assert "<td>1</td>" in html


@pytest.mark.parametrize(
    "written",
    [
        "[x](https://example.com)",
        "![x](http://127.0.0.1:9/x.png)",
        "<https://example.com>",
        "[x][r]\n\n[r]: https://example.com",
        "[x]\n\n[x]: https://example.com 'title'",
    ],
)
async def test_links_in_an_answer_are_shown_as_text(written: str) -> None:
    html = await html_of(lambda: text.markdown(written))
    assert "<a" not in html
    assert "<img" not in html
    assert "://" in html  # shown as text


async def test_bidirectional_control_characters_are_escaped() -> None:
    turned = "\u202egnp.exe\u2069"
    for build in (
        lambda: text.markdown(turned),
        lambda: text.code(turned, "text"),
        lambda: text.table([turned], [[turned]], turned),
    ):
        html = await html_of(build)
        assert "\\u202egnp.exe\\u2069" in html
        assert "\u202e" not in html
        assert "\u2069" not in html


async def test_code_is_coloured_and_escaped() -> None:
    html = await html_of(lambda: text.code("SELECT '<b>' -- ```", "sql"))
    assert '<span class="k">SELECT</span>' in html
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


async def test_a_table_escapes_values_and_marks_numbers() -> None:
    rows: list[list[object]] = [["<b>", "-12.50", None, 3], ["", "1.2.3", "٣", True]]
    html = await html_of(lambda: text.table(["<a>", "b", "c", "d"], rows, "Rows of <x>"))
    assert "<b>" not in html
    assert "<caption>Rows of &lt;x&gt;</caption>" in html
    assert '<td class="number"><exact-number value="-12.50">-12.50</exact-number></td>' in html
    assert "<td>1.2.3</td>" in html
    assert '<td class="number">3</td>' in html
    assert '<td class="soft">–</td>' in html  # noqa: RUF001 - a dash


async def test_amounts_are_elements_that_the_browser_writes_in_its_locale() -> None:
    cell = text.amount("-1.50", '"EUR"<', signed=True)
    assert cell == (
        '<exact-number value="-1.50" unit="&quot;EUR&quot;&lt;" signed>-1.50</exact-number>'
    )
    assert text.percentage("< 0.01 %") == "&lt; 0.01 %"
    assert text.percentage("12.5 %") == text.amount("12.5", "%")
    assert "–" in text.amount(None)  # noqa: RUF001 - a dash
    html = await html_of(lambda: text.sentence("<b>", text.amount(3), " rows"))
    assert html.startswith('&lt;b&gt;<exact-number value="3">3</exact-number> rows')


def values(cell: text.Cell) -> list[str]:
    """The values in a cell."""
    return re.findall('<span class="(?:no-)?value">(.*?)</span>', cell, re.DOTALL)


@pytest.mark.parametrize(
    ("a", "b", "shown"),
    [
        ("<b>", "</td>", ["&lt;b&gt;", "&lt;/td&gt;"]),
        (None, "NULL", ["NULL", "NULL"]),
        ("", " ", ["empty", " "]),
        ("x", "x ", ["x", "x "]),
        ("é", "e\u0301", ["\\xe9", "e\\u0301"]),
        ("a\tb", "a b", ["a\\tb", "a b"]),
        ("a\u200bb", "ab", ["a\\u200bb", "ab"]),
        ("a\x00", "a\x01", ["a\\x00", "a\\x01"]),
        ("y" * 300 + "1", "y" * 300 + "2", [f"…{'y' * 40}1", f"…{'y' * 40}2"]),
        ("1" + "y" * 300, "2", [f"1{'y' * 159}…", "2"]),
    ],
)
def test_two_values_that_differ_never_look_the_same(
    a: str | None, b: str | None, shown: list[str]
) -> None:
    assert values(text.change(a, b)) == shown
    assert values(text.marked(a, b)) == shown
    assert text.stored(None) != text.stored("NULL")


def test_a_list_shows_the_rest_after_a_click() -> None:
    cells = [text.counted(text.stored(str(number)), number) for number in range(5)]
    assert text.unfolding(cells[:3], 3).count("<li>") == 3
    assert "<summary>2 more</summary>" in text.unfolding(cells, 3)
    assert "details" not in text.unfolding(cells[:3], 3)


@pytest.mark.parametrize(
    ("written", "is_number"),
    [("1", True), ("-1.50", True), ("1e5", False), ("", False), ("-", False), ("1.", True)],
)
def test_is_number(written: str, is_number: bool) -> None:  # noqa: FBT001 - a table
    assert text.is_number(written) is is_number


def test_arguments_on_one_line() -> None:
    assert text.one_line({"a": "x", "b": ["y"], "c": None}) == 'a: x, b: ["y"], c: null'
    assert text.one_line({"a": "x" * 500}) == f"a: {'x' * 116}…"
