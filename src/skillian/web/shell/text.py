"""Text from models and data as safe HTML."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from html import escape
from itertools import takewhile
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from nicegui import ui
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]

from skillian.data.sql.values import jsonable
from skillian.display import printable

LONGEST = 200_000
"""The number of characters after which a text is cut."""
LONGEST_LINE = 120
LONGEST_CELL = 160
"""The number of characters after which a value in a cell is cut."""

_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)
# No images, links or HTML: the data may have written them.
_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False})
    .enable(["table", "strikethrough"])
    .disable(["image", "link", "autolink", "reference"])
)


# A number with a comma between thousands, or with a decimal point, and of the latter those that are
# amounts for certain: with a unit or as a share, or too long for a date or a version.
_NUMBER = re.compile(r"(?<![\w.,])-?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)(?![\w]|[.,]\d)")
_MEASURED = re.compile(r"-?(?:[\d,]+(?:\.\d+)?(?= (?:[A-Z]{3}\b|%))|\d{5,}\.\d+)")


def localised(text: str, amounts: Collection[str] | None = None) -> Cell:
    """A text, with the amounts in it in the reader's locale; all other numbers stay as they are.

    Args:
        text: The text.
        amounts: The numbers that are amounts, as the text writes them; None if all are that have
            a comma between thousands.
    """

    def shown(found: re.Match[str]) -> str:
        number = found[0]
        is_listed = "," in number if amounts is None else number.lstrip("-") in amounts
        is_amount = is_listed or _MEASURED.match(text, found.start(), found.end() + 5)
        return amount(number.replace(",", ""), shown=number) if is_amount else number

    parts: list[str] = []
    end = 0
    for found in _NUMBER.finditer(text):
        parts += escape(printable(text[end : found.start()])), shown(found)
        end = found.end()
    return Cell("".join((*parts, escape(printable(text[end:])))))


def _with_amounts(
    _renderer: object,
    tokens: Sequence[Token],
    index: int,
    _options: object,
    env: Mapping[str, Collection[str]],
) -> str:
    return localised(tokens[index].content, env["amounts"])


_MARKDOWN.add_render_rule("text", _with_amounts)


def markdown(text: str, amounts: Collection[str] = ()) -> ui.html:
    """Show a model's answer, which is Markdown without HTML, images or links.

    Args:
        text: The answer.
        amounts: The numbers in it that are amounts: those are shown in the reader's locale, and
            those with a unit.
    """
    rendered: str = _MARKDOWN.render(printable(text[:LONGEST]), {"amounts": amounts})
    return ui.html(rendered, sanitize=False).classes("prose")


def code(text: str, language: str) -> ui.html:
    """Show a text in a frame, with syntax colours.

    Args:
        text: The text.
        language: `json`, `python`, `sql` or `text`.
    """
    coloured: str = highlight(printable(text[:LONGEST]), get_lexer_by_name(language), _FORMATTER)
    block = ui.html(f"<code>{coloured}</code>", sanitize=False, tag="pre")
    return block.classes("code scroll-x").props("tabindex=0")


def as_json(value: Any) -> ui.html:
    """Show a JSON value in a frame, with syntax colours."""
    return code(json.dumps(value, indent=2, ensure_ascii=False), "json")


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str) -> ui.html:
    """Show rows as a table: numbers right-aligned, NULL as a dash.

    Args:
        columns: The headings.
        rows: The values, one for each column; a `Cell` is shown as it is.
        caption: What the table holds, also for screen readers.
    """
    head = "".join(f'<th scope="col">{escape(printable(name))}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    top = f"<caption>{escape(printable(caption))}</caption><thead><tr>{head}</tr></thead>"
    grid = ui.html(f"{top}<tbody>{body}</tbody>", sanitize=False, tag="table")
    return grid.classes("plain-table")


class Cell(str):
    """The content of a cell as HTML; only the functions below make it."""

    __slots__ = ()


class NumberCell(Cell):
    """A cell of a column of numbers."""

    __slots__ = ()


def amount(
    value: object, unit: str = "", *, signed: bool = False, shown: str | None = None
) -> NumberCell:
    """A number in the reader's locale, with all of its digits.

    Args:
        value: The number; None is a dash.
        unit: The unit, after the number.
        signed: Whether to show the sign of a positive number too.
        shown: What stands there until the page formats it; the number itself if None.
    """
    if value is None:
        return NumberCell('<span class="soft">–</span>')  # noqa: RUF001 - a dash
    text = escape(str(jsonable(value)))
    options = f' unit="{escape(unit)}"' if unit else ""
    options += " signed" if signed else ""
    fallback = text if shown is None else escape(shown)
    return NumberCell(f'<exact-number value="{text}"{options}>{fallback}</exact-number>')


def hinted(value: str, hint: str) -> Cell:
    """A text with another one that is shown when the reader points at it."""
    return Cell(f'<span title="{escape(printable(hint))}">{escape(printable(value))}</span>')


def percentage(value: str) -> NumberCell:
    """A share such as `12.5 %` in the reader's locale."""
    number = value.removesuffix(" %")
    return amount(number, "%") if is_number(number) else NumberCell(escape(value))


def sentence(*parts: str) -> ui.html:
    """Show texts, and cells such as amounts, one after the other."""
    shown = (part if isinstance(part, Cell) else escape(printable(part)) for part in parts)
    return ui.html("".join(shown), sanitize=False, tag="span")


def stored(value: str | None, *, is_amount: bool = False) -> Cell:
    """A value with all of its white space; NULL and an empty text differ from any other."""
    if value is None:
        return Cell('<span class="no-value">NULL</span>')
    if not value:
        return Cell('<span class="no-value">empty</span>')
    if is_amount and is_number(value):
        return Cell(f'<span class="value">{amount(value)}</span>')
    cut = value if len(value) <= LONGEST_CELL else f"{value[:LONGEST_CELL]}…"
    return Cell(f'<span class="value">{escape(printable(cut))}</span>')


def change(a: str | None, b: str | None, *, is_amount: bool = False) -> Cell:
    """A value in A and the other one in B: of long ones the part where they begin to differ.

    Values that look alike, such as letters with and without combining accents, are spelled out.
    """
    if a is not None and b is not None:
        if _looks(a) == _looks(b):
            a, b = (each.encode("unicode_escape").decode() for each in (a, b))
        if max(len(a), len(b)) > LONGEST_CELL:
            a, b = _from_difference(a, b)
    both = stored(a, is_amount=is_amount), stored(b, is_amount=is_amount)
    return Cell(f'{both[0]} <span class="soft">→</span> {both[1]}')


def marked(a: str | None, b: str | None, *, is_amount: bool = False) -> Cell:
    """A cell that differs, marked by a sign as well as by its colour."""
    both = change(a, b, is_amount=is_amount)
    return Cell(f'<span class="differs"><span class="sign">≠</span> {both}</span>')


def status(name: str, symbol: str, label: str) -> Cell:
    """A class of groups or rows: its symbol and label, in its colour."""
    sign = f'<span class="status-symbol" aria-hidden="true">{escape(symbol)}</span>'
    return Cell(f'<span class="status status-{name}">{sign} {escape(printable(label))}</span>')


def same() -> Cell:
    """A cell that does not differ."""
    return Cell('<span class="soft">=</span>')


def unfolding(items: Sequence[Cell], most: int) -> Cell:
    """A list, of which a click shows the rest after the first `most`."""
    listed = [f"<li>{item}</li>" for item in items]
    first = f'<ul class="cell-list">{"".join(listed[:most])}</ul>'
    rest = listed[most:]
    if not rest:
        return Cell(first)
    more = f'<summary>{len(rest)} more</summary><ul class="cell-list">{"".join(rest)}</ul>'
    return Cell(f"{first}<details>{more}</details>")


def counted(item: Cell, count: int) -> Cell:
    """A cell, and in how many rows it occurs."""
    return Cell(f'{item} <span class="soft">× {amount(count)}</span>')  # noqa: RUF001 - a multiplication


def _looks(value: str) -> str:
    """What a reader can tell apart: white space, invisible characters and forms are alike."""
    plain = unicodedata.normalize("NFKC", printable(value))
    seen = (char for char in plain if unicodedata.category(char) != "Cf")
    return "".join(" " if char.isspace() else char for char in seen)


def _from_difference(a: str, b: str) -> tuple[str, str]:
    """Cut what two texts have in common at their beginnings, except for a few words."""
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
    start = max(common - LONGEST_CELL // 4, 0)
    if not start:
        return a, b
    return f"…{a[start:]}", f"…{b[start:]}"


def one_line(value: Mapping[str, Any]) -> str:
    """The arguments of a call on one line, cut after `LONGEST_LINE` characters."""
    line = ", ".join(f"{name}: {_plain(each)}" for name, each in value.items())
    return printable(line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…")


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cell(value: Any) -> str:
    if isinstance(value, Cell):
        kind = ' class="number"' if isinstance(value, NumberCell) else ""
        return f"<td{kind}>{value}</td>"
    if value is None:
        return '<td class="soft">–</td>'  # noqa: RUF001 - a dash
    text = _plain(value)
    if not is_number(text.removesuffix(" %")):
        return f"<td>{escape(printable(text))}</td>"
    # A whole number may be a year or an account, which has no separators.
    shown = escape(text)
    if "." in text:
        shown = percentage(text) if text.endswith("%") else amount(text)
    return f'<td class="number">{shown}</td>'


def is_number(text: str) -> bool:
    """Whether a text is a decimal number and nothing else."""
    whole, _, fraction = text.removeprefix("-").partition(".")
    return whole.isdecimal() and whole.isascii() and (not fraction or fraction.isdecimal())
