"""Small elements that several views use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeVar

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

from skillian.data.sql.values import jsonable

T = TypeVar("T")


class Heading(TextElement):
    """A heading, which screen readers list.

    Args:
        text: The text, shown without markup.
        level: 1 for the view, 2 and 3 for its parts.
    """

    def __init__(self, text: str, level: Literal[1, 2, 3] = 2) -> None:
        super().__init__(tag=f"h{level}", text=text)


def add_scripts() -> None:
    """Add the scripts of every page: icons, numbers and times in the reader's locale, and keys."""
    for name in ("numbers.js", "keys.js"):
        ui.add_head_html(f"<script>{_script(name)}</script>")
    # As a module it runs when Quasar is there, and before the page is built.
    ui.add_body_html(f'<script type="module">{_script("icons.js")}</script>')


@cache
def _script(name: str) -> str:
    return files("skillian.web.shell").joinpath(name).read_text(encoding="utf-8")


class Amount(Element):
    """A number with all of its digits, formatted for the reader's locale.

    The browser formats the number as text, so it never becomes a binary float.

    Args:
        value: An int or a `Decimal`. None is shown as a dash.
        unit: The unit, shown after the number.
        signed: Whether to show the sign of a positive number too.
    """

    def __init__(self, value: object, unit: str | None = None, *, signed: bool = False) -> None:
        super().__init__("exact-number")
        self.classes("number")
        self.props["value"] = None if value is None else str(jsonable(value))
        self.props["unit"] = unit
        self.props["signed"] = signed


class Time(Element):
    """A time in the reader's locale and time zone.

    Args:
        value: The time in ISO 8601, with its zone.
    """

    def __init__(self, value: str) -> None:
        super().__init__("local-time")
        self.props["value"] = value


def scroll_region(name: str) -> ui.element:
    """A region that scrolls sideways, also by keyboard, when its content is too wide.

    Args:
        name: What the region holds, for screen readers.
    """
    region = ui.element("div").classes("scroll-x")
    for key, value in {"tabindex": "0", "role": "region", "aria-label": name}.items():
        region.props[key] = value
    return region


def set_options(field: Any, options: Sequence[str], value: object) -> None:
    """Set the options and the value of a `ui.select`, whose own types are incomplete."""
    field.set_options(list(options), value=value)


def scroll_to(element: ui.element) -> None:
    """Scroll until an element is visible, at once for readers who prefer reduced motion."""
    reduced = "matchMedia('(prefers-reduced-motion: reduce)').matches"
    options = f"{{block: 'nearest', behavior: {reduced} ? 'instant' : 'smooth'}}"
    script = f"getHtmlElement({element.id}).scrollIntoView({options})"
    _ = element.client.run_javascript(script)


def item_at(index: object, items: Sequence[T]) -> T | None:
    """The item that was clicked, or None if the browser sent an index that does not exist."""
    if not isinstance(index, int) or not 0 <= index < len(items):
        return None
    return items[index]
