"""Text from models and data as safe HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from nicegui import ui
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]

from skillian.display import printable

LONGEST = 200_000
"""The number of characters after which a text is cut."""
LONGEST_LINE = 120

_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)
# No images, links or HTML: the data may have written them.
_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False})
    .enable(["table", "strikethrough"])
    .disable(["image", "link", "autolink", "reference"])
)


def markdown(text: str) -> ui.html:
    """Show a model's answer, which is Markdown without HTML, images or links."""
    rendered: str = _MARKDOWN.render(printable(text[:LONGEST]))
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
        rows: The values, one for each column.
        caption: What the table holds, also for screen readers.
    """
    head = "".join(f'<th scope="col">{escape(printable(name))}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    top = f"<caption>{escape(printable(caption))}</caption><thead><tr>{head}</tr></thead>"
    grid = ui.html(f"{top}<tbody>{body}</tbody>", sanitize=False, tag="table")
    return grid.classes("plain-table")


def one_line(value: Mapping[str, Any]) -> str:
    """The arguments of a call on one line, cut after `LONGEST_LINE` characters."""
    line = ", ".join(f"{name}: {_plain(each)}" for name, each in value.items())
    return printable(line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…")


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cell(value: Any) -> str:
    if value is None:
        return '<td class="soft">-</td>'
    text = _plain(value)
    return f'<td class="{"number" if is_number(text) else ""}">{escape(printable(text))}</td>'


def is_number(text: str) -> bool:
    """Whether a text is a decimal number and nothing else."""
    whole, _, fraction = text.removeprefix("-").partition(".")
    return whole.isdecimal() and whole.isascii() and (not fraction or fraction.isdecimal())
