"""Why two sources differ: measure, dimension, member; the smallest explanation first."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from skillian.api.service import Service
from skillian.data.comparison.explain.explanation import (
    Breakdown,
    Contribution,
    Explanation,
    MeasureExplanation,
    share,
)
from skillian.data.comparison.results import ComparisonResult
from skillian.display import printable
from skillian.reports.charts import WIDTH, from_zero
from skillian.reports.words import key_words
from skillian.web.amount import Amount
from skillian.web.choices import OnMember, show_element, waiting
from skillian.web.faults import telling
from skillian.web.heading import Heading


class ExplanationPanel:
    """Empty until it is asked why.

    Args:
        service: Answers.
        result: The comparison.
        on_member: Told the members whose groups are wanted.
    """

    def __init__(self, service: Service, result: ComparisonResult, on_member: OnMember) -> None:
        self._service = service
        self._result = result
        self._on_member = on_member
        self._room = ui.element("section").classes("explanation stack")
        self._room.props["data-testid"] = "explanation"
        self._room.props["aria-label"] = "Why they differ"
        self._room.set_visibility(False)

    async def explain(self, *more: str) -> None:
        """Show which members carry the gap, broken down by other dimensions too."""
        self._room.clear()
        self._room.set_visibility(True)
        with self._room:
            waiting("The members that carry the gap are looked for …")
        show_element(self._room)
        with telling(), self._service.slots.taken():
            key = self._result.cache_key
            await self._service.comparisons.recall(key)
            found = await self._service.data.comparison.explain(key, more)
            self._room.clear()
            with self._room:
                self._show(found, more)
            show_element(self._room)
            return
        self._room.set_visibility(False)

    def _show(self, found: Explanation, more: tuple[str, ...]) -> None:
        Heading("Why they differ")
        for measure in found.measures:
            self._measure(measure)
        for note in found.notes:
            ui.label(note).classes("soft")
        others = [name for name in found.unused if name not in more]
        if others:
            with ui.element("div").classes("line"):
                ui.label("Break the gap down by:").classes("soft")
                for name in others:
                    button = ui.button(on_click=partial(self.explain, *more, name), color=None)
                    button.props("outline dense no-caps").set_text(name)

    def _measure(self, measure: MeasureExplanation) -> None:
        ui.label(printable(measure.sentence())).classes("why-sentence")
        with ui.element("ul").classes("tree"):
            for place, breakdown in enumerate(measure.breakdowns):
                with ui.element("li"):
                    self._breakdown(breakdown, measure, is_open=place == 0)

    def _breakdown(self, found: Breakdown, measure: MeasureExplanation, *, is_open: bool) -> None:
        title = f"{measure.measure} by {' and '.join(found.dimensions)}"
        with ui.expansion(title, caption=_needed(found), value=is_open).props("dense"):
            with ui.element("ul").classes("tree"):
                *bars, _ = from_zero(
                    [*(each.gross for each in found.contributions), measure.gross]
                )[1]
                for each, bar in zip(found.contributions, bars, strict=True):
                    with ui.element("li").classes("member"):
                        self._member(each, measure, bar.length)
            left = found.members - len(found.contributions)
            if left:
                ui.label(f"and {left} more with smaller gaps").classes("small soft")

    def _member(self, each: Contribution, measure: MeasureExplanation, length: int) -> None:
        name = key_words(each.member)
        with ui.element("div").classes("member-name"):
            if set(each.member) <= set(self._result.proof.align_on):
                button = ui.button(on_click=partial(self._on_member, each.member), color=None)
                button.props("flat dense no-caps align=left").set_text(name)
                button.props["aria-label"] = f"Show the groups of {name}"
            else:
                ui.label(name)
        with ui.element("div").classes("share").props("aria-hidden=true"):
            ui.element("div").style(f"width: {length * 100 / WIDTH}%")
        ui.label(share(each.gross, measure.gross) or "-").classes("number")
        Amount(each.net, measure.unit, signed=True)


def _needed(found: Breakdown) -> str:
    if found.is_trivial or found.needed is None:
        return f"spread over {found.members}"
    verb = "carries" if found.needed == 1 else "carry"
    return f"{found.needed} of {found.members} {verb} 80 % of the gap"
