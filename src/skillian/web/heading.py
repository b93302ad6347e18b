"""Headings, as screen readers list them."""

from __future__ import annotations

from typing import Literal

from nicegui.elements.mixins.text_element import TextElement


class Heading(TextElement):
    """A heading.

    Args:
        text: Shown as it is.
        level: 1 is the view's own; 2 and 3 are those of its parts.
    """

    def __init__(self, text: str, level: Literal[1, 2, 3] = 2) -> None:
        super().__init__(tag=f"h{level}", text=text)
