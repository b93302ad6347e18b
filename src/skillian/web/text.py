"""Texts that nobody here wrote, as HTML in which only what is meant as markup is any."""

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
"""Longer texts are shown up to here."""

_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)


def markdown(text: str) -> ui.html:
    """A model's answer as Markdown: no HTML, images or links, since data may have written them."""
    return ui.html(_render(text[:LONGEST]), sanitize=False).classes("prose")


def code(text: str, language: str) -> ui.html:
    """A text in a frame, coloured.

    Args:
        text: shown as it stands.
        language: `json`, `python`, `sql` or `text`.
    """
    coloured: str = highlight(printable(text[:LONGEST]), get_lexer_by_name(language), _FORMATTER)
    block = ui.html(f"<code>{coloured}</code>", sanitize=False, tag="pre")
    return block.classes("code scroll-x").props("tabindex=0")


def as_json(value: Any) -> ui.html:
    """A JSON value in a frame, coloured."""
    return code(json.dumps(value, indent=2, ensure_ascii=False), "json")


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str) -> ui.html:
    """Rows as they are: numbers to the right, nothing for NULL but a dash.

    Args:
        columns: the headings.
        rows: the values, as many as columns each.
        caption: what the table is, for screen readers too.
    """
    head = "".join(f'<th scope="col">{escape(printable(name))}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    shown = f"<caption>{escape(printable(caption))}</caption><thead><tr>{head}</tr></thead>"
    grid = ui.html(f"{shown}<tbody>{body}</tbody>", sanitize=False, tag="table")
    return grid.classes("plain-table")


def one_line(value: Mapping[str, Any], longest: int = 120) -> str:
    """Arguments in short."""
    told = ", ".join(f"{name}: {_short(each)}" for name, each in value.items())
    return printable(told if len(told) <= longest else f"{told[: longest - 1]}…")


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cell(value: Any) -> str:
    if value is None:
        return '<td class="soft">-</td>'
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f'<td class="{"number" if is_number(text) else ""}">{escape(printable(text))}</td>'


def is_number(text: str) -> bool:
    """Whether a text is a decimal number and nothing else."""
    whole, _, fraction = text.removeprefix("-").partition(".")
    return whole.isdecimal() and whole.isascii() and (not fraction or fraction.isdecimal())


def _renderer() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return made.disable(["image", "link", "autolink", "reference"])


_MARKDOWN = _renderer()


def _render(text: str) -> str:
    rendered: str = _MARKDOWN.render(printable(text))
    return rendered
