"""The five classes of a comparison: how each is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from nicegui import ui

from skillian.data.subjects import Status
from skillian.display import printable
from skillian.reports.charts import WIDTH, stacked


@dataclass(frozen=True, slots=True)
class StatusStyle:
    """How a class is shown; the symbol and the label mean the same as the colour.

    Attributes:
        label: The name for people.
        symbol: The shape.
        colour: Fills areas. Its contrast is too low for text, for which the CSS class
            `status-<name>` has a darker or lighter colour.
    """

    label: str
    symbol: str
    colour: str


STATUS_STYLES: Mapping[Status, StatusStyle] = MappingProxyType(
    {
        "match": StatusStyle("match", "=", "var(--fill-match)"),
        "minor_diff": StatusStyle("minor", "△", "var(--fill-minor)"),
        "major_diff": StatusStyle("major", "▲", "var(--fill-major)"),
        "missing_in_b": StatusStyle("only in A", "◧", "var(--fill-only-a)"),
        "missing_in_a": StatusStyle("only in B", "◨", "var(--fill-only-b)"),
    }
)
"""The style of each class, in the order in which they are shown."""


def styles_of(names: tuple[str, str], word: str = "only") -> Mapping[Status, StatusStyle]:
    """The styles, labelled with the names of both sides: what is `word` (only, more) in one."""
    only = {"missing_in_b": names[0], "missing_in_a": names[1]}
    return {
        status: replace(style, label=printable(f"{word} in {only[status]}"))
        if status in only
        else style
        for status, style in STATUS_STYLES.items()
    }


def status_mark(status: str, style: StatusStyle) -> ui.element:
    """Show a class as its symbol and its label."""
    with ui.element("span").classes(f"status status-{status}") as mark:
        ui.label(style.symbol).classes("status-symbol").props("aria-hidden=true")
        ui.label(style.label)
    return mark


def share_bar(name: str, parts: Sequence[tuple[str, StatusStyle, int]]) -> None:
    """Show the share of each class as a part of a bar.

    Args:
        name: What is counted, for screen readers.
        parts: The CSS class of each part after `fill-`, its style, and its count.
    """
    description = ", ".join(f"{style.label} {count}" for _, style, count in parts)
    with ui.element("div").classes("status-bar") as whole:
        whole.props["role"] = "img"
        whole.props["aria-label"] = f"{name}: {description}"
        whole.props["data-testid"] = "status-bar"
        bars = stacked([count for _, _, count in parts])
        for (fill, style, _), bar in zip(parts, bars, strict=True):
            if bar.length:
                part = ui.element("div").classes(f"fill-{fill}")
                part.style["width"] = f"{bar.length * 100 / WIDTH}%"
                with part:
                    ui.label(style.symbol)
