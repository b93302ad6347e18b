"""What a reader chose on the page, as its parts tell each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from nicegui import ui

T = TypeVar("T")

OnGroup = Callable[[Mapping[str, object]], Awaitable[None]]
"""Told the key of a group that was chosen, by dimension."""

OnMember = Callable[[Mapping[str, object]], None]
"""Told the members that were chosen, by dimension."""


def picked(index: object, among: Sequence[T]) -> T | None:
    """What was clicked; None where a browser tells what cannot be."""
    if not isinstance(index, int) or not 0 <= index < len(among):
        return None
    return among[index]


def scrolling(name: str) -> ui.element:
    """What is wider than the page scrolls in here, by keyboard too.

    Args:
        name: What it holds, for screen readers.
    """
    region = ui.element("div").classes("scroll-x")
    for key, value in {"tabindex": "0", "role": "region", "aria-label": name}.items():
        region.props[key] = value
    return region


def waiting(words: str) -> ui.element:
    """Say that something is under way, until it is deleted."""
    with ui.element("div").classes("line").props("role=status") as row:
        ui.spinner()
        ui.label(words)
    return row


def offer(field: Any, options: Sequence[str], value: object) -> None:
    """Offer these in a `ui.select`, whose own types say nothing."""
    field.set_options(list(options), value=value)


def show_element(element: ui.element) -> None:
    """Scroll to an element, if it is out of sight."""
    script = (
        f"getHtmlElement({element.id}).scrollIntoView({{block: 'nearest', behavior: 'smooth'}})"
    )
    _ = element.client.run_javascript(script)
