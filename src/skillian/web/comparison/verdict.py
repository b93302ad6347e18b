"""What a result begins with: both names, when and how they were compared, totals, one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from nicegui import ui

from skillian.display import printable
from skillian.reports.words import text as words
from skillian.web.comparison.change import Control
from skillian.web.shell import text
from skillian.web.shell.buttons import Button, DownloadLink
from skillian.web.shell.elements import Amount, Heading, Time

_OPERATORS: Mapping[str, str] = {
    "in": "is",
    "not_in": "is not",
    "gte": "≥",
    "gt": ">",
    "lte": "≤",
    "lt": "<",
}
FILES = (
    ("CSV", "rows.csv", "csv"),
    ("XLSX", "rows.xlsx", "xlsx"),
    ("HTML report", "report.html", "html"),
    ("JSON", "report.json", "json"),
)
"""The name, the path and the suffix of each download of a comparison."""
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Figure:
    """A large number.

    Attributes:
        name: What it counts or measures.
        value: The number.
        unit: Its unit.
        note: What it is made of, in small letters.
        is_gap: Whether it is the gap between the two numbers before it.
    """

    name: str
    value: object
    unit: str | None = None
    note: Sequence[str] = ()
    is_gap: bool = False


@dataclass(frozen=True, slots=True)
class ScopePart:
    """A part of what was asked.

    Attributes:
        words: What was asked; texts, and cells such as amounts.
        control: Where it is changed.
    """

    words: Sequence[str]
    control: Control


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The result in a word, with the class whose colour it has."""

    status: str
    symbol: str
    word: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a result begins with.

    Attributes:
        names: The names of both sides.
        snapshot: When they were compared, in ISO 8601.
        scope: What was compared, which rows took part, and within which limits.
        conclusion: The result in a word.
        sentence: The result in a sentence; its parts are texts, and cells such as amounts.
        figures: The number of each side, and the gap.
        findings: What else stands out, in sentences.
        cache_key: The key of the comparison.
    """

    names: tuple[str, str]
    snapshot: str
    scope: Sequence[ScopePart]
    conclusion: Conclusion
    sentence: Sequence[str]
    figures: Sequence[Figure]
    findings: Sequence[str]
    cache_key: str

    def show(
        self,
        level: Literal[1, 2],
        said: str = "",
        *,
        on_change: Callable[[Control], object],
        on_save: Callable[[], object] | None = None,
    ) -> None:
        """Show it.

        Args:
            level: The level of its heading.
            said: A text next to it, whose sentences are not repeated.
            on_change: Called with the control of the part that the reader wants to change.
            on_save: Called when the reader wants to save it; without it, it cannot be saved here.
        """
        findings = [each for each in self.findings if each not in said]
        with ui.element("div").classes("verdict stack"):
            with ui.element("div").classes("line"):
                a, b = map(printable, self.names)
                Heading(f"{a} and {b}", level).classes("grow")
                if on_save is not None:
                    Button("Save …", on_save, icon="bookmark_add")
                _downloads(self.cache_key)
            with ui.element("ul").classes("scope").props('aria-label="Scope"'):
                with ui.element("li"), ui.element("span").classes("soft"):
                    ui.label("Compared")
                    Time(self.snapshot)
                for part in self.scope:
                    with (
                        ui.element("li"),
                        Button(on_click=partial(on_change, part.control), kind="quiet"),
                    ):
                        text.sentence(*part.words)
            with ui.element("div").classes("figures").props("data-testid=figures"):
                for figure in self.figures:
                    _figure(figure)
            self._show_conclusion()
            if findings:
                _findings(findings)

    def _show_conclusion(self) -> None:
        with ui.element("div").classes("conclusion").props("data-testid=verdict"):
            with ui.element("span").classes(f"status status-{self.conclusion.status}"):
                ui.label(self.conclusion.symbol).classes("status-symbol").props("aria-hidden=true")
                ui.label(self.conclusion.word)
            text.sentence(*self.sentence)


def conditions(filters: Sequence[Mapping[str, Any]]) -> Iterator[ScopePart]:
    """Filters in words; `all rows` without one."""
    for each in filters:
        values = ", ".join(words(value) for value in each["values"])
        condition = f"{each['dimension']} {_OPERATORS[each['operator']]} {values}"
        yield ScopePart((condition,), "filters")
    if not filters:
        yield ScopePart(("all rows",), "filters")


def joined(parts: Sequence[Sequence[str]]) -> list[str]:
    """Parts of a sentence, with commas between them."""
    return [
        piece for index, part in enumerate(parts) for piece in ((", ",) * (index > 0) + (*part,))
    ]


def _figure(figure: Figure) -> None:
    with ui.element("div").classes("figure gap" if figure.is_gap else "figure"):
        ui.label(printable(figure.name)).classes("figure-name soft")
        with ui.element("div").classes("figure-value"):
            Amount(figure.value, figure.unit, signed=figure.is_gap)
        if figure.note:
            text.sentence(*figure.note).classes("soft small")


def _findings(sentences: Sequence[str]) -> None:
    with ui.element("ul").classes("sentences"):
        for sentence in sentences[:_NAMED]:
            _item(sentence)
    rest = sentences[_NAMED:]
    if rest:
        with (
            ui.expansion(f"{len(rest)} more").props("dense"),
            ui.element("ul").classes("sentences"),
        ):
            for sentence in rest:
                _item(sentence)


def _item(sentence: str) -> None:
    with ui.element("li"):
        ui.label(printable(sentence))


def _downloads(cache_key: str) -> None:
    """Link to the service's own routes; tables hold all that differs."""
    with ui.element("div").classes("downloads line") as group:
        group.props["role"] = "group"
        group.props["aria-label"] = "Downloads"
        for name, path, suffix in FILES:
            file = f"comparison-{cache_key[:12]}.{suffix}"
            DownloadLink(name, f"/comparisons/{cache_key}/{path}", file)
