"""Texts that nobody here wrote, as HTML in which only what is meant as markup is any."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from nicegui import ui
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]

LONGEST = 200_000
"""Longer texts are shown up to here."""

_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)


def markdown(text: str) -> ui.html:
    """A model's answer as Markdown: no HTML of its own, no images, links to http(s) only."""
    # What markdown-it gives is escaped; DOMPurify would take the links' `target` away.
    return ui.html(_render(text[:LONGEST]), sanitize=False).classes("prose")


def code(text: str, language: str) -> ui.html:
    """A text in a frame, coloured.

    Args:
        text: shown as it stands.
        language: `json`, `python`, `sql` or `text`.
    """
    coloured: str = highlight(text[:LONGEST], get_lexer_by_name(language), _FORMATTER)
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
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    shown = f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
    grid = ui.html(f"{shown}<tbody>{body}</tbody>", sanitize=False, tag="table")
    return grid.classes("plain-table")


def one_line(value: Mapping[str, Any], longest: int = 120) -> str:
    """Arguments in short."""
    told = ", ".join(f"{name}: {_short(each)}" for name, each in value.items())
    return told if len(told) <= longest else f"{told[: longest - 1]}…"


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cell(value: Any) -> str:
    if value is None:
        return '<td class="soft">-</td>'
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f'<td class="{"number" if is_number(text) else ""}">{escape(text)}</td>'


def is_number(text: str) -> bool:
    """Whether a text is a decimal number and nothing else."""
    whole, _, fraction = text.removeprefix("-").partition(".")
    return whole.isdecimal() and whole.isascii() and (not fraction or fraction.isdecimal())


def _renderer() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.disable("image")
    made.validateLink = _is_safe  # type: ignore[method-assign]
    made.add_render_rule("link_open", _open_link)
    return made


def _is_safe(url: str) -> bool:
    try:
        return urlsplit(url.strip()).scheme.lower() in {"http", "https"}
    except ValueError:
        return False


def _open_link(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    tokens[index].attrSet("target", "_blank")
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    return self.renderToken(tokens, index, options, env)


_MARKDOWN = _renderer()


def _render(text: str) -> str:
    rendered: str = _MARKDOWN.render(text)
    return rendered
